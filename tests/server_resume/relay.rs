//! A line between a client and brokers that is cut after some octets, the same for the same seed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::wire::url::Url;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Octets after which a line is cut: fewer than opening a connection takes, or many messages.
const OCTETS_MAX: u64 = 30_000;

struct Shared {
    brokers: Mutex<Vec<SocketAddr>>,
    dice: Mutex<Dice>,
    cuts_left: AtomicU32,
    connections: AtomicU32,
    is_hung_up: AtomicBool,
    hung_up: Notify,
}

/// See the module.
pub struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Relay {
    /// Each connection goes to the next of the brokers. The first so many are cut.
    pub async fn start(brokers: Vec<SocketAddr>, seed: u64, cuts: u32) -> Relay {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            brokers: Mutex::new(brokers),
            dice: Mutex::new(Dice::new(seed)),
            cuts_left: AtomicU32::new(cuts),
            connections: AtomicU32::new(0),
            is_hung_up: AtomicBool::new(false),
            hung_up: Notify::new(),
        });
        let relay = Relay {
            address,
            shared: shared.clone(),
        };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, shared.clone()));
            }
        });
        relay
    }

    pub fn url(&self) -> Url {
        Url::parse(&self.address.to_string()).expect("an address is a URL")
    }

    /// How many lines are still to be cut.
    pub fn cuts_left(&self) -> u32 {
        self.shared.cuts_left.load(Ordering::SeqCst)
    }

    /// Cuts all lines, and lets none through until [`Relay::pick_up`].
    pub fn hang_up(&self) {
        self.shared.is_hung_up.store(true, Ordering::SeqCst);
        self.shared.hung_up.notify_waiters();
    }

    /// Where lines go from now on.
    pub fn leads_to(&self, brokers: Vec<SocketAddr>) {
        *self.shared.brokers.lock() = brokers;
    }

    /// How many lines there have been.
    pub fn connections(&self) -> u32 {
        self.shared.connections.load(Ordering::SeqCst)
    }

    pub fn pick_up(&self) {
        self.shared.is_hung_up.store(false, Ordering::SeqCst);
    }
}

async fn carry(mut client: TcpStream, shared: Arc<Shared>) {
    if shared.is_hung_up.load(Ordering::SeqCst) {
        return;
    }
    let hung_up = shared.hung_up.notified();
    let number = shared.connections.fetch_add(1, Ordering::SeqCst) as usize;
    let address = {
        let brokers = shared.brokers.lock();
        brokers.get(number % brokers.len().max(1)).copied()
    };
    let Some(address) = address else {
        return;
    };
    let Ok(mut broker) = TcpStream::connect(address).await else {
        return;
    };
    let most = match shared.cuts_left.load(Ordering::SeqCst) {
        0 => None,
        _ => Some(1 + shared.dice.lock().below(OCTETS_MAX)),
    };
    let is_cut = tokio::select! {
        is_cut = both_ways(&mut client, &mut broker, most) => is_cut,
        () = hung_up => false,
    };
    if is_cut {
        // Several may be on the way to their last octet.
        let less = |left: u32| left.checked_sub(1);
        let _ = shared
            .cuts_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }
}

/// Carries octets until one end is there no more, or so many have been carried. True when it was that.
async fn both_ways(client: &mut TcpStream, broker: &mut TcpStream, most: Option<u64>) -> bool {
    let mut left = most.unwrap_or(u64::MAX);
    let (mut up, mut down) = ([0; 4096], [0; 4096]);
    while left > 0 {
        let (read, to, octets) = tokio::select! {
            read = client.read(&mut up) => (read, &mut *broker, &up),
            read = broker.read(&mut down) => (read, &mut *client, &down),
        };
        let Ok(read @ 1..) = read else {
            return false;
        };
        let carried = read.min(usize::try_from(left).unwrap_or(usize::MAX));
        left -= carried as u64;
        if to.write_all(&octets[..carried]).await.is_err() {
            return false;
        }
    }
    true
}
