package ferrymq.jms;

/** Where the broker is and how destinations are written: system properties, given by the runner. */
final class Setup {
    /** The two ways in which the client writes destinations. */
    enum Syntax { ADDR, BURL }

    private Setup() {
    }

    /** The port of the loopback interface at which the broker serves clients. */
    static int port() {
        return number("ferrymq.port");
    }

    /** The port at which the runner takes orders about brokers. */
    static int controlPort() {
        return number("ferrymq.control");
    }

    /** How the client reads the names of destinations. */
    static Syntax syntax() {
        return Syntax.valueOf(System.getProperty("qpid.dest_syntax"));
    }

    private static int number(String property) {
        Integer found = Integer.getInteger(property);
        if (found == null) {
            throw new IllegalStateException("the property " + property + " is no number");
        }
        return found;
    }
}
