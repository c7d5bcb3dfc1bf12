package ferrymq.jms;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.Destination;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.TextMessage;
import javax.jms.Topic;
import javax.jms.XAConnection;
import org.apache.qpid.QpidException;
import org.apache.qpid.client.AMQConnection;
import org.apache.qpid.client.AMQConnectionFactory;
import org.apache.qpid.client.AMQSession_0_10;
import org.apache.qpid.url.URLSyntaxException;

/**
 * What cases share: connections that end with the case, destinations of its own, and checks.
 *
 * <p>That nothing else comes is shown by what was sent last and comes next, never by waiting.
 */
abstract class Cases {
    /** How long a message that must come may take. */
    static final long RECEIVE_MILLIS_MAX = 20_000;

    /** What marks the end of what a consumer gets. */
    static final String LAST = "last";

    private final List<Connection> connections = new ArrayList<>();
    private String name;

    /** Called before the case, with its name. */
    void begin(String caseName) {
        name = caseName;
    }

    /** What all cases of a group begin with. */
    void prepare() throws Exception {
    }

    /** Ends the case's connections. What went wrong with that, or null. */
    Throwable end() {
        Throwable problem = null;
        for (Connection connection : connections) {
            try {
                connection.close();
            } catch (JMSException | RuntimeException thrown) {
                problem = thrown;
            }
        }
        return problem;
    }

    /** The case's name, of which all names in the broker are made. */
    String name() {
        return name;
    }

    // Connections and sessions.

    /** A started connection to the broker. */
    Connection connect() throws JMSException {
        return connect("");
    }

    /** A started connection with more options in its URL, each preceded by {@code &}. */
    Connection connect(String options) throws JMSException {
        return connectAs(name, options);
    }

    /** A started connection under an id of the client. */
    Connection connectAs(String client, String options) throws JMSException {
        AMQConnection connection = factory(client, brokers(Setup.port()), options)
            .createConnection();
        connections.add(connection);
        connection.start();
        return connection;
    }

    /** A started connection to the first port that answers, which goes on at the next. */
    AMQConnection connectToOneOf(String failover, int... ports) throws JMSException {
        AMQConnection connection =
            factory(name, brokers(ports), "&failover='" + failover + "'").createConnection();
        connections.add(connection);
        connection.start();
        return connection;
    }

    /** A started connection whose sessions take part in distributed transactions. */
    XAConnection connectXa() throws JMSException {
        XAConnection connection =
            factory(name, brokers(Setup.port()), "").createXAConnection();
        connections.add(connection);
        connection.start();
        return connection;
    }

    private static AMQConnectionFactory factory(String client, String brokers, String options)
            throws JMSException {
        String url = "amqp://guest:guest@" + client + "/?brokerlist='" + brokers + "'" + options;
        try {
            return new AMQConnectionFactory(url);
        } catch (URLSyntaxException thrown) {
            throw new IllegalArgumentException(url, thrown);
        }
    }

    private static String brokers(int... ports) {
        List<String> all = new ArrayList<>();
        for (int port : ports) {
            all.add("tcp://127.0.0.1:" + port + "?retries='2'&connectdelay='200'");
        }
        return String.join(";", all);
    }

    /** A session of a new connection that acknowledges by itself. */
    Session session() throws JMSException {
        return session(connect());
    }

    /** A session that acknowledges by itself. */
    static Session session(Connection connection) throws JMSException {
        return connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
    }

    /** A session of transactions. */
    static Session transacted(Connection connection) throws JMSException {
        return connection.createSession(true, Session.SESSION_TRANSACTED);
    }

    // Destinations.

    /** The case's queue, which there is from now on. */
    Queue queue(Session session) throws JMSException {
        return queue(session, "queue");
    }

    /** One of the case's queues, which there is from now on. */
    Queue queue(Session session, String suffix) throws JMSException {
        Queue queue = session.createQueue(queueName(suffix));
        session.createConsumer(queue).close();
        return queue;
    }

    /** A destination by an address with options, in whichever syntax others are written. */
    Queue queueWith(Session session, String suffix, String options) throws JMSException {
        return session.createQueue("ADDR:" + plain(suffix) + "; {" + options + "}");
    }

    /** How a queue is named to the client. */
    String queueName(String suffix) {
        return switch (Setup.syntax()) {
            case ADDR -> plain(suffix) + "; {create: always}";
            case BURL -> plain(suffix);
        };
    }

