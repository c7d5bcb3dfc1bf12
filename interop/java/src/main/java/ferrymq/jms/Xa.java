package ferrymq.jms;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import javax.jms.JMSException;
import javax.jms.MessageConsumer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.XASession;
import javax.transaction.xa.XAException;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;

/** Branches of distributed transactions. */
final class Xa extends Cases {
    /** The id of a branch: the case's name and the branch's. */
    private record Branch(String transaction, String branch) implements Xid {
        @Override
        public int getFormatId() {
            return 7;
        }

        @Override
        public byte[] getGlobalTransactionId() {
            return transaction.getBytes(StandardCharsets.US_ASCII);
        }

        @Override
        public byte[] getBranchQualifier() {
            return branch.getBytes(StandardCharsets.US_ASCII);
        }

        boolean is(Xid other) {
            return other.getFormatId() == getFormatId()
                && Arrays.equals(other.getGlobalTransactionId(), getGlobalTransactionId())
                && Arrays.equals(other.getBranchQualifier(), getBranchQualifier());
        }
    }

    private Session session;
    private Queue queue;
    private XASession xa;
    private XAResource resource;

    @Override
    void prepare() throws JMSException {
        session = session();
        queue = queue(session);
        xa = xaSession();
        resource = xa.getXAResource();
    }

    private Branch branch(String name) {
        return new Branch(name(), name);
    }

    private XASession xaSession() throws JMSException {
        return connectXa().createXASession();
    }

    private static void failsWith(int code, Call call) {
        same(code, fails(XAException.class, call).errorCode);
    }

    private static boolean isInDoubt(XAResource resource, Branch branch) throws XAException {
        Xid[] found = resource.recover(XAResource.TMSTARTRSCAN | XAResource.TMENDRSCAN);
        return found != null && Arrays.stream(found).anyMatch(branch::is);
    }

    /** Sends a text in a branch that ends with success. */
    private static void sendIn(XASession session, Branch branch, Queue queue, String text)
            throws JMSException, XAException {
        session.getXAResource().start(branch, XAResource.TMNOFLAGS);
        send(session.getSession(), queue, text);
        session.getXAResource().end(branch, XAResource.TMSUCCESS);
    }

    public void oneCommitSufficesForOnePhase() throws Exception {
        sendIn(xa, branch("one"), queue, "in the branch");
        send(session, queue, "before the commit");
        resource.commit(branch("one"), true);
        expect(session, queue, "before the commit", "in the branch");
    }

    public void whatIsPreparedIsSeenAfterTheCommit() throws Exception {
        sendIn(xa, branch("one"), queue, "in the branch");
        same(XAResource.XA_OK, resource.prepare(branch("one")));
        send(session, queue, "before the commit");
        resource.commit(branch("one"), false);
        expect(session, queue, "before the commit", "in the branch");
    }

    public void whatIsPreparedIsGoneAfterARollback() throws Exception {
        sendIn(xa, branch("one"), queue, "never");
        same(XAResource.XA_OK, resource.prepare(branch("one")));
        resource.rollback(branch("one"));
        expectEmpty(session, queue);
    }

    public void aRollbackNeedsNoPreparing() throws Exception {
        sendIn(xa, branch("one"), queue, "never");
        resource.rollback(branch("one"));
        expectEmpty(session, queue);
    }

    public void whatIsReceivedIsGoneAfterTheCommit() throws Exception {
        send(session, queue, "one");
        resource.start(branch("one"), XAResource.TMNOFLAGS);
        MessageConsumer consumer = xa.getSession().createConsumer(queue);
        expect(consumer, "one");
        resource.end(branch("one"), XAResource.TMSUCCESS);
        same(XAResource.XA_OK, resource.prepare(branch("one")));
        resource.commit(branch("one"), false);
        xa.close();
        expectEmpty(session, queue);
    }

    public void whatIsReceivedComesAgainAfterARollback() throws Exception {
        send(session, queue, "one");
        resource.start(branch("one"), XAResource.TMNOFLAGS);
        MessageConsumer consumer = xa.getSession().createConsumer(queue);
        expect(consumer, "one");
        resource.end(branch("one"), XAResource.TMSUCCESS);
        resource.rollback(branch("one"));
        xa.close();
        expectAgain(session, queue, "one");
    }

    public void aPreparedBranchIsFoundByAnotherConnection() throws Exception {
        sendIn(xa, branch("one"), queue, "one");
        same(XAResource.XA_OK, resource.prepare(branch("one")));
        xa.close();
        XAResource other = xaSession().getXAResource();
        check(isInDoubt(other, branch("one")), "the branch is in doubt");
        other.commit(branch("one"), false);
        check(!isInDoubt(other, branch("one")), "the branch is over");
        expect(session, queue, "one");
    }

    public void aSuspendedBranchIsResumed() throws Exception {
        resource.start(branch("one"), XAResource.TMNOFLAGS);
        send(xa.getSession(), queue, "first");
        resource.end(branch("one"), XAResource.TMSUSPEND);
        sendIn(xa, branch("two"), queue, "of the other branch");
        resource.commit(branch("two"), true);
        resource.start(branch("one"), XAResource.TMRESUME);
        send(xa.getSession(), queue, "second");
        resource.end(branch("one"), XAResource.TMSUCCESS);
        resource.commit(branch("one"), true);
        expect(session, queue, "of the other branch", "first", "second");
    }

    public void anotherSessionJoinsABranch() throws Exception {
        XASession first = xaSession();
        XASession second = xaSession();
        sendIn(first, branch("one"), queue, "of the first");
        second.getXAResource().start(branch("one"), XAResource.TMJOIN);
        send(second.getSession(), queue, "of the second");
        second.getXAResource().end(branch("one"), XAResource.TMSUCCESS);
        same(XAResource.XA_OK, second.getXAResource().prepare(branch("one")));
        second.getXAResource().commit(branch("one"), false);
        expect(session, queue, "of the first", "of the second");
    }

    public void aFailedBranchCanOnlyBeRolledBack() throws Exception {
        resource.start(branch("one"), XAResource.TMNOFLAGS);
        send(xa.getSession(), queue, "never");
        fails(XAException.class, () -> {
            resource.end(branch("one"), XAResource.TMFAIL);
            resource.prepare(branch("one"));
        });
        resource.rollback(branch("one"));
        expectEmpty(session, queue);
    }

    public void anUnknownBranchIsRefused() throws Exception {
        failsWith(XAException.XAER_NOTA, () -> resource.commit(branch("unknown"), true));
        XAResource other = xaSession().getXAResource();
        failsWith(XAException.XAER_NOTA, () -> other.rollback(branch("unknown")));
    }

    public void aBranchIsStartedOnce() throws Exception {
        XAResource first = xaSession().getXAResource();
        XAResource second = xaSession().getXAResource();
        first.start(branch("one"), XAResource.TMNOFLAGS);
        failsWith(XAException.XAER_DUPID,
            () -> second.start(branch("one"), XAResource.TMNOFLAGS));
        first.end(branch("one"), XAResource.TMSUCCESS);
        first.rollback(branch("one"));
    }

    public void theTimeoutIsWhatWasSet() throws Exception {
        resource.start(branch("one"), XAResource.TMNOFLAGS);
        check(resource.setTransactionTimeout(90), "the time is taken");
        same(90, resource.getTransactionTimeout());
        resource.end(branch("one"), XAResource.TMSUCCESS);
        resource.rollback(branch("one"));
    }
}
