package ferrymq.jms;

import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.MessageConsumer;
import javax.jms.Session;
import javax.jms.Topic;

/** Topics: a copy for each subscriber that was there, and wildcards. */
final class Topics extends Cases {
    public void everySubscriberGetsEachMessage() throws JMSException {
        Session session = session();
        // The client keeps in the object of a topic which queue it receives by.
        MessageConsumer one = session().createConsumer(topic(session, "news"));
        MessageConsumer other = session().createConsumer(topic(session, "news"));
        send(session, topic(session, "news"), "one", "two");
        expect(one, "one", "two");
        expect(other, "one", "two");
    }

    public void aSubscriberGetsItsTopicOnly() throws JMSException {
        Session session = session();
        Topic topic = topic(session, "news");
        MessageConsumer consumer = session.createConsumer(topic);
        send(session, topic(session, "weather"), "rain");
        send(session, topic, LAST);
        expect(consumer, LAST);
    }

    public void aSubscriberThatComesLaterMissesWhatWasBefore() throws JMSException {
        Session session = session();
        Topic topic = topic(session, "news");
        send(session, topic, "early");
        MessageConsumer consumer = session.createConsumer(topic);
        send(session, topic, LAST);
        expect(consumer, LAST);
    }

    public void aStarStandsForOneWord() throws JMSException {
        Session session = session();
        MessageConsumer consumer = session.createConsumer(topic(session, "news.*"));
        send(session, topic(session, "news"), "no word");
        send(session, topic(session, "news.sport.today"), "two words");
        send(session, topic(session, "news.sport"), "one word");
        send(session, topic(session, "news.last"), LAST);
        expect(consumer, "one word", LAST);
    }

    public void aHashStandsForAnyNumberOfWords() throws JMSException {
        Session session = session();
        MessageConsumer consumer = session.createConsumer(topic(session, "news.#"));
        send(session, topic(session, "weather"), "another topic");
        send(session, topic(session, "news"), "no word");
        send(session, topic(session, "news.sport"), "one word");
        send(session, topic(session, "news.sport.today"), "two words");
        expect(consumer, "no word", "one word", "two words");
    }

    public void aSubscriberWithoutLocalMessagesGetsThoseOfOthers() throws JMSException {
        Connection connection = connect();
        Session session = session(connection);
        Topic topic = topic(session, "news");
        MessageConsumer consumer = session.createConsumer(topic, null, true);
        send(session, topic, "own");
        send(session(connectAs("another", "")), topic, LAST);
        expect(consumer, LAST);
    }

    public void aStoppedSubscriberGetsWhatCameMeanwhile() throws JMSException {
        Session session = session();
        Topic topic = topic(session, "news");
        Connection connection = connect();
        MessageConsumer consumer = session(connection).createConsumer(topic);
        connection.stop();
        send(session, topic, "one", "two");
        connection.start();
        expect(consumer, "one", "two");
    }
}
