//! A connection's socket, with TLS or without.
//!
//! ```text
//!   plain      octets go as they are
//!   undecided  the first octet says which: 22 is a TLS handshake, else it is AMQP
//!   secure     octets go through TLS, which is driven here, without a task or a copy of its own
//! ```

use std::io::{self, BufRead, ErrorKind, IoSlice, Read, Write};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{BufMut, BytesMut};
use rustls::{ServerConfig, ServerConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use super::limits;
use crate::security::tls;

/// The first octet of a TLS connection: RFC 8446: ContentType.handshake.
const HANDSHAKE: u8 = 22;

/// What goes through a port.
#[derive(Clone, Debug)]
pub enum Carriage {
    /// AMQP as it is.
    Plain,
    /// TLS alone.
    Secure(Arc<tls::Tls>),
    /// Both: the first octet decides.
    Either(Arc<tls::Tls>),
}

/// What octets go over.
pub enum Stream {
    /// A connection of a peer.
    Tcp(TcpStream),
    /// The way of a link of this process to its own broker.
    Pipe(UnixStream),
}

/// Does the same with whichever it is.
macro_rules! either {
    ($stream:expr, $inner:ident => $does:expr) => {
        match $stream {
            Stream::Tcp($inner) => $does,
            Stream::Pipe($inner) => $does,
        }
    };
}

impl Stream {
    /// Small frames are sent at once, or not.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn set_nodelay(&self, is_nodelay: bool) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_nodelay(is_nodelay),
            Stream::Pipe(_) => Ok(()),
        }
    }

    fn try_read_buf(&self, input: &mut BytesMut) -> io::Result<usize> {
        either!(self, stream => stream.try_read_buf(input))
    }

    fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        either!(self, stream => stream.try_write_vectored(slices))
    }
}

/// See the module.
pub struct Socket {
    stream: Stream,
    layer: Layer,
    /// Octets that TLS has read since it last gave any.
    unread_bytes: usize,
}

enum Layer {
    Plain,
    Undecided(Arc<tls::Tls>),
    Secure(Box<ServerConnection>),
}

/// Reads and writes what the stream has and takes.
struct Now<'a>(&'a Stream);

impl Read for Now<'_> {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        either!(self.0, stream => stream.try_read(octets))
    }
}

