"""A client for cases of tools: what they show is to come from somewhere.

    client send {b} ADDRESS COUNT [KEY=VALUE ...]    sends messages with these properties
    client take {b} ADDRESS COUNT                    takes so many, and accepts them
    client hold {b} ADDRESS COUNT                    takes so many and keeps them until it is ended
    client listen {b} ADDRESS                        prints the opcode and the key of each message
    client reject {b} ADDRESS COUNT                  takes so many and rejects them
    client feed {b} ADDRESS                          sends one after the other until it is ended
    client carry {b} ADDRESS BROKER QUEUE            sends one after the other until one is in a queue there

It is ended by the end of its input: an interrupt may come while the library holds a lock, which
then nobody gives back, and the close of the connection waits for it.
"""

import sys
import threading
import time

from qpid.messaging import REJECTED, Connection, Disposition, Empty, Message

# A message that does not come within this many seconds will not come.
FETCH_SECONDS = 30
# How often what goes on looks whether it is ended.
LOOK_SECONDS = 0.2

ended = threading.Event()


def watch_input():
    """Has `ended` set once the input ends."""
    def read():
        sys.stdin.read()
        ended.set()
    thread = threading.Thread(target=read)
    thread.daemon = True
    thread.start()


def send(session, address, count, *pairs):
    sender = session.sender(address)
    for number in range(int(count)):
        properties = dict(pair.split("=", 1) for pair in pairs)
        sender.send(Message("message %d" % number, properties=properties))


def take(session, address, count):
    receiver = session.receiver(address)
    receiver.capacity = int(count)
    for _ in range(int(count)):
        receiver.fetch(FETCH_SECONDS)
    session.acknowledge()


def reject(session, address, count):
    receiver = session.receiver(address)
    for _ in range(int(count)):
        session.acknowledge(receiver.fetch(FETCH_SECONDS), Disposition(REJECTED))


def hold(session, address, count):
    receiver = session.receiver(address)
    receiver.capacity = int(count)
    for _ in range(int(count)):
        receiver.fetch(FETCH_SECONDS)
    print "holds %s" % count
    while not ended.is_set():
        time.sleep(LOOK_SECONDS)


def listen(session, address):
    receiver = session.receiver(address)
    receiver.capacity = 100
    print "listens"
    while not ended.is_set():
        try:
            message = receiver.fetch(LOOK_SECONDS)
        except Empty:
            continue
        print message.properties.get("qmf.opcode"), message.properties.get("x-amqp-0-10.routing-key")
        session.acknowledge()


def carry(session, address, broker, queue):
    sender = session.sender(address)
    other = Connection(broker)
    other.open()
    receiver = other.session().receiver(queue)
    receiver.capacity = 1
    for number in range(10 * FETCH_SECONDS):
        sender.send(Message("message %d" % number))
        try:
            receiver.fetch(0.1)
        except Empty:
            continue
        print "carried"
        break
    other.close()


def feed(session, address):
    sender = session.sender(address)
    print "feeds"
    while not ended.is_set():
        sender.send(Message("fed"))
        time.sleep(LOOK_SECONDS)


def main():
    what, broker = sys.argv[1:3]
    watch_input()
    connection = Connection.establish(broker)
    try:
        orders = dict(send=send, take=take, hold=hold, listen=listen, reject=reject, feed=feed,
                      carry=carry)
        orders[what](connection.session(), *sys.argv[3:])
    finally:
        connection.close()


if __name__ == "__main__":
    main()
