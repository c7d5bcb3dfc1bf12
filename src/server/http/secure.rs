//! Connections over TLS.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::security::tls::{self, Tls};
use crate::server::driver::Shared;

/// Shakes hands with a client, who has as long for it as one of AMQP has to get in
/// (`--max-negotiate-time`). None: it came to nothing, and the log says why; a client certificate that is
/// refused counts as a failed login.
pub(super) async fn shake_hands(
    stream: TcpStream,
    peer: SocketAddr,
    tls: &Tls,
    shared: &Shared,
) -> Option<TlsStream<TcpStream>> {
    // What TLS says after the handshake and an answer are small: the second shall not wait until the
    // client has acknowledged the first.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(target: "Network", "http-{peer}: TCP_NODELAY: {error}");
    }
    let patience = Duration::from_millis(shared.config.bounds.negotiate_milliseconds);
    let accepting = TlsAcceptor::from(tls.http_config()).accept(stream);
    match tokio::time::timeout(patience, accepting).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            shared.tell_loss(peer.ip(), &format!("http-{peer}"), &error);
            None
        }
        Err(_) => {
            tracing::debug!(target: "Network", "http-{peer}: TLS has not begun in time");
            None
        }
    }
}

/// Whom the client's certificate names, if it has shown one.
pub(super) fn identity(stream: &TlsStream<TcpStream>) -> Option<String> {
    let (_, session) = stream.get_ref();
    tls::shown_identity(session)
}