impl Write for Now<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        either!(self.0, stream => stream.try_write(octets))
    }
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(slices)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failed(error: rustls::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

fn session(config: Arc<ServerConfig>) -> io::Result<Box<ServerConnection>> {
    let mut session = ServerConnection::new(config).map_err(failed)?;
    session.set_buffer_limit(Some(limits::TLS_BUFFER_BYTES_MAX));
    Ok(Box::new(session))
}

/// The bits of the weakest cipher that is negotiated, which is what tools are told.
const STRENGTH: u16 = 128;

impl Socket {
    /// The address that the peer has connected to.
    ///
    /// # Errors
    /// The socket has come to its end.
    pub fn local_addr(&self) -> io::Result<std::net::SocketAddr> {
        match &self.stream {
            Stream::Tcp(stream) => stream.local_addr(),
            Stream::Pipe(_) => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// How many bits keep others from listening; 0 without TLS.
    pub fn strength(&self) -> u16 {
        let suite = match &self.layer {
            Layer::Secure(session) => session.negotiated_cipher_suite(),
            Layer::Plain | Layer::Undecided(_) => return 0,
        };
        let is_wide = suite.is_some_and(|suite| format!("{:?}", suite.suite()).contains("256"));
        match is_wide {
            true => 2 * STRENGTH,
            false => STRENGTH,
        }
    }

    /// A socket of a port that carries this.
    ///
    /// # Errors
    /// TLS cannot begin.
    pub fn new(stream: Stream, carriage: &Carriage) -> io::Result<Socket> {
        let layer = match carriage {
            Carriage::Plain => Layer::Plain,
            Carriage::Either(tls) => Layer::Undecided(tls.clone()),
            Carriage::Secure(tls) => Layer::Secure(session(tls.config())?),
        };
        Ok(Socket {
            stream,
            layer,
            unread_bytes: 0,
        })
    }

    /// Octets that TLS may hold and has not given: all that it has read of a handshake, since it does not
    /// say what it still has of it.
    pub fn unread_bytes(&self) -> usize {
        self.unread_bytes
    }

    /// Whether nobody else can read what goes over it.
    pub fn is_encrypted(&self) -> bool {
        matches!(&self.layer, Layer::Secure(session) if !session.is_handshaking())
    }

    /// Whom the client's certificate names.
    pub fn identity(&self) -> Option<String> {
        let Layer::Secure(session) = &self.layer else {
            return None;
        };
        tls::shown_identity(session)
    }

    /// Reads what there is, once; 0 at the end.
    ///
    /// # Errors
    /// Those of the socket and of TLS; `WouldBlock` when there is nothing.
    pub fn try_read_buf(&mut self, input: &mut BytesMut) -> io::Result<usize> {
        match &mut self.layer {
            Layer::Plain => self.stream.try_read_buf(input),
            Layer::Secure(session) => {
                read_secure(&self.stream, session, input, &mut self.unread_bytes)
            }
            Layer::Undecided(_) => self.decide(input),
        }
    }

    fn decide(&mut self, input: &mut BytesMut) -> io::Result<usize> {
        let before = input.len();
        let octets = self.stream.try_read_buf(input)?;
        let Layer::Undecided(tls) = &self.layer else {
            return Ok(octets);
        };
        if octets == 0 || input.get(before) != Some(&HANDSHAKE) {
            self.layer = Layer::Plain;
            return Ok(octets);
        }
        let mut session = session(tls.config())?;
        let hello = input.split_off(before);
        self.unread_bytes = hello.len();
        let mut left = &hello[..];
        let mut taken = Ok(());
        while taken.is_ok() && !left.is_empty() {
            if session.read_tls(&mut left)? == 0 {
                return Err(ErrorKind::InvalidData.into());
            }
            taken = session.process_new_packets().map(|_| ());
        }
        // What is wrong is told to the peer, as far as it takes it.
        let flushed = flush(&self.stream, &mut session);
        self.layer = Layer::Secure(session);
        taken.map_err(failed)?;
        match flushed {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => self.try_read_buf(input),
        }
    }

    /// Writes what the socket takes.
    ///
    /// # Errors
    /// Those of the socket; `WouldBlock` when it takes nothing.
    pub fn try_write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.layer {
            Layer::Plain | Layer::Undecided(_) => self.stream.try_write_vectored(slices),
            Layer::Secure(session) => {
                // Nothing is put behind octets that the socket does not take.
                flush(&self.stream, session)?;
                let octets = session.writer().write_vectored(slices)?;
                if octets == 0 {
                    return Err(ErrorKind::WouldBlock.into());
                }
                match flush(&self.stream, session) {
                    Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
                    _ => Ok(octets),
                }
            }
        }
    }

    /// Whether TLS has something to say that the socket has not taken.
    pub fn wants_write(&self) -> bool {
        matches!(&self.layer, Layer::Secure(session) if session.wants_write())
    }

    /// Writes what TLS has to say.
    ///
    /// # Errors
    /// As for [`Socket::try_write_vectored`].
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.layer {
            Layer::Plain | Layer::Undecided(_) => Ok(()),
            Layer::Secure(session) => flush(&self.stream, session),
        }
    }

    /// Ready when there may be something to read.
    pub fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(&self.stream, stream => stream.poll_read_ready(context))
    }

    /// Ready when something may be taken.
    pub fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(&self.stream, stream => stream.poll_write_ready(context))
    }

    /// Ends our half, and drops so many octets that the peer still sends, at most.
    pub async fn linger(&mut self, most: usize) {
        if let Layer::Secure(session) = &mut self.layer {
            session.send_close_notify();
            // A peer that does not take it sees the end of the stream.
            let _ = flush(&self.stream, session);
        }
        if either!(&mut self.stream, stream => stream.shutdown().await).is_err() {
            return;
        }
        let mut dropped = 0;
        let mut buffer = [0; 2048];
        while dropped < most {
            match either!(&mut self.stream, stream => stream.read(&mut buffer).await) {
                Ok(0) | Err(_) => return,
                Ok(octets) => dropped += octets,
            }
        }
    }
}

fn flush(stream: &Stream, session: &mut ServerConnection) -> io::Result<()> {
    while session.wants_write() {
        if session.write_tls(&mut Now(stream))? == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}

/// Reads octets out of TLS. All that TLS has of them is taken before more is read for it, so that
/// readiness of the stream is all there is to wait for. `unread` counts what was read in vain.
fn read_secure(
    stream: &Stream,
    session: &mut ServerConnection,
    input: &mut BytesMut,
    unread: &mut usize,
) -> io::Result<usize> {
    let before = input.len();
    for _ in 0..limits::TLS_READS_PER_TURN {
        let is_ended = take_plain(session, input)?;
        if input.len() > before {
            *unread = 0;
            return Ok(input.len() - before);
        }
        if is_ended {
            return Ok(0);
        }
        match session.read_tls(&mut Now(stream))? {
            0 => return Ok(0),
            octets => *unread += octets,
        }
        let taken = session.process_new_packets().map(|_| ());
        let flushed = flush(stream, session);
        taken.map_err(failed)?;
        if let Err(error) = flushed
            && error.kind() != ErrorKind::WouldBlock
        {
            return Err(error);
        }
    }
    // The stream stays ready: others have their turn, and this is called again.
    Err(ErrorKind::WouldBlock.into())
}

/// Takes all octets that TLS has; true at their end. They are of one record mostly, and of no more than
/// was read at once.
fn take_plain(session: &mut ServerConnection, input: &mut BytesMut) -> io::Result<bool> {
    let mut reader = session.reader();
    loop {
        match reader.fill_buf() {
            Ok([]) => return Ok(true),
            Ok(piece) => {
                let octets = piece.len();
                input.put_slice(piece);
                reader.consume(octets);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            // Without a word of TLS: what came is whole all the same, since AMQP frames it.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(true),
            Err(error) => return Err(error),
        }
    }
}
