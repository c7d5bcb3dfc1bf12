"""Sessions, credit and acknowledgement, with the stock client's low-level interface."""

import threading
import time

from qpid.ops import SessionAttach, SessionAttached, SessionDetached
from qpid.queue import Empty

from cases import broker, peer
from cases.broker import (complete, connect, depth, error_code, grant, ids, is_redelivered,
                          publish)
from cases.peer import Peer
from cases.running import Failed, case, check, check_equal, eventually, run

WAIT = broker.SECONDS_MAX


class Link(object):
    """A connection with one session and a queue of its own."""

    def __init__(self, name, **subscribe):
        self.connection = connect()
        self.session = self.connection.session(name)
        self.queue = name
        self.session.queue_declare(queue=name, exclusive=True, auto_delete=True)
        if subscribe:
            self.session.message_subscribe(queue=name, **subscribe)
            self.incoming = self.session.incoming(subscribe["destination"])

    def publish(self, *bodies):
        for body in bodies:
            publish(self.session, self.queue, body)

    def take(self, count):
        return [self.incoming.get(timeout=WAIT) for _ in range(count)]

    def check_nothing_comes(self, what):
        """What the broker had to say before it answers this has been said when it does."""
        self.session.sync(WAIT)
        try:
            message = self.incoming.get(timeout=0.2)
        except Empty:
            return
        raise Failed("%s: %r came" % (what, message.body))

    def close(self):
        self.session.close(timeout=WAIT)
        self.connection.close(timeout=WAIT)


@case
def stop_ends_the_window_until_new_credit():
    link = Link("stop", destination="in")
    link.session.message_set_flow_mode("in", link.session.flow_mode.window)
    grant(link.session, "in", messages=5)
    link.publish(*["m%d" % n for n in range(10)])
    first = link.take(5)
    link.session.message_stop("in")
    complete(link.session, *first)
    link.check_nothing_comes("completed after the stop")
    grant(link.session, "in", messages=5)
    check_equal([m.body for m in link.take(5)], ["m%d" % n for n in range(5, 10)], "the rest")
    link.close()


@case
def flush_leaves_no_credit():
    link = Link("flush", destination="in")
    link.session.message_set_flow_mode("in", link.session.flow_mode.window)
    grant(link.session, "in", messages=5)
    link.publish("m0", "m1")
    link.take(2)
    link.session.message_flush("in")
    link.publish("m2", "m3", "m4")
    link.check_nothing_comes("credit is gone after the flush")
    grant(link.session, "in", messages=5)
    check_equal([m.body for m in link.take(3)], ["m2", "m3", "m4"], "with new credit")
    link.close()


@case
def rejected_messages_restore_the_window():
    link = Link("reject", destination="in")
    link.session.message_set_flow_mode("in", link.session.flow_mode.window)
    grant(link.session, "in", messages=10)
    link.publish(*["m%d" % n for n in range(10)])
    first = link.take(10)
    link.session.message_reject(ids(*first))
    complete(link.session, *first)
    link.publish(*["n%d" % n for n in range(10)])
    check_equal([m.body for m in link.take(10)], ["n%d" % n for n in range(10)], "the second ten")
    link.close()


@case
def a_window_of_one_moves_on_with_infinite_octets():
    link = Link("window-of-one", destination="in")
    link.session.message_set_flow_mode("in", link.session.flow_mode.window)
    grant(link.session, "in", messages=1)
    link.publish(*["m%d" % n for n in range(100)])
    for number in range(100):
        message = link.take(1)[0]
        check_equal(message.body, "m%d" % number, "the next message")
        link.session.message_accept(ids(message))
        complete(link.session, message)
    link.check_nothing_comes("all have been taken")
    link.close()


def _attach_soon(name):
    """Attaches a session whose connection has just died. The broker may learn of the death a
    moment after the next connection; busy for ever it must not be."""
    client = Peer().open()

    def attaches():
        client.send(SessionAttach(name=name, force=False), 1)
        answer = client.expect(SessionAttached, SessionDetached)
        return isinstance(answer, SessionAttached)
    eventually(attaches, "session %s can be attached" % name)
    return client


@case
def a_session_name_is_free_when_its_connection_failed():
    client = Peer().open().attach("comes-back")
    for _ in range(100):
        client.write(peer.frame(peer.CONTROL, peer.CONTROL_TRACK, 0, "", size=5))
        client.expect_close(501)
        client = _attach_soon("comes-back")
    client.close()


@case
def a_session_name_is_free_when_its_connection_was_reset():
    client = Peer().open().attach("comes-back-too")
    for _ in range(100):
        broker.reset_on_close(client.socket)
        client.socket.close()
        client = _attach_soon("comes-back-too")
    client.close()


@case
def browsing_does_not_mark_as_redelivered():
    link = Link("browsed")
    link.publish("m")
    session = link.session
    for number in range(3):
        tag = "browse-%d" % number
        session.message_subscribe(queue=link.queue, destination=tag, acquire_mode=1)
        grant(session, tag)
        session.incoming(tag).get(timeout=WAIT)
        session.message_cancel(tag)
    session.message_subscribe(queue=link.queue, destination="in")
    incoming = session.incoming("in")
    grant(session, "in", messages=1)
    message = incoming.get(timeout=WAIT)
    check(not is_redelivered(message), "flagged after it was browsed")
    session.message_release(ids(message))
    grant(session, "in", messages=1)
    message = incoming.get(timeout=WAIT)
    check(not is_redelivered(message), "flagged by a release that did not ask for it")
    session.message_release(ids(message), set_redelivered=True)
    grant(session, "in", messages=1)
    message = incoming.get(timeout=WAIT)
    check(is_redelivered(message), "not flagged by a release that asked for it")
    link.close()


