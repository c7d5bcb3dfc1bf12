//! The stream under a connection that the client makes itself: TCP, or TLS over it.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::wire::url::{Address, DEFAULT_PROTOCOL, SECURE_PROTOCOL};

use super::options::Options;

/// See the module.
pub(super) enum Stream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

/// Whether the client can reach an address: by TCP always, by TLS where it is told whom to trust.
pub(super) fn is_usable(address: &Address, options: &Options) -> bool {
    address.protocol == DEFAULT_PROTOCOL
        || address.protocol == SECURE_PROTOCOL && options.tls.is_some()
}

/// Reaches an address.
pub(super) async fn connect(address: &Address, options: &Options) -> io::Result<Stream> {
    let stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
    // Batches are made by the task; the kernel shall not wait for more.
    stream.set_nodelay(true)?;
    if address.protocol != SECURE_PROTOCOL {
        return Ok(Stream::Plain(stream));
    }
    let Some(config) = &options.tls else {
        return Err(io::Error::other("no TLS is configured"));
    };
    let host = address.host.to_string();
    let name = ServerName::try_from(host).map_err(io::Error::other)?;
    let connector = TlsConnector::from(Arc::clone(config));
    let secured = connector.connect(name, stream).await?;
    Ok(Stream::Secure(Box::new(secured)))
}

impl Stream {
    /// Our end of it.
    pub(super) fn local_address(&self) -> Option<SocketAddr> {
        let stream = match self {
            Stream::Plain(stream) => stream,
            Stream::Secure(stream) => stream.get_ref().0,
        };
        stream.local_addr().ok()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Secure(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, octets),
            Stream::Secure(stream) => Pin::new(stream).poll_write(context, octets),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Stream::Secure(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Secure(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Secure(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Secure(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
