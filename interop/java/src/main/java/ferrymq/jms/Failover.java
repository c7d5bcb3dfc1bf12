package ferrymq.jms;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.jms.JMSException;
import javax.jms.MessageConsumer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.TransactionRolledBackException;
import org.apache.qpid.client.AMQConnection;
import org.apache.qpid.jms.ConnectionListener;

/** A client that knows several brokers goes on at the next. */
final class Failover extends Cases {
    private static final String NEXT = "roundrobin?cyclecount='50'";
    private static final String SAME = "singlebroker?retries='50'&connectdelay='100'";

    /** How long the client may take until it goes on. */
    private static final long FAILOVER_SECONDS_MAX = 60;

    private final Control control;

    Failover() throws IOException {
        control = new Control();
    }

    @Override
    Throwable end() {
        Throwable problem = super.end();
        try {
            control.close();
        } catch (IOException thrown) {
            return thrown;
        }
        return problem;
    }

    /** Tells when the client has gone on at another broker. */
    private static final class Watch implements ConnectionListener {
        private final CountDownLatch over = new CountDownLatch(1);

        Watch(AMQConnection connection) {
            connection.setConnectionListener(this);
        }

        void await() throws InterruptedException {
            check(over.await(FAILOVER_SECONDS_MAX, TimeUnit.SECONDS), "the client does not go on");
        }

        @Override
        public void bytesSent(long count) {
        }

        @Override
        public void bytesReceived(long count) {
        }

        @Override
        public boolean preFailover(boolean redirect) {
            return true;
        }

        @Override
        public boolean preResubscribe() {
            return true;
        }

        @Override
        public void failoverComplete() {
            over.countDown();
        }
    }

    private AMQConnection connection;
    private Watch watch;

    /** Connects to the first of some ports, and watches how the client goes on. */
    private void watched(String failover, int... ports) throws JMSException {
        connection = connectToOneOf(failover, ports);
        watch = new Watch(connection);
    }

    public void aBrokerThatDoesNotAnswerIsPassedOver() throws Exception {
        int[] ways = control.openWays();
        Session session = session(connectToOneOf(NEXT, control.deadPort(), ways[1]));
        expectEmpty(session, queue(session));
    }

    public void whenAllAreDeadConnectingFails() throws Exception {
        int one = control.deadPort();
        int other = control.deadPort();
        fails(JMSException.class,
            () -> connectToOneOf("roundrobin?cyclecount='1'", one, other));
    }

    public void aConsumerReceivesFromTheNextBroker() throws Exception {
        int[] ways = control.openWays();
        watched(NEXT, ways);
        Session session = session(connection);
        Queue queue = queue(session);
        MessageConsumer consumer = session.createConsumer(queue);
        send(session, queue, "before");
        expect(consumer, "before");
        settle(session);
        control.cut(ways[0]);
        watch.await();
        send(session(), queue, "after");
        expect(consumer, "after");
    }

    public void aProducerSendsToTheNextBroker() throws Exception {
        int[] ways = control.openWays();
        watched(NEXT, ways);
        Session sending = session(connection);
        Queue queue = queue(sending);
        send(sending, queue, "before");
        MessageConsumer consumer = session().createConsumer(queue);
        expect(consumer, "before");
        control.cut(ways[0]);
        watch.await();
        send(sending, queue, "after");
        expect(consumer, "after");
    }

    public void theSameBrokerIsTriedAgain() throws Exception {
        int way = control.openWays()[0];
        watched(SAME, way);
        Session session = session(connection);
        Queue queue = queue(session);
        MessageConsumer consumer = session.createConsumer(queue);
        control.drop(way);
        watch.await();
        send(session, queue, "after");
        expect(consumer, "after");
    }

    public void whatWasNotAcknowledgedIsDeliveredAgain() throws Exception {
        int[] ways = control.openWays();
        watched(NEXT, ways);
        Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
        Queue queue = queue(session);
        send(session(), queue, "one", "two");
        MessageConsumer consumer = session.createConsumer(queue);
        expect(consumer, "one", "two");
        control.cut(ways[0]);
        watch.await();
        expectAgain(consumer, "one", "two");
    }

    public void anOpenTransactionIsRolledBack() throws Exception {
        int[] ways = control.openWays();
        watched(NEXT, ways);
        Session moving = transacted(connection);
        Session session = session();
        Queue from = queue(session, "from");
        Queue to = queue(session, "to");
        send(session, from, "one");
        MessageConsumer consumer = moving.createConsumer(from);
        expect(consumer, "one");
        send(moving, to, "never");
        control.cut(ways[0]);
        watch.await();
        fails(TransactionRolledBackException.class, moving::commit);
        expectAgain(consumer, "one");
        send(moving, to, "once");
        moving.commit();
        expect(session, to, "once");
        consumer.close();
        expectEmpty(session, from);
    }

    public void afterItsBrokerWasKilledTheClientGoesOnAtTheNext() throws Exception {
        int[] brokers = control.startBrokers();
        watched(NEXT, brokers);
        Session session = session(connection);
        Queue queue = queue(session);
        MessageConsumer consumer = session.createConsumer(queue);
        send(session, queue, "before");
        expect(consumer, "before");
        settle(session);
        control.killFirst();
        watch.await();
        send(session, queue, "after");
        expect(consumer, "after");
    }
}
