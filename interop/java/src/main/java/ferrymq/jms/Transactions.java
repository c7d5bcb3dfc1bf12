package ferrymq.jms;

import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.MessageConsumer;
import javax.jms.Queue;
import javax.jms.Session;

/** Transacted sessions: all of it or nothing of it, in order. */
final class Transactions extends Cases {
    private Session session;
    private Queue queue;
    private Session transacted;

    @Override
    void prepare() throws JMSException {
        session = session();
        queue = queue(session);
        transacted = transacted(connect());
    }

    public void whatIsSentIsSeenAfterTheCommit() throws JMSException {
        send(transacted, queue, "in the transaction");
        send(session, queue, "before the commit");
        transacted.commit();
        expect(session, queue, "before the commit", "in the transaction");
    }

    public void whatIsSentIsNotSeenAfterARollback() throws JMSException {
        send(transacted, queue, "never");
        transacted.rollback();
        send(transacted, queue, "one");
        transacted.commit();
        expect(session, queue, "one");
        expectEmpty(session, queue);
    }

    public void aTransactionOfManyMessagesKeepsTheirOrder() throws JMSException {
        String[] texts = numbered("message", 1_000);
        send(transacted, queue, texts);
        transacted.commit();
        expect(session, queue, texts);
    }

    public void whatIsReceivedIsGoneAfterTheCommit() throws JMSException {
        send(session, queue, "one", "two");
        expect(transacted.createConsumer(queue), "one", "two");
        transacted.commit();
        transacted.close();
        expectEmpty(session, queue);
    }

    public void whatIsReceivedComesAgainAfterARollback() throws JMSException {
        send(session, queue, "one", "two", "three");
        MessageConsumer consumer = transacted.createConsumer(queue);
        expect(consumer, "one", "two");
        transacted.rollback();
        expectAgain(consumer, "one", "two");
        expect(consumer, "three");
        transacted.commit();
    }

    public void closingTheSessionRollsBack() throws JMSException {
        Queue from = queue(session, "from");
        Queue to = queue(session, "to");
        send(session, from, "one");
        expect(transacted.createConsumer(from), "one");
        send(transacted, to, "never");
        transacted.close();
        expectAgain(session, from, "one");
        expectEmpty(session, to);
    }

    public void closingTheConnectionRollsBack() throws JMSException {
        Queue from = queue(session, "from");
        Queue to = queue(session, "to");
        send(session, from, "one");
        Connection connection = connect();
        Session moving = transacted(connection);
        expect(moving.createConsumer(from), "one");
        send(moving, to, "never");
        connection.close();
        expectAgain(session, from, "one");
        expectEmpty(session, to);
    }

    public void receivingAndSendingAreOneTransaction() throws JMSException {
        Queue from = queue(session, "from");
        Queue to = queue(session, "to");
        String[] texts = numbered("message", 50);
        send(session, from, texts);
        MessageConsumer consumer = transacted.createConsumer(from);
        for (String text : texts) {
            expect(consumer, text);
            send(transacted, to, text);
            transacted.commit();
        }
        consumer.close();
        expect(session, to, texts);
        expectEmpty(session, from);
    }

    public void oneSessionsRollbackLeavesTheOthersTransaction() throws JMSException {
        Connection connection = connect();
        Session one = transacted(connection);
        Session other = transacted(connection);
        send(one, queue, "of the one");
        send(other, queue, "of the other");
        one.rollback();
        other.commit();
        expect(session, queue, "of the other");
        expectEmpty(session, queue);
    }
}
