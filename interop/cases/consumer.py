"""A stock consumer as a process of its own: `python -m cases.consumer QUEUE [OPTION=VALUE ...]`.

Takes numbered messages and prints a line for each when it has accepted it: its number, and `R` if
it was flagged as redelivered. Options: `capacity` to prefetch, `batch` messages acknowledged at a
time, `tx` 1 to do so in a transaction each, `count` to end after so many, `hold` to acknowledge no
more after so many: then it prints `holding N` with the number of messages that it was given in all,
and waits to be killed. Ends when nothing has come for `idle` seconds.
"""

import sys
import time

from qpid.messaging import Connection, Empty

from cases import broker


def options_of(arguments):
    found = {"capacity": 200, "batch": 100, "tx": 0, "count": 0, "hold": 0, "idle": 60}
    for argument in arguments:
        name, value = argument.split("=")
        found[name] = int(value)
    return found


def say(messages):
    sys.stdout.write("".join("%s%s\n" % (m.content, " R" if m.redelivered else "")
                             for m in messages))
    sys.stdout.flush()


def settle(session, messages, options):
    """Acknowledges and only then says so, so that whoever reads it can count on it."""
    if not messages:
        return
    if options["tx"]:
        session.acknowledge()
        session.commit()
    else:
        session.acknowledge()
    say(messages)
    del messages[:]


def hold(receiver):
    """Waits until all credit is used up, says how many messages have come, and waits for the end.
    Only then is it known which messages the broker has given out."""
    while receiver.received < receiver.impending:
        time.sleep(0.05)
    print "holding %s" % receiver.received
    sys.stdout.flush()
    while True:
        time.sleep(60)


def main():
    queue = sys.argv[1]
    options = options_of(sys.argv[2:])
    connection = Connection.establish(broker.ADDRESS)
    session = connection.session(transactional=bool(options["tx"]))
    receiver = session.receiver(queue)
    receiver.capacity = options["capacity"]
    print "ready"
    sys.stdout.flush()
    taken = 0
    messages = []
    while not options["count"] or taken < options["count"]:
        try:
            messages.append(receiver.fetch(timeout=options["idle"]))
        except Empty:
            break
        taken += 1
        if options["hold"] and taken == options["hold"]:
            settle(session, messages, options)
            # Taken by the application and not acknowledged, beside what is only prefetched.
            for _ in range(options["capacity"] // 4):
                receiver.fetch(timeout=options["idle"])
            hold(receiver)
        if len(messages) >= options["batch"]:
            settle(session, messages, options)
    settle(session, messages, options)
    connection.close()


if __name__ == "__main__":
    main()
