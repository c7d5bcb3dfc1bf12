package ferrymq.jms;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import javax.jms.BytesMessage;
import javax.jms.DeliveryMode;
import javax.jms.JMSException;
import javax.jms.MapMessage;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageEOFException;
import javax.jms.MessageProducer;
import javax.jms.ObjectMessage;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.StreamMessage;

/** What is put into a message comes out of it. */
final class Messages extends Cases {
    /** Sizes about those of a frame, and large ones. */
    private static final int[] SIZES = {0, 1, 65_534, 65_535, 65_536, 300_000, 1 << 20};

    private Message sendAndReceive(Session session, Message message) throws JMSException {
        Queue queue = queue(session);
        send(session, queue, message);
        MessageConsumer consumer = session.createConsumer(queue);
        Message received = receive(consumer);
        consumer.close();
        return received;
    }

    public void aTextMayHaveAnyCharacter() throws JMSException {
        Session session = session();
        String text = "ä€\uD83D\uDE00\u0000\n" + "x".repeat(300_000) + "Ω";
        same(text, textOf(sendAndReceive(session, session.createTextMessage(text))));
    }

    public void aTextMessageWithoutATextArrivesWithoutOne() throws JMSException {
        Session session = session();
        same(null, textOf(sendAndReceive(session, session.createTextMessage())));
    }

    public void aMessageWithoutABodyArrivesWithItsProperties() throws JMSException {
        Session session = session();
        Message message = session.createMessage();
        message.setStringProperty("word", "value");
        same("value", sendAndReceive(session, message).getStringProperty("word"));
    }

