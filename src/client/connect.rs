//! Connections.

use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::protocol::{ClientConfig, Connection, Tuned};
use crate::wire::url::{Address, Url};
use crate::wire::{Map, Text};

use super::driver::{Driver, Opened};
use super::error::Error;
use super::limits;
use super::options::{Options, Sasl};
use super::request::Request;
use super::resuming::Dialer;
use super::session::Session;
use super::stream;

/// A connection to a broker. Cheap to clone; clones are the same connection. It is closed when
/// asked to, or when the last clone and the last of its sessions are dropped.
#[derive(Clone)]
pub struct Client {
    requests: mpsc::Sender<Request>,
    closed: watch::Receiver<Option<Error>>,
    opened: Arc<Opened>,
    address: Option<Address>,
    local: Option<SocketAddr>,
}

impl Client {
    /// Connects to the first address of `url` that answers and lets us in.
    ///
    /// # Errors
    /// Those of the last address that was tried.
    pub async fn connect(url: &Url, options: &Options) -> Result<Client, Error> {
        let mut addresses: VecDeque<Address> = url.addresses.iter().cloned().collect();
        let sasl = Sasl::new(options, Some(url));
        let mut last = Error::NoAddress;
        let mut redirections = 0;
        while let Some(address) = addresses.pop_front() {
            if !stream::is_usable(&address, options) {
                continue;
            }
            let opening = Self::connect_to(&address, &url.addresses, sasl.clone(), options);
            let opened = timeout(options.connect_timeout, opening).await;
            last = match opened.unwrap_or(Err(Error::TimedOut)) {
                Ok(client) => return Ok(client),
                Err(Error::Redirected { host }) if redirections < limits::REDIRECTIONS_MAX => {
                    redirections += 1;
                    if let Ok(elsewhere) = Url::parse(&host) {
                        addresses.extend(elsewhere.addresses);
                    }
                    Error::Redirected { host }
                }
                Err(error) => error,
            };
        }
        Err(last)
    }

    async fn connect_to(
        address: &Address,
        addresses: &[Address],
        sasl: Sasl,
        options: &Options,
    ) -> Result<Client, Error> {
        let stream = stream::connect(address, options).await?;
        let local = stream.local_address();
        let dialer = Dialer::new(addresses, address, options);
        let mut client = Self::open(stream, sasl, options, Some(dialer)).await?;
        client.address = Some(address.clone());
        client.local = local;
        Ok(client)
    }

    /// Opens a connection over a stream that is there already (TLS, a pipe of a test).
    ///
    /// # Errors
    /// The broker closed, does not speak 0-10, or is silent for too long.
    pub async fn over(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        options: &Options,
    ) -> Result<Client, Error> {
        let opening = Self::open(stream, Sasl::new(options, None), options, None);
        timeout(options.connect_timeout, opening)
            .await
            .unwrap_or(Err(Error::TimedOut))
    }

    async fn open(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        sasl: Sasl,
        options: &Options,
        dialer: Option<Dialer>,
    ) -> Result<Client, Error> {
        let config = config_of(options);
        let (requests, asked) = mpsc::channel(limits::REQUESTS_MAX);
        let (closed_sender, closed) = watch::channel(None);
        let (opening, opened) = oneshot::channel();
        let connection = |now| Connection::client(config, now);
        let driver = Driver::new(connection, sasl, asked, opening, closed_sender, dialer);
        tokio::spawn(driver.run(stream));
        let opened = match opened.await {
            Ok(opened) => Arc::new(opened?),
            Err(_) => return Err(Error::TimedOut),
        };
        Ok(Client {
            requests,
            closed,
            opened,
            address: None,
            local: None,
        })
    }

    /// Attaches a session. The name must be unique among the sessions of the user.
    ///
    /// # Errors
    /// The broker refused (the name is in use), every channel is taken, or the connection ended.
    pub async fn session(&self, name: &str) -> Result<Session, Error> {
        self.attach(name, 0).await
    }

    /// Attaches a session that outlives its connection: when that is lost, the task connects again, to
    /// this or to another broker of the cluster, for as long as
    /// [`reconnect_timeout`](Options::reconnect_timeout) says, and goes on with the session. What was sent
    /// and is not completed is sent again, and done once; what was on its way here comes. Handles notice
    /// nothing but the time. The broker may grant less than the time asked for: see
    /// [`Session::timeout`].
    ///
    /// # Errors
    /// As for [`session`](Client::session).
    pub async fn session_with_timeout(
        &self,
        name: &str,
        timeout: Duration,
    ) -> Result<Session, Error> {
        let seconds = timeout.as_millis().div_ceil(1000);
        self.attach(name, u32::try_from(seconds).unwrap_or(u32::MAX))
            .await
    }

    async fn attach(&self, name: &str, timeout: u32) -> Result<Session, Error> {
        let (reply, attached) = oneshot::channel();
        let name = name.as_bytes().to_vec();
        let asked = self
            .requests
            .send(Request::Attach {
                name,
                timeout,
                reply,
            })
            .await;
        if asked.is_err() {
            return Err(self.reason());
        }
        let shared = attached.await.map_err(|_| self.reason())??;
        Ok(Session {
            shared,
            requests: self.requests.clone(),
        })
    }

    /// Closes the connection, after everything asked for before, and waits for its end.
    pub async fn close(self) {
        if self.requests.send(Request::Close).await.is_ok() {
            self.closed().await;
            // The task drops its end when the last byte is written.
            self.requests.closed().await;
        }
    }

    /// Waits for the end of the connection, whoever brings it; says why.
    pub async fn closed(&self) -> Error {
        let mut closed = self.closed.clone();
        // An error here means that the task is gone, whose reason is the one seen last.
        let _ = closed.wait_for(Option::is_some).await;
        self.reason()
    }

    /// The connection has ended.
    pub fn is_closed(&self) -> bool {
        self.closed.borrow().is_some()
    }

    fn reason(&self) -> Error {
        self.closed.borrow().clone().unwrap_or(Error::TimedOut)
    }

    /// The broker's `server-properties`.
    pub fn server_properties(&self) -> &Map {
        &self.opened.server_properties
    }

    /// URLs of all brokers of the cluster, as this one told them.
    pub fn known_hosts(&self) -> &[Text] {
        &self.opened.known_hosts
    }

    /// The SASL mechanism that was used.
    pub fn mechanism(&self) -> &str {
        &self.opened.mechanism
    }

    /// The limits agreed on.
    pub fn tuned(&self) -> Tuned {
        self.opened.tuned
    }

    /// The address that answered; `None` over a stream that was there already.
    pub fn address(&self) -> Option<&Address> {
        self.address.as_ref()
    }

    /// Our end of the socket; `None` over a stream that was there already.
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.local
    }
}

/// The protocol's part of the options.
pub(super) fn config_of(options: &Options) -> ClientConfig {
    ClientConfig {
        client_properties: options.client_properties.clone(),
        virtual_host: options.virtual_host.clone(),
        heartbeat: options.heartbeat,
        max_frame_size: options.max_frame_size,
        ..ClientConfig::default()
    }
}

/// A name for a session or a queue that nobody else has.
pub fn unique_name(prefix: &str) -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{prefix}{:016x}{:016x}", random(), random())
}