class Churner(threading.Thread):
    """Subscribes to a queue with a little credit and cancels again, and accepts what it gets."""

    def __init__(self, queue, bodies):
        threading.Thread.__init__(self)
        self.queue = queue
        self.bodies = bodies
        self.is_ending = False
        self.connection = connect()
        self.session = self.connection.session("churner")
        self.setDaemon(True)

    def run(self):
        count = 0
        while not self.is_ending:
            count += 1
            tag = "churn-%d" % count
            self.session.message_subscribe(queue=self.queue, destination=tag)
            grant(self.session, tag, messages=3)
            time.sleep(0.02)
            self.session.message_cancel(tag)
            self.session.sync(WAIT)
            incoming = self.session.incoming(tag)
            while not incoming.empty():
                message = incoming.get()
                self.bodies.append(message.body)
                self.session.message_accept(ids(message))
        self.connection.close(timeout=WAIT)


class Consumer(threading.Thread):
    """Takes messages of a queue through a window of credit, accepting and completing each."""

    def __init__(self, name, queue, credit, bodies):
        threading.Thread.__init__(self)
        self.bodies = bodies
        self.connection = connect()
        self.session = self.connection.session(name)
        self.session.message_subscribe(queue=queue, destination="in")
        self.session.message_set_flow_mode("in", self.session.flow_mode.window)
        grant(self.session, "in", messages=credit)
        self.session.auto_sync = False
        self.setDaemon(True)

    def run(self):
        incoming = self.session.incoming("in")
        while True:
            message = incoming.get()
            if message.body == "end":
                break
            self.bodies.append(message.body)
            self.session.message_accept(ids(message))
            complete(self.session, message)
        self.session.message_accept(ids(message))
        self.session.sync(WAIT)
        self.connection.close(timeout=WAIT)


@case
def no_message_stays_while_a_consumer_has_credit():
    count = 4000
    connection = connect()
    session = connection.session("keeper")
    session.queue_declare(queue="churned")
    bodies = []
    consumers = [Consumer("slow", "churned", 1, bodies), Consumer("fast", "churned", 100, bodies)]
    churner = Churner("churned", bodies)
    for thread in consumers + [churner]:
        thread.start()
    session.auto_sync = False
    for number in range(count):
        publish(session, "churned", "m%d" % number)
    session.sync(WAIT)
    session.auto_sync = True
    churner.is_ending = True
    churner.join(WAIT)
    eventually(lambda: len(bodies) >= count, "all messages are consumed")
    check_equal(sorted(set(bodies)), sorted("m%d" % n for n in range(count)), "the messages")
    check_equal(len(bodies), count, "messages in all, with those that came twice")
    for consumer in consumers:
        publish(session, "churned", "end")
    for consumer in consumers:
        consumer.join(WAIT)
    check_equal(depth(session, "churned"), 0, "what is left")
    session.queue_delete(queue="churned", if_empty=True)
    connection.close(timeout=WAIT)


def _code(action):
    """The code that a command fails its session with, each in a session of its own."""
    connection = connect()
    try:
        return error_code(action, connection.session("codes"))
    finally:
        connection.close(timeout=WAIT)


@case
def cancel_of_an_unknown_destination_is_not_found():
    check_equal(_code(lambda s: s.message_cancel("nobody")), 404, "code")


@case
def exchange_of_an_unknown_type_is_not_found():
    check_equal(_code(lambda s: s.exchange_declare(exchange="odd", type="nosuch")), 404, "code")


@case
def the_default_exchange_cannot_be_bound_unbound_or_deleted():
    def bind(session):
        session.queue_declare(queue="codes", exclusive=True, auto_delete=True)
        session.exchange_bind(exchange="", queue="codes", binding_key="k")

    def unbind(session):
        session.queue_declare(queue="codes", exclusive=True, auto_delete=True)
        session.exchange_unbind(exchange="", queue="codes", binding_key="k")
    check_equal(_code(bind), 542, "code of exchange.bind")
    check_equal(_code(unbind), 542, "code of exchange.unbind")
    check_equal(_code(lambda s: s.exchange_delete(exchange="")), 542, "code of exchange.delete")


@case
def an_exchange_cannot_be_declared_again_with_another_type():
    def declare(session):
        session.exchange_declare(exchange="typed", type="direct")
        session.exchange_declare(exchange="typed", type="fanout")
    check_equal(_code(declare), 530, "code")
    check_equal(_code(lambda s: s.exchange_declare(exchange="amq.direct", type="fanout")), 530,
                "code for a reserved one")


@case
def a_destination_names_one_subscription():
    def subscribe(session):
        session.queue_declare(queue="codes", exclusive=True, auto_delete=True)
        session.message_subscribe(queue="codes", destination="twice")
        session.message_subscribe(queue="codes", destination="twice")
    check_equal(_code(subscribe), 530, "code")


if __name__ == "__main__":
    run("cases.session_cases")
