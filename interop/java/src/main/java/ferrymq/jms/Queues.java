package ferrymq.jms;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.QueueBrowser;
import javax.jms.Session;

/** Queues: order, one consumer for each message, browsing, expiring, giving back. */
final class Queues extends Cases {
    /** How often a queue is looked at until what must go has gone. */
    private static final int LOOKS_MAX = 60;

    private static List<String> browse(Session session, Queue queue, String selector)
            throws JMSException {
        QueueBrowser browser = session.createBrowser(queue, selector);
        List<String> texts = new ArrayList<>();
        Enumeration<?> found = browser.getEnumeration();
        while (found.hasMoreElements()) {
            texts.add(textOf((Message) found.nextElement()));
        }
        browser.close();
        return texts;
    }

    private static Message next(BlockingQueue<Message> heard) throws InterruptedException {
        Message message = heard.poll(RECEIVE_MILLIS_MAX, TimeUnit.MILLISECONDS);
        check(message != null, "no listener was called");
        return message;
    }

    public void messagesComeInTheOrderInWhichTheyWereSent() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        String[] texts = numbered("message", 1_000);
        send(session, queue, texts);
        expect(session, queue, texts);
    }

    public void eachMessageGoesToOneOfTwoConsumers() throws JMSException, InterruptedException {
        Session session = session();
        Queue queue = queue(session);
        BlockingQueue<Message> heard = new LinkedBlockingQueue<>();
        AtomicInteger byOne = new AtomicInteger();
        // Few in advance, so that neither takes all.
        session(connect("&maxprefetch='5'")).createConsumer(queue).setMessageListener(message -> {
            byOne.incrementAndGet();
            heard.add(message);
        });
        session(connect("&maxprefetch='5'")).createConsumer(queue).setMessageListener(heard::add);
        String[] texts = numbered("message", 100);
        send(session, queue, texts);
        List<String> received = new ArrayList<>();
        for (int number = 0; number < texts.length; number++) {
            received.add(textOf(next(heard)));
        }
        check(byOne.get() > 0 && byOne.get() < texts.length, "one took " + byOne.get());
        List<String> wanted = new ArrayList<>(List.of(texts));
        Collections.sort(wanted);
        Collections.sort(received);
        same(wanted, received);
    }

    public void aListenerIsCalledInOrder() throws JMSException, InterruptedException {
        Session session = session();
        Queue queue = queue(session);
        BlockingQueue<Message> heard = new LinkedBlockingQueue<>();
        session(connect()).createConsumer(queue).setMessageListener(heard::add);
        String[] texts = numbered("message", 100);
        send(session, queue, texts);
        for (String text : texts) {
            same(text, textOf(next(heard)));
        }
    }

    public void aBrowserSeesAllAndTakesNone() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        send(session, queue, "one", "two", "three");
        same(List.of("one", "two", "three"), browse(session, queue, null));
        same(List.of("one", "two", "three"), browse(session, queue, null));
        expect(session, queue, "one", "two", "three");
    }

    public void aBrowserWithASelectorSeesWhatMatches() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        for (int number = 0; number < 6; number++) {
            Message message = session.createTextMessage("message " + number);
            message.setIntProperty("third", number % 3);
            send(session, queue, message);
        }
        same(List.of("message 1", "message 4"), browse(session, queue, "third = 1"));
    }

    public void aBrowserOfAnEmptyQueueSeesNothing() throws JMSException {
        Session session = session();
        same(List.of(), browse(session, queue(session), null));
    }

    public void aMessageIsGoneWhenItsTimeToLiveIsOver() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        MessageProducer producer = session.createProducer(queue);
        producer.send(session.createTextMessage("short"), DeliveryMode.NON_PERSISTENT, 4, 1);
        producer.send(session.createTextMessage("long"), DeliveryMode.NON_PERSISTENT, 4, 3_600_000);
        producer.send(session.createTextMessage(LAST), DeliveryMode.NON_PERSISTENT, 4, 0);
        int looks = 0;
        while (browse(session, queue, null).contains("short")) {
            looks++;
            check(looks < LOOKS_MAX, "the message does not go");
        }
        expect(session, queue, "long", LAST);
    }

    public void aQueueWithPrioritiesDeliversTheHigherFirst() throws JMSException {
        Session session = session();
        Queue queue = queueWith(session, "priorities", "create: always, node: {x-declare: "
            + "{arguments: {'qpid.priorities': 10}}}");
        MessageProducer producer = session.createProducer(queue);
        for (int priority : new int[] {1, 9, 4, 9, 0}) {
            producer.send(session.createTextMessage("priority " + priority),
                DeliveryMode.NON_PERSISTENT, priority, 0);
        }
        expect(session, queue,
            "priority 9", "priority 9", "priority 4", "priority 1", "priority 0");
    }

    public void recoveringDeliversAgainAndSaysSo() throws JMSException {
        Session session = connect().createSession(false, Session.CLIENT_ACKNOWLEDGE);
        Queue queue = queue(session);
        send(session, queue, "one", "two", "three");
        MessageConsumer consumer = session.createConsumer(queue);
        Message first = receive(consumer);
        check(!first.getJMSRedelivered(), "it is delivered for the first time");
        expect(consumer, "two");
        session.recover();
        expectAgain(consumer, "one", "two");
        Message third = receive(consumer);
        same("three", textOf(third));
        third.acknowledge();
    }

    public void closingASessionGivesBackWhatWasNotAcknowledged() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        send(session, queue, "one", "two");
        Session other = connect().createSession(false, Session.CLIENT_ACKNOWLEDGE);
        expect(other.createConsumer(queue), "one", "two");
        other.close();
        expectAgain(session, queue, "one", "two");
    }

    public void closingAConnectionGivesBackWhatWasNotAcknowledged() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        send(session, queue, "one", "two");
        Connection other = connect();
        expect(other.createSession(false, Session.CLIENT_ACKNOWLEDGE).createConsumer(queue), "one");
        other.close();
        MessageConsumer consumer = session.createConsumer(queue);
        expectAgain(consumer, "one");
        expect(consumer, "two");
    }

    public void aClosedConsumerGivesBackWhatItHadInAdvance() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        String[] texts = numbered("message", 20);
        send(session, queue, texts);
        Session closing = session(connect());
        MessageConsumer first = closing.createConsumer(queue);
        expect(first, texts[0]);
        first.close();
        settle(closing);
        MessageConsumer second = session.createConsumer(queue);
        // The client gives them back one by one, and the one that its thread has in its hands when that
        // comes to it, late perhaps: all come, and in what order is the client's doing.
        List<String> left = new ArrayList<>(Arrays.asList(texts).subList(1, texts.length));
        while (!left.isEmpty()) {
            String text = receiveText(second);
            check(left.remove(text), text + " has come twice");
        }
    }

    public void nothingIsReceivedBeforeTheConnectionIsStarted() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        Connection stopped = connect();
        stopped.stop();
        MessageConsumer waiting = session(stopped).createConsumer(queue);
        send(session, queue, "one");
        // What is stopped takes nothing: it must not come here before there is a start.
        same(null, waiting.receiveNoWait());
        stopped.start();
        expect(waiting, "one");
    }

    public void aConsumerOfAQueueThatIsNotThereFails() throws JMSException {
        Session session = session();
        Queue queue = queueWith(session, "absent", "create: never, assert: never");
        fails(JMSException.class, () -> session.createConsumer(queue));
        // Others of the broker are not troubled.
        Session other = session();
        expectEmpty(other, queue(other));
    }

    public void aProducerForAQueueThatIsNotThereFails() throws JMSException {
        Session session = session();
        Queue queue = queueWith(session, "absent", "create: never");
        fails(JMSException.class, () -> session.createProducer(queue));
    }
}
