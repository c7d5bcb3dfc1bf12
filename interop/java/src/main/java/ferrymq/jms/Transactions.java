package ferrymq.jms;

import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.MessageConsumer;
import javax.jms.Queue;
import javax.jms.Session;

/** Transacted sessions: all of it or nothing of it, in order. */
final class Transactions extends Cases {
    private Session transacted() throws JMSException {
        return connect().createSession(true, Session.SESSION_TRANSACTED);
    }

    public void whatIsSentIsSeenAfterTheCommit() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        Session sending = transacted();
        send(sending, queue, "in the transaction");
        send(session, queue, "before the commit");
        sending.commit();
        expect(session, queue, "before the commit", "in the transaction");
    }

    public void whatIsSentIsNotSeenAfterARollback() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        Session sending = transacted();
        send(sending, queue, "never");
        sending.rollback();
        send(sending, queue, "one");
        sending.commit();
        expect(session, queue, "one");
        expectEmpty(session, queue);
    }

    public void aTransactionOfManyMessagesKeepsTheirOrder() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        Session sending = transacted();
        String[] texts = numbered("message", 1_000);
        send(sending, queue, texts);
        sending.commit();
        expect(session, queue, texts);
    }

    public void whatIsReceivedIsGoneAfterTheCommit() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        send(session, queue, "one", "two");
        Session receiving = transacted();
        expect(receiving.createConsumer(queue), "one", "two");
        receiving.commit();
        receiving.close();
        expectEmpty(session, queue);
    }

    public void whatIsReceivedComesAgainAfterARollback() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        send(session, queue, "one", "two", "three");
        Session receiving = transacted();
        MessageConsumer consumer = receiving.createConsumer(queue);
        expect(consumer, "one", "two");
        receiving.rollback();
        expectAgain(consumer, "one", "two");
        expect(consumer, "three");
        receiving.commit();
    }

    public void closingTheSessionRollsBack() throws JMSException {
        Session session = session();
        Queue from = queue(session, "from");
        Queue to = queue(session, "to");
        send(session, from, "one");
        Session moving = transacted();
        expect(moving.createConsumer(from), "one");
        send(moving, to, "never");
        moving.close();
        expectAgain(session, from, "one");
        expectEmpty(session, to);
    }

    public void closingTheConnectionRollsBack() throws JMSException {
        Session session = session();
        Queue from = queue(session, "from");
        Queue to = queue(session, "to");
        send(session, from, "one");
        Connection connection = connect();
        Session moving = connection.createSession(true, Session.SESSION_TRANSACTED);
        expect(moving.createConsumer(from), "one");
        send(moving, to, "never");
        connection.close();
        expectAgain(session, from, "one");
        expectEmpty(session, to);
    }

    public void receivingAndSendingAreOneTransaction() throws JMSException {
        Session session = session();
        Queue from = queue(session, "from");
        Queue to = queue(session, "to");
        String[] texts = numbered("message", 50);
        send(session, from, texts);
        Session moving = transacted();
        MessageConsumer consumer = moving.createConsumer(from);
        for (String text : texts) {
            expect(consumer, text);
            send(moving, to, text);
            moving.commit();
        }
        consumer.close();
        expect(session, to, texts);
        expectEmpty(session, from);
    }

    public void oneSessionsRollbackLeavesTheOthersTransaction() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        Connection connection = connect();
        Session one = connection.createSession(true, Session.SESSION_TRANSACTED);
        Session other = connection.createSession(true, Session.SESSION_TRANSACTED);
        send(one, queue, "of the one");
        send(other, queue, "of the other");
        one.rollback();
        other.commit();
        expect(session, queue, "of the other");
        expectEmpty(session, queue);
    }
}
