"""Stock clients that log in, over TLS too, and are held to an ACL file: with a broker of each case's own,
since the one under test lets everybody in."""

import os
import shutil
import socket
import subprocess
import tempfile

from qpid.messaging import Connection, Message
from qpid.messaging.exceptions import ConnectionError, MessagingError

from cases.broker import PID, SECONDS_MAX
from cases.running import case, check, check_equal, eventually, run

ACL = """
acl allow ann@QPID all
acl allow all create queue name=${user}-*
acl allow all consume queue name=${user}-*
acl allow all access
acl allow all publish exchange name=amq.default routingkey=${user}-q
acl deny-log all all
"""


def free_port():
    """A port that nobody listens on."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    listener.close()
    return port


class Secured(object):
    """A broker with users, TLS on a port of its own, and an ACL file."""

    def __init__(self):
        self.directory = tempfile.mkdtemp()
        self.port, self.ssl_port = free_port(), free_port()
        self.certificate = os.path.join(self.directory, "broker.pem")

    def __enter__(self):
        # The binary that runs as the broker under test.
        binary = os.readlink("/proc/%d/exe" % PID)
        key = os.path.join(self.directory, "broker.key")
        self.log = open(os.path.join(self.directory, "log"), "w")
        subprocess.check_call(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
             "-keyout", key, "-out", self.certificate], stderr=self.log)
        for user in ("ann", "bob"):
            adding = subprocess.Popen([binary, "user", "add", user, "--data-dir", self.directory],
                                      stdin=subprocess.PIPE)
            adding.communicate("%s's secret\n" % user)
            check_equal(adding.returncode, 0, "the status of adding " + user)
        with open(os.path.join(self.directory, "acl"), "w") as rules:
            rules.write(ACL)
        self.process = subprocess.Popen(
            [binary, "serve", "--auth", "yes", "--interface", "127.0.0.1",
             "--port", str(self.port), "--ssl-port", str(self.ssl_port),
             "--ssl-cert-file", self.certificate, "--ssl-key-file", key,
             "--acl-file", "acl", "--data-dir", self.directory], stderr=self.log)
        eventually(lambda: self.listens(self.ssl_port), "the broker listens")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory)

    def listens(self, port):
        """Whether somebody takes connections there."""
        try:
            socket.create_connection(("127.0.0.1", port), SECONDS_MAX).close()
            return True
        except socket.error:
            return False

    def connect(self, user, password=None, secure=False):
        """An open connection of the stock client."""
        options = {"transport": "ssl", "ssl_trustfile": self.certificate} if secure else {}
        connection = Connection(
            "localhost:%d" % (self.ssl_port if secure else self.port), username=user,
            password=password or "%s's secret" % user, sasl_mechanisms="PLAIN", **options)
        connection.open()
        return connection


# How often a login is tried of which the client does not say why it was refused.
TRIES_MAX = 8


def refusal(broker, user, password):
    """Why a user is not let in, in the client's words. The client says "connection aborted" instead when
    its thread sees the end of the socket before its caller has seen the close ahead of it: its source
    says that this may be. It is asked again then."""
    for _ in range(TRIES_MAX):
        try:
            broker.connect(user, password)
            check(False, "%s got in" % user)
        except ConnectionError as error:
            why = str(error)
        if "connection aborted" not in why:
            break
    return why


def send_and_receive(connection, queue, content):
    """What comes back of a message through a queue."""
    session = connection.session()
    session.sender("%s; {create: always}" % queue).send(Message(content))
    received = session.receiver(queue).fetch(timeout=SECONDS_MAX).content
    session.acknowledge()
    return received


@case
def users_log_in_with_their_passwords_with_and_without_tls():
    with Secured() as broker:
        for secure in (False, True):
            connection = broker.connect("ann", secure=secure)
            content = os.urandom(200000)
            check_equal(send_and_receive(connection, "q", content), content, "the content")
            connection.close()
        for user, password in (("ann", "wrong"), ("nobody", "ann's secret")):
            why = refusal(broker, user, password)
            check("Authentication failed(320)" in why, "it says %s", why)


@case
def users_may_what_the_acl_file_says():
    with Secured() as broker:
        connection = broker.connect("bob")
        check_equal(send_and_receive(connection, "bob-q", "hello"), "hello", "the content")
        connection.close()
        for act in (lambda session: session.sender("ann-q; {create: always}"),
                    lambda session: session.sender("bob-other; {create: always}").send("x"),
                    lambda session: session.sender("amq.topic/x").send("x")):
            connection = broker.connect("bob")
            try:
                act(connection.session())
                check(False, "it was allowed")
            except MessagingError as error:
                check("unauthorized-access" in str(error), "it says %s", error)
            connection.detach()


if __name__ == "__main__":
    run("cases.security_cases")
