"""Orders of cases about brokers and the ways to them, one a line, over a connection.

    open            two ways to the broker, to different members if it has several: done PORT PORT
    drop PORT       cuts what is connected by a way                               : done
    cut PORT        cuts what is connected by a way and closes it                 : done
    start           two brokers of the case's own                                 : done PORT PORT
    kill            kills the first of these                                      : done

What an order made ends with the connection it came by.
"""

import socket
import threading

from . import broker, relay


class Control:
    """Listens on a free port of the loopback interface until `close`.

    `start_broker` starts a broker of the run's group, under a name for its log that is given.
    """

    def __init__(self, running, start_broker):
        self._running = running
        self._start_broker = start_broker
        self._count = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        orders = _Orders(self)
        try:
            with connection, connection.makefile("rw", encoding="ascii") as lines:
                for line in lines:
                    lines.write(orders.obey(line.split()) + "\n")
                    lines.flush()
        except OSError:
            pass
        finally:
            orders.close()

    def ports(self):
        """Of members that are not the same, if there are several."""
        ports = self._running.ports
        first = self._count % len(ports)
        self._count += 1
        return ports[first], ports[(first + 1) % len(ports)]

    def start_broker(self, number):
        self._count += 1
        return self._start_broker("own%d.%d" % (self._count, number))

    def close(self):
        self._listener.close()


class _Orders:
    """What one connection ordered."""

    def __init__(self, control):
        self._control = control
        self._ways = {}
        self._brokers = []

    def obey(self, words):
        """The answer to an order."""
        try:
            order, arguments = words[0], words[1:]
            return {"open": self._open, "drop": self._drop, "cut": self._cut,
                    "start": self._start, "kill": self._kill}[order](*arguments)
        except (broker.BrokerError, IndexError, KeyError, TypeError, ValueError, OSError) as error:
            return "failed: %r" % error

    def _open(self):
        ways = [relay.Relay([port]) for port in self._control.ports()]
        self._ways.update((way.port, way) for way in ways)
        return "done %d %d" % tuple(way.port for way in ways)

    def _drop(self, port):
        self._ways[int(port)].drop()
        return "done"

    def _cut(self, port):
        self._ways.pop(int(port)).close()
        return "done"

    def _start(self):
        self._brokers = [self._control.start_broker(1)]
        if len(self._brokers[0].processes) == 1:
            self._brokers.append(self._control.start_broker(2))
            return "done %d %d" % tuple(own.ports[0] for own in self._brokers)
        return "done %d %d" % tuple(self._brokers[0].ports[:2])

    def _kill(self):
        self._brokers[0].processes[0].kill()
        return "done"

    def close(self):
        for way in self._ways.values():
            way.close()
        for own in self._brokers:
            own.kill()