    /** One of the case's topics; dots part its words. */
    Topic topic(Session session, String words) throws JMSException {
        return switch (Setup.syntax()) {
            case ADDR -> session.createTopic("amq.topic/" + name + "." + words);
            case BURL -> session.createTopic(name + "." + words);
        };
    }

    private String plain(String suffix) {
        return name + "." + suffix;
    }

    // Messages.

    /** Sends texts, each in a message that survives nothing. Returns when the broker has them. */
    static void send(Session session, Destination destination, String... texts)
            throws JMSException {
        MessageProducer producer = session.createProducer(destination);
        producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
        for (String text : texts) {
            producer.send(session.createTextMessage(text));
        }
        producer.close();
        settle(session);
    }

    /**
     * Returns when the broker has done all that the session asked for: what was sent has arrived,
     * what was acknowledged is gone. The client says neither by itself.
     */
    static void settle(Session session) throws JMSException {
        try {
            ((AMQSession_0_10) session).sync();
        } catch (QpidException thrown) {
            JMSException problem = new JMSException(thrown.getMessage());
            problem.setLinkedException(thrown);
            throw problem;
        }
    }

    /** Sends one message with what the client gives by itself. */
    static void send(Session session, Destination destination, Message message)
            throws JMSException {
        MessageProducer producer = session.createProducer(destination);
        producer.send(message);
        producer.close();
    }

    /** The next message, which must come. */
    static Message receive(MessageConsumer consumer) throws JMSException {
        Message message = consumer.receive(RECEIVE_MILLIS_MAX);
        check(message != null, "no message came");
        return message;
    }

    /** The text of the next message, which must come. */
    static String receiveText(MessageConsumer consumer) throws JMSException {
        return textOf(receive(consumer));
    }

    /** The next messages must have these texts. */
    static void expect(MessageConsumer consumer, String... texts) throws JMSException {
        for (String text : texts) {
            same(text, receiveText(consumer));
        }
    }

    /** The next messages must have these texts and say that they may have come before. */
    static void expectAgain(MessageConsumer consumer, String... texts) throws JMSException {
        for (String text : texts) {
            Message message = receive(consumer);
            same(text, textOf(message));
            check(message.getJMSRedelivered(), text + " does not say that it is delivered again");
        }
    }

    /** The queue has these messages, and a consumer of its own takes them. */
    static void expect(Session session, Queue queue, String... texts) throws JMSException {
        MessageConsumer consumer = session.createConsumer(queue);
        expect(consumer, texts);
        consumer.close();
    }

    /** The queue has these messages, which may have been delivered before, and they are taken. */
    static void expectAgain(Session session, Queue queue, String... texts) throws JMSException {
        MessageConsumer consumer = session.createConsumer(queue);
        expectAgain(consumer, texts);
        consumer.close();
    }

    /** Nothing is left in the queue: what is sent now comes next to a consumer of its own. */
    static void expectEmpty(Session session, Queue queue) throws JMSException {
        send(session, queue, LAST);
        expect(session, queue, LAST);
    }

    static String textOf(Message message) throws JMSException {
        check(message instanceof TextMessage, "a text message, not " + message.getClass());
        return ((TextMessage) message).getText();
    }

    /** Texts that tell their numbers. */
    static String[] numbered(String word, int count) {
        String[] texts = new String[count];
        for (int number = 0; number < count; number++) {
            texts[number] = word + " " + number;
        }
        return texts;
    }

    // Checks.

    /** A call that may throw anything. */
    interface Call {
        void make() throws Exception;
    }

    static void check(boolean truth, String otherwise) {
        if (!truth) {
            throw new AssertionError(otherwise);
        }
    }

    static void same(Object wanted, Object found) {
        check(Objects.deepEquals(wanted, found), "wanted " + wanted + ", found " + found);
    }

    /** The call must fail by this kind of exception, which is given back. */
    static <T extends Exception> T fails(Class<T> kind, Call call) {
        try {
            call.make();
        } catch (Exception thrown) {
            if (kind.isInstance(thrown)) {
                return kind.cast(thrown);
            }
            throw new AssertionError("wanted " + kind.getSimpleName(), thrown);
        }
        throw new AssertionError("wanted " + kind.getSimpleName() + ", nothing was thrown");
    }
}
