//! A connection opened and a session attached, by the state machine of `protocol`; then the
//! socket is handed over.

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::time::timeout;

use crate::protocol::{ClientConfig, Connection, Event, Time};
use crate::wire::url::{Address, Url, User};
use crate::wire::{CloseCode, Text};

use super::error::Error;
use super::limits::OPEN_TIMEOUT;
use super::prepared::CHANNEL;
use super::shared::Shared;

/// A session that is attached, on a socket where nothing waits to be read.
#[derive(Debug)]
pub(super) struct Dialled {
    pub(super) stream: TcpStream,
    pub(super) max_frame_size: u16,
}

/// Opens a connection to the first address that answers and attaches a session of this name.
///
/// # Errors
/// Nobody answers, the broker refuses, or it takes too long.
pub(super) async fn dial(
    shared: &Shared,
    session: &str,
    receive_bytes: Option<u32>,
) -> Result<Dialled, Error> {
    let url = &shared.plan.url;
    // It is never closed.
    let _permit = shared.dials.acquire().await;
    let opening = async {
        let stream = connect(url, receive_bytes).await?;
        open(stream, url.user.as_ref(), session).await
    };
    match timeout(OPEN_TIMEOUT, opening).await {
        Ok(dialled) => dialled,
        Err(_) => Err(Error::Stalled(
            "the broker does not open a connection in time".to_owned(),
        )),
    }
}

async fn connect(url: &Url, receive_bytes: Option<u32>) -> Result<TcpStream, Error> {
    let mut last = Error::Usage("the URL has no address".to_owned());
    for Address { host, port, .. } in &url.addresses {
        let found = lookup_host((host.as_str(), *port)).await;
        for address in found.map_err(|error| unreachable_at(host, *port, &error))? {
            let socket = match address.is_ipv4() {
                true => TcpSocket::new_v4()?,
                false => TcpSocket::new_v6()?,
            };
            if let Some(bytes) = receive_bytes {
                socket.set_recv_buffer_size(bytes)?;
            }
            match socket.connect(address).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Err(error) => last = unreachable_at(host, *port, &error),
            }
        }
    }
    Err(last)
}

fn unreachable_at(host: &str, port: u16, error: &std::io::Error) -> Error {
    Error::Lane(format!("{host}:{port}: {error}"))
}

async fn open(mut stream: TcpStream, user: Option<&User>, name: &str) -> Result<Dialled, Error> {
    let mut connection = Connection::client(ClientConfig::default(), Time(0));
    let mut buffer = BytesMut::new();
    let mut max_frame_size = 0;
    let mut attached = false;
    loop {
        while let Some(event) = connection.poll_event() {
            match event {
                Event::Start { mechanisms, .. } => match sasl(user, &mechanisms) {
                    Some((mechanism, response)) => {
                        connection.start_ok(mechanism, Some(response), "en_US");
                    }
                    None => {
                        connection.close(CloseCode::CONNECTION_FORCED, "no mechanism in common")
                    }
                },
                Event::Secure { .. } => connection.secure_ok(Vec::new()),
                Event::Tuned(tuned) => max_frame_size = tuned.max_frame_size,
                Event::OpenOk { .. } => connection.attach(CHANNEL, name.as_bytes().to_vec(), false),
                Event::Attached { .. } => attached = true,
                Event::Detached { code, .. } => {
                    return Err(Error::Lane(format!("a session was refused: {code}")));
                }
                Event::Redirect { host, .. } => {
                    return Err(Error::Lane(format!("the broker redirects to {host}")));
                }
                Event::Closed { code, text, .. } => {
                    return Err(Error::Lane(format!("connection closed: {code}: {text}")));
                }
                _ => {}
            }
        }
        while !connection.output().is_empty() {
            stream.write_buf(connection.output()).await?;
        }
        // A control cut in two would be lost with the state machine.
        if attached && connection.held_bytes() == 0 {
            return Ok(Dialled {
                stream,
                max_frame_size,
            });
        }
        match stream.read_buf(&mut buffer).await? {
            0 => connection.handle_end_of_input(),
            _ => connection.handle_input(Time(0), &mut buffer),
        }
    }
}

/// PLAIN with a password, ANONYMOUS without: RFC 4616, RFC 4505.
fn sasl(user: Option<&User>, offered: &[Text]) -> Option<(&'static str, Vec<u8>)> {
    let password = user.and_then(|user| user.password.as_ref());
    let name = user.map_or("", |user| user.name.as_str()).as_bytes();
    let (mechanism, response) = match password {
        Some(password) => ("PLAIN", [b"\0", name, b"\0", password.as_bytes()].concat()),
        None => ("ANONYMOUS", name.to_vec()),
    };
    let is_offered = offered.iter().any(|one| one == mechanism);
    is_offered.then_some((mechanism, response))
}
