"""A client for cases of tools: what they show is to come from somewhere.

    client send {b} ADDRESS COUNT [KEY=VALUE ...]    sends messages with these properties
    client take {b} ADDRESS COUNT                    takes so many, and accepts them
    client hold {b} ADDRESS COUNT                    takes so many and keeps them until interrupted
    client listen {b} ADDRESS                        prints the opcode and the key of each message
    client reject {b} ADDRESS COUNT                  takes so many and rejects them
    client feed {b} ADDRESS                          sends one after the other until interrupted
    client carry {b} ADDRESS BROKER QUEUE            sends one after the other until one is in a queue there
"""

import sys
import time

from qpid.messaging import REJECTED, Connection, Disposition, Empty, Message

# A message that does not come within this many seconds will not come.
FETCH_SECONDS = 30


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
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        pass


def listen(session, address):
    receiver = session.receiver(address)
    receiver.capacity = 100
    print "listens"
    try:
        while True:
            message = receiver.fetch()
            print message.properties.get("qmf.opcode"), message.properties.get("x-amqp-0-10.routing-key")
            session.acknowledge()
    except KeyboardInterrupt:
        pass


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
    try:
        while True:
            sender.send(Message("fed"))
            time.sleep(0.2)
    except KeyboardInterrupt:
        pass


def main():
    what, broker = sys.argv[1:3]
    connection = Connection.establish(broker)
    try:
        orders = dict(send=send, take=take, hold=hold, listen=listen, reject=reject, feed=feed,
                      carry=carry)
        orders[what](connection.session(), *sys.argv[3:])
    finally:
        connection.close()


if __name__ == "__main__":
    main()
