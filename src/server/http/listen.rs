//! Listening, and one task for each connection.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use super::places::{Place, Places};
use super::room::{Known, Room};
use super::{View, limits, router, secure};
use crate::security::tls::Tls;
use crate::server::driver::Shared;
use crate::server::listen::{self, Port};
use crate::server::log::notice;

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 64;

/// Sockets that listen, with TLS and without.
#[derive(Debug)]
pub struct Listening {
    plain: Option<Port>,
    secure: Option<Port>,
}

/// How the client of a request comes.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    /// Where it is. An address of IPv4 is one, whatever socket it came to.
    pub address: SocketAddr,
    /// Whether it comes over TLS.
    pub is_encrypted: bool,
    /// Whom its certificate names.
    pub identity: Option<Arc<str>>,
    /// Whether it may ask.
    pub known: Known,
}

/// What all connections of a listener share.
#[derive(Clone)]
struct Serving {
    router: Router,
    shared: Arc<Shared>,
    /// TLS, where it goes over it.
    tls: Option<Arc<Tls>>,
    /// Connections of all listeners.
    room: Arc<Mutex<Room<AbortHandle>>>,
}

/// Listens, if that was asked for.
///
/// # Errors
/// Why it cannot, and what to do.
pub fn open(places: &Places) -> Result<Option<Listening>, String> {
    let listen = |place: &Option<Place>, option: &str| match place {
        None => Ok(None),
        Some(place) => listen::listen(&place.addresses, place.port, BACKLOG)
            .map(Some)
            .map_err(|why| format!("{option}: {why}")),
    };
    let plain = listen(&places.plain, "--http-port")?;
    let secure = listen(&places.secure, "--https-port")?;
    let is_asked = plain.is_some() || secure.is_some();
    Ok(is_asked.then_some(Listening { plain, secure }))
}

/// Looks whether somebody else listens at the places, for who will listen there later.
///
/// # Errors
/// Where, and why it could not be listened on.
pub fn look(places: &Places) -> Result<(), String> {
    let all = [
        (&places.plain, "--http-port"),
        (&places.secure, "--https-port"),
    ];
    for (place, option) in all {
        if let Some(place) = place {
            let looked = listen::look(&place.addresses, place.port);
            looked.map_err(|why| format!("{option}: {why}"))?;
        }
    }
    Ok(())
}

/// Serves until its task is ended, and with it all connections.
pub async fn run(listening: Listening, view: Arc<View>) {
    let shared = view.shared.clone();
    let tls = shared.tls.clone();
    let plain = Serving {
        router: router::router(view),
        shared,
        tls: None,
        room: Arc::default(),
    };
    let secure = Serving {
        tls,
        ..plain.clone()
    };
    let mut accepting = JoinSet::new();
    for (scheme, port, serving) in [
        ("HTTP", listening.plain, plain),
        ("HTTPS", listening.secure, secure),
    ] {
        let Some(port) = port else {
            continue;
        };
        let (number, families) = (port.number, families(&port.listeners));
        notice!(
            "Network",
            "Management over {scheme} on {families} port {number}"
        );
        for listener in port.listeners {
            accepting.spawn(accept(listener, serving.clone()));
        }
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

async fn accept(listener: TcpListener, serving: Serving) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let peer = Peer {
                        address: SocketAddr::new(peer.ip().to_canonical(), peer.port()),
                        is_encrypted: false,
                        identity: None,
                        known: Known::default(),
                    };
                    let (host, known) = (peer.address.ip(), peer.known.clone());
                    // Held over both, so that there are never more than there may be.
                    let mut room = serving.room.lock();
                    if let Some(dropped) = room.make(limits::CONNECTIONS_MAX, AbortHandle::is_finished) {
                        tracing::warn!(target: "Network", "too many connections over HTTP: one is dropped");
                        dropped.abort();
                    }
                    let connection = connections.spawn(connection(stream, peer, serving.clone()));
                    room.push(host, known, connection);
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

async fn connection(stream: TcpStream, peer: Peer, serving: Serving) {
    let Serving {
        router,
        shared,
        tls,
        ..
    } = serving;
    let Some(tls) = tls else {
        return serve(stream, peer, router).await;
    };
    if let Some(stream) = secure::shake_hands(stream, peer.address, &tls, &shared).await {
        let peer = Peer {
            is_encrypted: true,
            identity: secure::identity(&stream).map(Arc::from),
            ..peer
        };
        serve(stream, peer, router).await;
    }
}

/// Answers requests until the client ends, or says what is none.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, peer: Peer, router: Router) {
    let address = peer.address;
    let serve = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(peer.clone());
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
        tracing::debug!(target: "Network", "{address}: a connection over HTTP ended: {error}");
    }
}