    public void bytesOfAnySizeArriveUnchanged() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        MessageConsumer consumer = session.createConsumer(queue);
        Random random = new Random(1);
        for (int size : SIZES) {
            byte[] sent = new byte[size];
            random.nextBytes(sent);
            BytesMessage message = session.createBytesMessage();
            message.writeBytes(sent);
            send(session, queue, message);
            BytesMessage received = (BytesMessage) receive(consumer);
            same((long) size, received.getBodyLength());
            byte[] found = new byte[size];
            check(size == 0 || received.readBytes(found) == size, "all bytes are read at once");
            same(sent, found);
        }
    }

    public void aBytesMessageKeepsItsNumbersAndTexts() throws JMSException {
        Session session = session();
        BytesMessage message = session.createBytesMessage();
        message.writeBoolean(true);
        message.writeByte((byte) -7);
        message.writeChar('Ω');
        message.writeDouble(Math.PI);
        message.writeInt(Integer.MIN_VALUE);
        message.writeLong(Long.MAX_VALUE);
        message.writeUTF("ä€");
        BytesMessage received = (BytesMessage) sendAndReceive(session, message);
        same(true, received.readBoolean());
        same((byte) -7, received.readByte());
        same('Ω', received.readChar());
        same(Math.PI, received.readDouble());
        same(Integer.MIN_VALUE, received.readInt());
        same(Long.MAX_VALUE, received.readLong());
        same("ä€", received.readUTF());
        fails(MessageEOFException.class, received::readByte);
    }

    public void aMapKeepsEveryKindOfValue() throws JMSException {
        Session session = session();
        MapMessage message = session.createMapMessage();
        message.setBoolean("boolean", true);
        message.setByte("byte", Byte.MIN_VALUE);
        message.setShort("short", Short.MAX_VALUE);
        message.setChar("char", 'x');
        message.setInt("int", Integer.MIN_VALUE);
        message.setLong("long", Long.MAX_VALUE);
        message.setFloat("float", 1.5f);
        message.setDouble("double", Math.E);
        message.setString("string", "ä€");
        message.setBytes("bytes", new byte[] {0, -1, 127});
        MapMessage received = (MapMessage) sendAndReceive(session, message);
        same(true, received.getBoolean("boolean"));
        same(Byte.MIN_VALUE, received.getByte("byte"));
        same(Short.MAX_VALUE, received.getShort("short"));
        same('x', received.getChar("char"));
        same(Integer.MIN_VALUE, received.getInt("int"));
        same(Long.MAX_VALUE, received.getLong("long"));
        same(1.5f, received.getFloat("float"));
        same(Math.E, received.getDouble("double"));
        same("ä€", received.getString("string"));
        same(new byte[] {0, -1, 127}, received.getBytes("bytes"));
        check(!received.itemExists("other"), "nothing is there that was not put there");
    }

    public void aStreamKeepsOrderAndKinds() throws JMSException {
        Session session = session();
        StreamMessage message = session.createStreamMessage();
        List<Object> values = List.of(true, (byte) 1, (short) 2, 'c', 4, 5L, 1.5f, 2.5, "text");
        for (Object value : values) {
            message.writeObject(value);
        }
        StreamMessage received = (StreamMessage) sendAndReceive(session, message);
        for (Object value : values) {
            same(value, received.readObject());
        }
        fails(MessageEOFException.class, received::readObject);
    }

    public void anObjectArrivesAsItsEqual() throws JMSException {
        Session session = session();
        ArrayList<String> sent = new ArrayList<>(List.of("one", "two", "x".repeat(100_000)));
        ObjectMessage message = session.createObjectMessage(sent);
        same(sent, ((ObjectMessage) sendAndReceive(session, message)).getObject());
    }

    public void propertiesKeepEveryKindOfValue() throws JMSException {
        Session session = session();
        Message message = session.createMessage();
        message.setBooleanProperty("aBoolean", true);
        message.setByteProperty("aByte", Byte.MIN_VALUE);
        message.setShortProperty("aShort", Short.MAX_VALUE);
        message.setIntProperty("anInt", Integer.MIN_VALUE);
        message.setLongProperty("aLong", Long.MAX_VALUE);
        message.setFloatProperty("aFloat", 1.5f);
        message.setDoubleProperty("aDouble", Math.E);
        message.setStringProperty("aString", "ä€");
        message.setStringProperty("anEmptyString", "");
        Message received = sendAndReceive(session, message);
        same(true, received.getBooleanProperty("aBoolean"));
        same(Byte.MIN_VALUE, received.getByteProperty("aByte"));
        same(Short.MAX_VALUE, received.getShortProperty("aShort"));
        same(Integer.MIN_VALUE, received.getIntProperty("anInt"));
        same(Long.MAX_VALUE, received.getLongProperty("aLong"));
        same(1.5f, received.getFloatProperty("aFloat"));
        same(Math.E, received.getDoubleProperty("aDouble"));
        same("ä€", received.getStringProperty("aString"));
        same("", received.getStringProperty("anEmptyString"));
        check(!received.propertyExists("another"), "nothing is there that was not put there");
    }

    public void propertiesLargerThanAFrameArrive() throws JMSException {
        Session session = session();
        Message message = session.createTextMessage("body");
        for (int number = 0; number < 10; number++) {
            message.setStringProperty("part" + number, String.valueOf(number).repeat(20_000));
        }
        Message received = sendAndReceive(session, message);
        for (int number = 0; number < 10; number++) {
            same(String.valueOf(number).repeat(20_000),
                received.getStringProperty("part" + number));
        }
        same("body", textOf(received));
    }

    public void headersArriveAsTheyWereSet() throws JMSException {
        Session session = session();
        Message message = session.createTextMessage("body");
        message.setJMSType("kind");
        message.setJMSCorrelationID("correlation");
        Message received = sendAndReceive(session, message);
        same("kind", received.getJMSType());
        same("correlation", received.getJMSCorrelationID());
        same(message.getJMSMessageID(), received.getJMSMessageID());
        same(message.getJMSTimestamp(), received.getJMSTimestamp());
        same(DeliveryMode.PERSISTENT, received.getJMSDeliveryMode());
        same(0L, received.getJMSExpiration());
        check(!received.getJMSRedelivered(), "it is delivered for the first time");
    }

    public void priorityAndExpirationArriveWithTheMessage() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        MessageProducer producer = session.createProducer(queue);
        MessageConsumer consumer = session.createConsumer(queue);
        for (int priority = 0; priority < 10; priority++) {
            Message message = session.createTextMessage("body");
            producer.send(message, DeliveryMode.NON_PERSISTENT, priority, 3_600_000);
            Message received = receive(consumer);
            same(priority, received.getJMSPriority());
            same(DeliveryMode.NON_PERSISTENT, received.getJMSDeliveryMode());
            check(received.getJMSExpiration() > received.getJMSTimestamp(), "it expires later");
        }
    }

    public void theReplyDestinationLeadsBack() throws JMSException {
        Session asking = session();
        Session answering = session();
        Queue requests = queue(asking, "requests");
        Queue replies = queue(asking, "replies");
        Message request = asking.createTextMessage("question");
        request.setJMSReplyTo(replies);
        send(asking, requests, request);
        Message received = receive(answering.createConsumer(requests));
        Message reply = answering.createTextMessage("answer");
        reply.setJMSCorrelationID(received.getJMSMessageID());
        MessageProducer producer = answering.createProducer(null);
        producer.send(received.getJMSReplyTo(), reply);
        Message answer = receive(asking.createConsumer(replies));
        same("answer", textOf(answer));
        same(request.getJMSMessageID(), answer.getJMSCorrelationID());
    }
}
