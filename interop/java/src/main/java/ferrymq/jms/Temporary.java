package ferrymq.jms;

import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Session;
import javax.jms.TemporaryQueue;
import javax.jms.TemporaryTopic;

/** Temporary queues and topics: for their connection, and as long as it lasts. */
final class Temporary extends Cases {
    public void anAnswerComesToATemporaryQueue() throws JMSException {
        Session asking = session();
        Session answering = session();
        TemporaryQueue replies = asking.createTemporaryQueue();
        MessageConsumer answers = asking.createConsumer(replies);
        Message request = asking.createTextMessage("question");
        request.setJMSReplyTo(replies);
        send(asking, queue(asking), request);
        Message received = receive(answering.createConsumer(queue(answering)));
        MessageProducer producer = answering.createProducer(received.getJMSReplyTo());
        producer.send(answering.createTextMessage("answer"));
        expect(answers, "answer");
    }

    public void twoTemporaryQueuesAreApart() throws JMSException {
        Session session = session();
        TemporaryQueue one = session.createTemporaryQueue();
        TemporaryQueue other = session.createTemporaryQueue();
        MessageConsumer ofOne = session.createConsumer(one);
        MessageConsumer ofOther = session.createConsumer(other);
        send(session, other, "other");
        send(session, one, "one");
        expect(ofOne, "one");
        expect(ofOther, "other");
    }

    public void onlyItsOwnConnectionReceivesFromATemporaryQueue() throws JMSException {
        TemporaryQueue queue = session().createTemporaryQueue();
        Session other = session();
        fails(JMSException.class, () -> other.createConsumer(queue));
    }

    public void aTemporaryQueueEndsWithItsConnection() throws JMSException {
        Connection connection = connect();
        Session session = session(connection);
        TemporaryQueue queue = session.createTemporaryQueue();
        session.createConsumer(queue);
        String name = queue.getQueueName();
        Session other = session();
        String address = "ADDR:'" + name + "'; {create: never}";
        // It is there: it can be sent to.
        other.createProducer(other.createQueue(address)).close();
        connection.close();
        Session late = session();
        fails(JMSException.class, () -> late.createProducer(late.createQueue(address)));
    }

    public void aDeletedTemporaryQueueIsGone() throws JMSException {
        Session session = session();
        TemporaryQueue queue = session.createTemporaryQueue();
        MessageConsumer consumer = session.createConsumer(queue);
        fails(JMSException.class, queue::delete);
        consumer.close();
        queue.delete();
        fails(JMSException.class, () -> session.createConsumer(queue));
    }

    public void aTemporaryTopicReachesItsSubscribers() throws JMSException {
        Session session = session();
        TemporaryTopic topic = session.createTemporaryTopic();
        MessageConsumer one = session.createConsumer(topic);
        MessageConsumer other = session.createConsumer(topic);
        send(session, topic, "one", "two");
        expect(one, "one", "two");
        expect(other, "one", "two");
    }
}
