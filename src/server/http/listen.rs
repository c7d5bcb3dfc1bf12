//! Listening, and one task for each connection.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use super::options::HttpOptions;
use super::{View, limits, router};
use crate::server::listen;
use crate::server::log::notice;

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 64;

/// Sockets that listen.
#[derive(Debug)]
pub struct Listening {
    listeners: Vec<TcpListener>,
    number: u16,
}

/// Connections of all listeners, the oldest first.
type Oldest = Arc<Mutex<VecDeque<AbortHandle>>>;

/// Where the client of a request is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub SocketAddr);

/// Listens, if that was asked for.
///
/// # Errors
/// Why it cannot or may not, and what to do.
pub fn open(options: &HttpOptions, is_managed: bool) -> Result<Option<Listening>, String> {
    let Some(port) = options.http_port else {
        return Ok(None);
    };
    if !is_managed {
        return Err("--http-port: management is switched off (--mgmt-enable no)".to_owned());
    }
    let addresses = addresses(&options.http_interface)?;
    for (address, _) in &addresses {
        if !address.to_canonical().is_loopback() {
            return Err(format!(
                "--http-interface: refusing to listen on {address}: it is not loopback, and management \
                 over HTTP is not encrypted; let a proxy with TLS stand before the loopback"
            ));
        }
    }
    let port =
        listen::listen(&addresses, port, BACKLOG).map_err(|why| format!("--http-port: {why}"))?;
    Ok(Some(Listening {
        listeners: port.listeners,
        number: port.number,
    }))
}

fn addresses(interface: &str) -> Result<Vec<(IpAddr, bool)>, String> {
    use std::net::ToSocketAddrs;
    let bare = interface.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse() {
        return Ok(vec![(address, false)]);
    }
    match (interface, 0).to_socket_addrs() {
        Ok(found) => Ok(found.map(|address| (address.ip(), false)).collect()),
        Err(error) => Err(format!(
            "--http-interface {interface}: neither an address nor the name of a host ({error})"
        )),
    }
}

/// Serves until its task is ended, and with it all connections.
pub async fn run(listening: Listening, view: Arc<View>) {
    let number = listening.number;
    let families = families(&listening.listeners);
    notice!(
        "Network",
        "Management over HTTP on {families} port {number}"
    );
    let router = router::router(view);
    let oldest = Oldest::default();
    let mut accepting = JoinSet::new();
    for listener in listening.listeners {
        accepting.spawn(accept(listener, router.clone(), oldest.clone()));
    }
    while accepting.join_next().await.is_some() {}
}

/// `TCP`, `TCP6` or both, as qpidd has it.
fn families(listeners: &[TcpListener]) -> &'static str {
    let addresses = listeners.iter().filter_map(|one| one.local_addr().ok());
    let (of_6, of_4): (Vec<SocketAddr>, Vec<SocketAddr>) =
        addresses.partition(|address| address.is_ipv6());
    match (of_4.is_empty(), of_6.is_empty()) {
        (false, false) => "TCP/TCP6",
        (true, false) => "TCP6",
        (_, true) => "TCP",
    }
}

/// Makes room for one more connection: the oldest of all goes when there are too many.
fn make_room(oldest: &mut VecDeque<AbortHandle>) {
    oldest.retain(|one| !one.is_finished());
    if oldest.len() >= limits::CONNECTIONS_MAX
        && let Some(dropped) = oldest.pop_front()
    {
        tracing::warn!(target: "Network", "too many connections over HTTP: the oldest is dropped");
        dropped.abort();
    }
}

async fn accept(listener: TcpListener, router: Router, oldest: Oldest) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let mut oldest = oldest.lock();
                    make_room(&mut oldest);
                    oldest.push_back(connections.spawn(connection(stream, peer, router.clone())));
                }
                Err(error) => {
                    tracing::error!(target: "Network", "cannot accept a connection over HTTP: {error}");
                    let pause = crate::server::limits::ACCEPT_PAUSE_MILLISECONDS;
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
            },
        }
    }
}

async fn connection(stream: TcpStream, peer: SocketAddr, router: Router) {
    let serve = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        let mut router = router.clone();
        async move {
            let answer = tower_service::Service::call(&mut router, request).await;
            Ok::<_, Infallible>(answer.unwrap_or_else(|never| match never {}))
        }
    });
    let ended = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits::HEAD_TIME)
        .max_buf_size(limits::HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), serve)
        .await;
    if let Err(error) = ended {
        tracing::debug!(target: "Network", "{peer}: a connection over HTTP ended: {error}");
    }
}
