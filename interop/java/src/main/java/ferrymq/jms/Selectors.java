package ferrymq.jms;

import javax.jms.DeliveryMode;
import javax.jms.InvalidSelectorException;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.Topic;

/** Selectors over properties and headers. */
final class Selectors extends Cases {
    /** A message with properties of each kind, which say what its number is. */
    private static Message message(Session session, int number) throws JMSException {
        Message message = session.createTextMessage("message " + number);
        message.setIntProperty("number", number);
        message.setDoubleProperty("half", number / 2.0);
        message.setBooleanProperty("even", number % 2 == 0);
        message.setStringProperty("word", new String[] {"zero", "one", "two", "three"}[number]);
        if (number > 1) {
            message.setStringProperty("large", "it's");
        }
        return message;
    }

    private static String matching(int... numbers) {
        StringBuilder all = new StringBuilder();
        for (int number : numbers) {
            all.append("message ").append(number).append(";");
        }
        return all.toString();
    }

    /** Which of four messages go to a consumer with this selector. */
    private String selected(Session session, String selector) throws JMSException {
        Queue queue = queue(session);
        MessageProducer producer = session.createProducer(queue);
        for (int number = 0; number < 4; number++) {
            producer.send(message(session, number));
        }
        Message last = session.createTextMessage(LAST);
        last.setBooleanProperty("last", true);
        producer.send(last);
        MessageConsumer some = session.createConsumer(queue, "(" + selector + ") OR last = TRUE");
        StringBuilder all = new StringBuilder();
        for (String text = receiveText(some); !text.equals(LAST); text = receiveText(some)) {
            all.append(text).append(";");
        }
        some.close();
        // The others are there still: each is received by one without a selector.
        producer.send(last);
        MessageConsumer rest = session.createConsumer(queue);
        int others = 0;
        while (!receiveText(rest).equals(LAST)) {
            others++;
        }
        rest.close();
        same(4, others + (int) all.chars().filter(letter -> letter == ';').count());
        return all.toString();
    }

    public void numbersAreComparedAsNumbers() throws JMSException {
        Session session = session();
        same(matching(2, 3), selected(session, "number > 1"));
        same(matching(1), selected(session, "half = 0.5"));
        same(matching(0, 1, 2), selected(session, "number * 2 + 1 <= 5"));
        same(matching(1, 2), selected(session, "number BETWEEN 1 AND 2"));
        same(matching(3), selected(session, "half >= 1.5"));
    }

    public void textsAreComparedAndMatchedByPatterns() throws JMSException {
        Session session = session();
        same(matching(2), selected(session, "word = 'two'"));
        same(matching(2, 3), selected(session, "word LIKE 't%'"));
        same(matching(1, 2), selected(session, "word LIKE '___'"));
        same(matching(0, 3), selected(session, "word IN ('zero', 'three')"));
        same(matching(1, 2), selected(session, "word NOT IN ('zero', 'three')"));
        same(matching(2, 3), selected(session, "large = 'it''s'"));
    }

    public void truthsAreCombined() throws JMSException {
        Session session = session();
        same(matching(0, 2), selected(session, "even = TRUE"));
        same(matching(1, 3), selected(session, "NOT even = TRUE"));
        same(matching(2), selected(session, "even = TRUE AND number > 0"));
        same(matching(0, 2, 3), selected(session, "even = TRUE OR number = 3"));
    }

    public void whatIsNotThereIsNeitherTrueNorFalse() throws JMSException {
        Session session = session();
        same(matching(0, 1), selected(session, "large IS NULL AND last IS NULL"));
        same(matching(2, 3), selected(session, "large IS NOT NULL"));
        same(matching(), selected(session, "absent = 1 OR absent > 1"));
    }

    public void headersCanBeSelectedBy() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        Message message = session.createTextMessage("of a kind");
        message.setJMSType("kind");
        message.setJMSCorrelationID("correlation");
        MessageProducer producer = session.createProducer(queue);
        String[] selectors = {"JMSType = 'kind'", "JMSCorrelationID = 'correlation'",
            "JMSPriority > 6", "JMSDeliveryMode = 'PERSISTENT'", "JMSTimestamp > 0"
            + " AND JMSType IS NOT NULL"};
        for (String selector : selectors) {
            Message other = session.createTextMessage("of no kind");
            producer.send(other, DeliveryMode.NON_PERSISTENT, 3, 0);
            producer.send(message, DeliveryMode.PERSISTENT, 8, 0);
            MessageConsumer consumer = session.createConsumer(queue, selector);
            expect(consumer, "of a kind");
            consumer.close();
            MessageConsumer rest = session.createConsumer(queue);
            expect(rest, "of no kind");
            rest.close();
        }
    }

    public void aMessageIdSelectsOneMessage() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        MessageProducer producer = session.createProducer(queue);
        producer.send(session.createTextMessage("one"));
        Message second = session.createTextMessage("two");
        producer.send(second);
        producer.send(session.createTextMessage("three"));
        expect(session.createConsumer(queue, "JMSMessageID = '" + second.getJMSMessageID() + "'"),
            "two");
    }

    public void theBrokerSelectsForASubscriptionThatAsksIt() throws JMSException {
        Session session = session();
        Queue queue = queueWith(session, "queue", "create: always");
        session.createConsumer(queue).close();
        for (int number = 0; number < 4; number++) {
            send(session, queue, message(session, number));
        }
        Queue some = queueWith(session, "queue", "link: {x-subscribes: {arguments: "
            + "{'x-apache-selector': 'number > 1 AND large IS NOT NULL'}}}");
        expect(session, some, "message 2", "message 3");
        expect(session, queue, "message 0", "message 1");
        expectEmpty(session, queue);
    }

    public void aSelectorHoldsForTopics() throws JMSException {
        Session session = session();
        Topic topic = topic(session, "news");
        MessageConsumer consumer = session.createConsumer(topic, "number >= 2");
        for (int number = 0; number < 4; number++) {
            send(session, topic, message(session, number));
        }
        expect(consumer, "message 2", "message 3");
    }

    public void whatIsNoSelectorIsRefused() throws JMSException {
        Session session = session();
        Queue queue = queue(session);
        fails(InvalidSelectorException.class, () -> session.createConsumer(queue, "number = = 1"));
    }
}
