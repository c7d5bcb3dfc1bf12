//! A client with a session that would go on over a lost connection. A broker that stands alone forgets its
//! sessions when it ends: the client is told so, and goes on by the rules of messages.

use std::net::SocketAddr;
use std::time::Duration;

use ferrymq::client::{Client, Error, Flow, Options, Session, Subscription, unique_name};
use ferrymq::wire::MessageSubscribe;

use crate::durable_support::{
    accept, bodies, declare, durable_queue, got, ids, publish_all, take_all,
};
use crate::relay::Relay;

/// Its queue, and how many messages it has there without accepting them.
const QUEUE: &str = "witness";
const MESSAGES: usize = 5;

/// For how long it looks for its broker, and its session is to be kept.
const PATIENCE: Duration = Duration::from_secs(60);

/// See the module.
pub struct Witness {
    relay: Relay,
    client: Client,
    held: Option<(Session, Subscription)>,
    sent: usize,
    /// How often it has lost its session.
    pub lost: u64,
}

impl Witness {
    /// Connects, by a line that leads to where its broker is.
    pub async fn new(broker: SocketAddr) -> Witness {
        let relay = Relay::start(vec![broker], 0, 0).await;
        let options = Options {
            reconnect_timeout: PATIENCE,
            ..Options::default()
        };
        let client = Client::connect(&relay.url(), &options).await;
        Witness {
            client: client.expect("the broker lets us in"),
            relay,
            held: None,
            sent: 0,
            lost: 0,
        }
    }

    /// Publishes, and holds what it has been given, in a session with a timeout.
    pub async fn begin(&mut self) {
        let name = unique_name(QUEUE);
        let session = self.client.session_with_timeout(&name, PATIENCE).await;
        let session = session.expect("it attaches");
        assert!(session.timeout() > Duration::ZERO, "no timeout was granted");
        declare(&session, durable_queue(QUEUE)).await;
        publish_all(&session, QUEUE, &bodies(self.sent, MESSAGES)).await;
        let subscribe = MessageSubscribe {
            queue: QUEUE.into(),
            ..MessageSubscribe::default()
        };
        let window = Flow::Window(MESSAGES as u32);
        let subscription = session.subscribe(subscribe, window).await;
        let mut subscription = subscription.expect("it subscribes");
        for _ in 0..MESSAGES {
            subscription.next().await.expect("it is there");
        }
        self.held = Some((session, subscription));
    }

    /// The broker was killed and is here again.
    ///
    /// # Errors
    /// The session is said to be there, or what it held is not.
    pub async fn comes_back(&mut self, broker: SocketAddr) -> Result<(), String> {
        self.relay.leads_to(vec![broker]);
        if let Some((session, _)) = self.held.take() {
            let ended = session.sync().await;
            if ended != Err(Error::SessionLost) {
                return Err(format!("a session outlived its only broker: {ended:?}"));
            }
            self.lost += 1;
        }
        let session = self.client.session(&unique_name(QUEUE)).await;
        let session = session.map_err(|error| format!("no other session: {error}"))?;
        let taken = take_all(&session, QUEUE).await;
        let found: Vec<_> = taken.iter().map(got).collect();
        let expected = bodies(self.sent, MESSAGES);
        let (first, rest) = (expected.first(), found.iter());
        let is_old = rest.clone().any(|(body, _)| !expected.contains(body));
        if is_old {
            return Err(format!("of accept: Completed is there again: {found:?}"));
        }
        if !expected.iter().eq(rest.clone().map(|(body, _)| body)) {
            return Err(format!(
                "{QUEUE} does not have all from {first:?}: {found:?}"
            ));
        }
        if rest.clone().any(|(_, is_redelivered)| !is_redelivered) {
            return Err(format!("{QUEUE} has some without the flag: {found:?}"));
        }
        accept(&session, ids(&taken)).await;
        session.detach().await.map_err(|error| error.to_string())?;
        self.sent += MESSAGES;
        Ok(())
    }
}
