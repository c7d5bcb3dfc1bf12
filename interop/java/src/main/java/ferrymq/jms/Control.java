package ferrymq.jms;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Orders to the runner about brokers and the ways to them: a line each, answered by a line. */
final class Control implements AutoCloseable {
    private static final int ANSWER_MILLIS_MAX = 90_000;

    private final Socket socket;
    private final BufferedReader answers;
    private final PrintWriter orders;

    Control() throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), Setup.controlPort());
        socket.setSoTimeout(ANSWER_MILLIS_MAX);
        answers = new BufferedReader(
            new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
        orders = new PrintWriter(socket.getOutputStream(), true, StandardCharsets.US_ASCII);
    }

    /** Opens two ways to the broker, to different members if there are several. Their ports. */
    int[] openWays() throws IOException {
        return ports(ask("open"));
    }

    /** Cuts what is connected by a way, which takes new connections. */
    void drop(int port) throws IOException {
        ask("drop " + port);
    }

    /** Cuts what is connected by a way and closes it for good. */
    void cut(int port) throws IOException {
        ask("cut " + port);
    }

    /**
     * Starts brokers of the case's own: two members of one group if the group is one of processes,
     * else two that know nothing of each other. Their ports.
     */
    int[] startBrokers() throws IOException {
        return ports(ask("start"));
    }

    /** Kills the first of the brokers that were started. */
    void killFirst() throws IOException {
        ask("kill");
    }

    /** A port at which nobody listens. */
    int deadPort() throws IOException {
        int[] ways = openWays();
        cut(ways[0]);
        return ways[0];
    }

    private String ask(String order) throws IOException {
        orders.println(order);
        String answer = answers.readLine();
        if (answer == null || !answer.startsWith("done")) {
            throw new IOException("the runner answered `" + order + "` with: " + answer);
        }
        return answer;
    }

    private static int[] ports(String answer) {
        String[] words = answer.split(" ");
        return new int[] {Integer.parseInt(words[1]), Integer.parseInt(words[2])};
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
