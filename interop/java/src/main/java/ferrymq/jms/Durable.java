package ferrymq.jms;

import javax.jms.Connection;
import javax.jms.InvalidDestinationException;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.Session;
import javax.jms.Topic;

/** Durable subscriptions: they last until they are ended by their name. */
final class Durable extends Cases {
    private static void sendInColour(Session session, Topic topic, String colour, String text)
            throws JMSException {
        Message message = session.createTextMessage(text);
        message.setStringProperty("colour", colour);
        send(session, topic, message);
    }

    public void itKeepsWhatComesWhileNobodyReceives() throws JMSException {
        Session session = session();
        Topic topic = topic(session, "news");
        Connection first = connect();
        session(first).createDurableSubscriber(topic, name());
        first.close();
        send(session, topic, "one", "two");
        Session again = session(connect());
        MessageConsumer consumer = again.createDurableSubscriber(topic, name());
        expect(consumer, "one", "two");
        consumer.close();
        again.unsubscribe(name());
    }

    public void whatWasNotAcknowledgedComesAgain() throws JMSException {
        Session session = session();
        Topic topic = topic(session, "news");
        Connection first = connect();
        MessageConsumer consumer = first.createSession(false, Session.CLIENT_ACKNOWLEDGE)
            .createDurableSubscriber(topic, name());
        send(session, topic, "one", "two");
        receive(consumer).acknowledge();
        expect(consumer, "two");
        first.close();
        Session again = session(connect());
        MessageConsumer second = again.createDurableSubscriber(topic, name());
        expectAgain(second, "two");
        second.close();
        again.unsubscribe(name());
    }

    public void afterUnsubscribingItBeginsAnew() throws JMSException {
        Session session = session();
        Topic topic = topic(session, "news");
        session.createDurableSubscriber(topic, name()).close();
        send(session, topic, "early");
        session.unsubscribe(name());
        send(session, topic, "between");
        MessageConsumer consumer = session.createDurableSubscriber(topic, name());
        send(session, topic, LAST);
        expect(consumer, LAST);
        consumer.close();
        session.unsubscribe(name());
    }

    public void unsubscribingWhatIsNotThereFails() throws JMSException {
        Session session = session();
        fails(InvalidDestinationException.class, () -> session.unsubscribe(name()));
    }

    public void itGetsWhatItsSelectorMatches() throws JMSException {
        Session session = session();
        Topic topic = topic(session, "news");
        session.createDurableSubscriber(topic, name(), "colour = 'red'", false).close();
        sendInColour(session, topic, "blue", "other");
        sendInColour(session, topic, "red", "one");
        MessageConsumer consumer =
            session.createDurableSubscriber(topic, name(), "colour = 'red'", false);
        expect(consumer, "one");
        consumer.close();
        session.unsubscribe(name());
    }

    public void withAnotherSelectorItGetsWhatThatMatches() throws JMSException {
        Session session = session();
        Topic topic = topic(session, "news");
        session.createDurableSubscriber(topic, name(), "colour = 'red'", false).close();
        sendInColour(session, topic, "red", "of the first");
        MessageConsumer consumer =
            session.createDurableSubscriber(topic, name(), "colour = 'blue'", false);
        sendInColour(session, topic, "red", "of nobody now");
        sendInColour(session, topic, "blue", LAST);
        expect(consumer, LAST);
        consumer.close();
        session.unsubscribe(name());
    }

    public void onAnotherTopicItBeginsAnew() throws JMSException {
        Session session = session();
        Topic topic = topic(session, "news");
        Topic other = topic(session, "weather");
        session.createDurableSubscriber(topic, name()).close();
        send(session, topic, "of the first");
        MessageConsumer consumer = session.createDurableSubscriber(other, name());
        send(session, topic, "of nobody now");
        send(session, other, LAST);
        expect(consumer, LAST);
        consumer.close();
        session.unsubscribe(name());
    }

    public void twoOfDifferentNamesEachGetAll() throws JMSException {
        Session session = session();
        Topic topic = topic(session, "news");
        session.createDurableSubscriber(topic, name() + "1").close();
        session.createDurableSubscriber(topic, name() + "2").close();
        send(session, topic, "one");
        for (String name : new String[] {name() + "1", name() + "2"}) {
            MessageConsumer consumer = session.createDurableSubscriber(topic, name);
            expect(consumer, "one");
            consumer.close();
            session.unsubscribe(name);
        }
    }

    public void itHasOneSubscriberAtATime() throws JMSException {
        Topic topic = topic(session(), "news");
        MessageConsumer first = session(connect()).createDurableSubscriber(topic, name());
        Session other = session(connect());
        // With ADDR a lock in the client keeps the refusal from it until its own time is over.
        fails(JMSException.class, () -> other.createDurableSubscriber(topic, name()));
        Session session = session();
        send(session, topic(session, "news"), "one");
        expect(first, "one");
    }
}
