//! A fault of ours in one connection's driver: it ends that connection, is seen, and no others
//! notice.

mod server_support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Waker;

use ferrymq::broker::ids::{ConnectionNumber, MemberId};
use ferrymq::broker::{Command, Core, Effect, Options};
use ferrymq::cluster::solo::Solo;
use ferrymq::cluster::{Group, Millis, Outstanding};
use ferrymq::protocol::BrokerConfig;
use ferrymq::security::acl::Acl;
use ferrymq::security::sasl::Sasl;
use ferrymq::server::accept::{self, Ended};
use ferrymq::server::clock::Clock;
use ferrymq::server::driver::Shared;
use ferrymq::server::happenings::Happenings;
use ferrymq::server::registry::Registry;
use ferrymq::server::rights::Rights;
use ferrymq::server::socket::Carriage;
use server_support::{Client, until};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// A group that panics when a session called "bad" is attached.
struct Faulty {
    solo: Solo,
    closed: AtomicU32,
}

impl Group for Faulty {
    fn member(&self) -> MemberId {
        self.solo.member()
    }

    fn open(&self, waker: Waker) -> ConnectionNumber {
        self.solo.open(waker)
    }

    fn propose(&self, now: Millis, connection: ConnectionNumber, commands: &mut Vec<Command>) {
        let is_bad =
            |command: &Command| matches!(command, Command::Attach { name, .. } if name == b"bad");
        assert!(!commands.iter().any(is_bad), "as planned");
        self.solo.propose(now, connection, commands);
    }

    fn look(&self, look: &mut dyn FnMut(&Core)) {
        self.solo.look(look);
    }

    fn take(&self, connection: ConnectionNumber, effects: &mut Vec<Effect>) -> Outstanding {
        self.solo.take(connection, effects)
    }

    fn close(&self, now: Millis, connection: ConnectionNumber) {
        self.closed.fetch_add(1, Ordering::SeqCst);
        self.solo.close(now, connection);
    }

    fn tick(&self, now: Millis) -> Option<Millis> {
        self.solo.tick(now)
    }

    fn set_sequencer_waker(&self, waker: Waker) {
        self.solo.set_sequencer_waker(waker);
    }

    fn fail(&self, why: String) {
        self.solo.fail(why);
    }

    fn finish(&self, now: Millis) -> Result<Option<String>, String> {
        self.solo.finish(now)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_panics_ends_its_connection_and_is_told_of_at_the_end() {
    let clock = Clock::start();
    let group = Arc::new(Faulty {
        solo: Solo::new(MemberId(1), Options::default(), clock.millis()),
        closed: AtomicU32::new(0),
    });
    let shared = Arc::new(Shared {
        happenings: Arc::new(Happenings::new(clock, false)),
        strangers: Arc::default(),
        clock,
        registry: Registry::default(),
        config: BrokerConfig::default(),
        rights: Rights {
            acl: Acl::start(Default::default()).expect("no file"),
            is_authenticating: false,
            default_queue_limit: 0,
        },
        sasl: Arc::new(Sasl {
            realm: "QPID".into(),
            users: None,
            mechanisms: Vec::new(),
            allows_plain_unencrypted: false,
            is_without_dictionaries: false,
        }),
        failures: Default::default(),
        turns: ferrymq::server::turns::Turns::new(1),
        requires_encryption: false,
        tls: None,
        connections_max: 0,
        is_nodelay: true,
        dtx_timeouts: Default::default(),
        known_hosts: Default::default(),
        session_timeout_max: 0,
        is_stamping: AtomicBool::new(false),
    });
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = TcpListener::bind(any).await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let (stop, stopped) = watch::channel(false);
    let accepting = accept::run(
        (listener, Carriage::Plain),
        group.clone(),
        shared.clone(),
        stopped,
    );
    let accepting = tokio::spawn(accepting);
    let faulty = group.clone();
    let clients = tokio::task::spawn_blocking(move || {
        let mut good = Client::open(address);
        good.attach(0, "good");
        let mut bad = Client::open(address);
        bad.protocol().attach(0, b"bad".to_vec(), false);
        bad.closed();
        until("its seat is given up", || {
            faulty.closed.load(Ordering::SeqCst) == 1
        });
        good.declare(0, "undisturbed");
        good
    });
    let good = clients.await.expect("the clients are content");
    assert_eq!(shared.registry.len(), 1, "the good one");
    stop.send(true).expect("it listens");
    let ended = accepting.await.expect("it ends by itself");
    assert_eq!(ended, Ended::AfterPanic);
    assert_eq!(group.closed.load(Ordering::SeqCst), 2);
    drop(good);
}
