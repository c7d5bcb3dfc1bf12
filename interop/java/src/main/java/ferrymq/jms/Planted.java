package ferrymq.jms;

import java.util.concurrent.CountDownLatch;

/** Cases that the runner must see through; they need no broker and are run only when asked for. */
final class Planted extends Cases {
    public void fails() {
        throw new AssertionError("this was planted");
    }

    public void hangs() throws InterruptedException {
        new CountDownLatch(1).await();
    }

    public void leaves() {
        System.exit(0);
    }

    public void passes() {
        check(true, "nothing is wrong here");
    }
}
