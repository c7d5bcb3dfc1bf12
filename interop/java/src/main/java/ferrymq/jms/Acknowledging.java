package ferrymq.jms;

import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.Queue;
import javax.jms.Session;

/** The ways in which a session acknowledges, and how much is delivered in advance. */
final class Acknowledging extends Cases {
    /** What was received in a session of this mode is gone when its connection has closed. */
    private void isGoneAfterReceiving(int mode) throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        String[] texts = numbered("message", 20);
        send(session, queue, texts);
        Connection connection = connect();
        expect(connection.createSession(false, mode).createConsumer(queue), texts);
        connection.close();
        expectEmpty(session, queue);
    }

    public void automaticallyEachMessageIsGoneOnceReceived() throws JMSException {
        isGoneAfterReceiving(Session.AUTO_ACKNOWLEDGE);
    }

    public void lazilyAllAreGoneOnceTheConnectionHasClosed() throws JMSException {
        isGoneAfterReceiving(Session.DUPS_OK_ACKNOWLEDGE);
    }

    public void byTheClientAllThatTheSessionReceivedAreAcknowledgedAtOnce() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        send(session, queue, "one", "two", "three");
        Connection connection = connect();
        Session receiving = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
        MessageConsumer consumer = receiving.createConsumer(queue);
        expect(consumer, "one");
        Message second = receive(consumer);
        second.acknowledge();
        expect(consumer, "three");
        connection.close();
        expectAgain(session, queue, "three");
        expectEmpty(session, queue);
    }

    public void recoveringAfterAnAcknowledgementDeliversTheRest() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        String[] texts = numbered("message", 10);
        send(session, queue, texts);
        Session receiving = connect().createSession(false, Session.CLIENT_ACKNOWLEDGE);
        MessageConsumer consumer = receiving.createConsumer(queue);
        expect(consumer, texts[0], texts[1]);
        receive(consumer).acknowledge();
        expect(consumer, texts[3], texts[4]);
        receiving.recover();
        expectAgain(consumer, texts[3], texts[4]);
        expect(consumer, texts[5]);
    }

    public void withOneInAdvanceTheOtherConsumerGetsTheNext() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        Connection connection = connect("&maxprefetch='1'");
        Session first = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
        MessageConsumer held = first.createConsumer(queue);
        send(session, queue, "one", "two");
        Message one = receive(held);
        same("one", textOf(one));
        // The first has what it may have until it acknowledges.
        expect(session, queue, "two");
        one.acknowledge();
    }

    public void withManyInAdvanceAllComeInOrder() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        String[] texts = numbered("message", 3_000);
        send(session, queue, texts);
        expect(session(connect("&maxprefetch='5000'")).createConsumer(queue), texts);
    }

    public void withNoneInAdvanceEachIsFetched() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        String[] texts = numbered("message", 20);
        send(session, queue, texts);
        MessageConsumer one = session(connect("&maxprefetch='0'")).createConsumer(queue);
        MessageConsumer other = session(connect("&maxprefetch='0'")).createConsumer(queue);
        for (int number = 0; number < texts.length; number += 2) {
            expect(one, texts[number]);
            expect(other, texts[number + 1]);
        }
    }
}
