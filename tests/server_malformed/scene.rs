//! A broker, a client of it that must notice nothing, and what the broker has of memory and files.

use std::io::Write;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};

use ferrymq::wire::AcceptMode;
use tokio::net::TcpSocket;

use crate::server_support::{Broker, Client, PATIENCE, rest_or_reset, until};

/// Octets of memory that all inputs together may leave behind.
const GROWN_BYTES_MAX: u64 = 1 << 20;

/// Inputs between two messages of the witness.
const WITNESSED_EVERY: u64 = 20;

/// Inputs that come first, of other seeds: what a first one of each kind makes the process allocate is there
/// when memory is looked at.
pub const WARMING: std::ops::Range<u64> = 1 << 40..(1 << 40) + 100;

/// Addresses that inputs come from, in turn: of one that fails too often nobody is listened to.
const HOSTS: u64 = 200;

/// Who has a broker.
pub trait Host {
    fn broker(&mut self) -> &mut Broker;
}

impl Host for Broker {
    fn broker(&mut self) -> &mut Broker {
        self
    }
}

/// See the module.
pub struct Scene<H = Broker> {
    pub broker: H,
    witness: Client,
    before: Option<(u64, usize)>,
    inputs: u64,
}

impl<H: Host> Scene<H> {
    pub fn new(broker: H, mut witness: Client) -> Scene<H> {
        witness.attach(0, "witness");
        let declare = ferrymq::wire::QueueDeclare {
            queue: "witness".into(),
            exclusive: true,
            ..Default::default()
        };
        witness.run(0, ferrymq::wire::Command::QueueDeclare(declare));
        witness.subscribe(0, "witness", AcceptMode::NONE);
        Scene {
            broker,
            witness,
            before: None,
            inputs: 0,
        }
    }

    /// The witness's messages move, and the process is up.
    pub fn is_well(&mut self) {
        self.witness.publish(0, "witness", b"well");
        assert_eq!(self.witness.receive(), b"well");
        assert!(self.broker.broker().is_running());
    }

    /// One more input was sent.
    pub fn sent(&mut self) {
        self.inputs += 1;
        if self.inputs.is_multiple_of(WITNESSED_EVERY) {
            self.is_well();
        }
    }

    /// From here on memory and files are counted.
    pub fn begin(&mut self) {
        self.is_well();
        let files = self.settled_files();
        self.before = Some((self.broker.broker().own_bytes(), files));
        self.inputs = 0;
    }

    /// Files that are open once no connection but the witness's is.
    fn settled_files(&mut self) -> usize {
        let mut last = usize::MAX;
        until("connections that ended are gone", || {
            let now = self.broker.broker().open_files();
            let is_settled = now == last;
            last = now;
            is_settled
        });
        last
    }

    /// Nothing is left of the inputs. Gives what they came to, in words.
    pub fn end(mut self, what: &str) -> String {
        self.is_well();
        let (bytes, files) = self.before.expect("it began");
        until("all connections are gone", || {
            self.broker.broker().open_files() <= files
        });
        let grown = self.broker.broker().own_bytes().saturating_sub(bytes);
        let told = format!(
            "{what}: {} inputs, {grown} octets of memory left",
            self.inputs
        );
        assert!(grown < GROWN_BYTES_MAX, "{told}");
        let log = self.broker.broker().log();
        let panicked = log.iter().find(|line| line.contains("panicked"));
        assert_eq!(panicked, None);
        told
    }
}

/// Says something, and no more, from one of many addresses; gives all that comes until the broker closes.
pub fn say(address: SocketAddr, host: u64, said: &[u8]) -> Vec<u8> {
    let mut stream = socket_from(address, host);
    // It may have closed before all was said.
    let _ = stream.write_all(said);
    let _ = stream.shutdown(Shutdown::Write);
    rest_or_reset(&mut stream)
}

fn socket_from(address: SocketAddr, host: u64) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build();
    let connected = runtime.expect("a runtime").block_on(async {
        let socket = TcpSocket::new_v4()?;
        let last = 2 + (host % HOSTS) as u8;
        socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0)))?;
        socket.connect(address).await?.into_std()
    });
    let stream = connected.expect("the broker listens");
    stream.set_nonblocking(false).expect("blocking");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_nodelay(true).expect("no delay");
    stream
}
