package ferrymq.jms;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Lists the cases, or runs those that are named, one after the other.
 *
 * <p>A case is a public method of a group's class; its name is {@code group.method}. What is
 * printed is for the runner: {@code == run NAME} before a case, {@code == pass NAME} or
 * {@code == fail NAME} after it, and between them why it failed.
 */
public final class Main {
    private static final List<Class<? extends Cases>> GROUPS = List.of(
        Queues.class, Messages.class, Topics.class, Durable.class, Selectors.class, Temporary.class,
        Transactions.class, Acknowledging.class, Failover.class, Xa.class, Planted.class);

    private Main() {
    }

    /** Runs the cases that are named; with {@code --list} alone, lists all. */
    public static void main(String[] arguments) throws Exception {
        Map<String, Method> cases = cases();
        if (arguments.length == 1 && arguments[0].equals("--list")) {
            cases.keySet().forEach(System.out::println);
            return;
        }
        for (String name : arguments) {
            if (!cases.containsKey(name)) {
                throw new IllegalArgumentException("there is no case " + name);
            }
        }
        for (String name : arguments) {
            System.out.println("== run " + name);
            boolean passed = run(cases.get(name));
            System.out.println((passed ? "== pass " : "== fail ") + name);
        }
        // Threads of the client that a failed case left behind must not keep the process.
        System.exit(0);
    }

    private static Map<String, Method> cases() {
        Map<String, Method> all = new LinkedHashMap<>();
        for (Class<? extends Cases> group : GROUPS) {
            Map<String, Method> sorted = new TreeMap<>();
            for (Method method : group.getDeclaredMethods()) {
                if (Modifier.isPublic(method.getModifiers()) && !method.isSynthetic()) {
                    String prefix = group.getSimpleName().toLowerCase(Locale.ROOT);
                    sorted.put(prefix + "." + method.getName(), method);
                }
            }
            all.putAll(sorted);
        }
        return all;
    }

    /** Whether the case passed, and ended its connections without an error. */
    private static boolean run(Method method) throws ReflectiveOperationException {
        Cases group = (Cases) method.getDeclaringClass().getDeclaredConstructor().newInstance();
        group.begin(method.getName());
        Throwable problem = null;
        try {
            group.prepare();
            method.invoke(group);
        } catch (InvocationTargetException thrown) {
            problem = thrown.getCause();
        } catch (ReflectiveOperationException thrown) {
            throw thrown;
        } catch (Exception thrown) {
            problem = thrown;
        }
        Throwable atEnd = group.end();
        if (problem == null) {
            problem = atEnd;
        }
        if (problem != null) {
            problem.printStackTrace(System.out);
        }
        return problem == null;
    }
}
