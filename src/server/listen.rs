//! Sockets to listen on: the same port on every interface.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

use super::limits;

/// The listeners of one port.
#[derive(Debug)]
pub struct Port {
    /// The number, also when any was asked for.
    pub number: u16,
    /// One for each interface.
    pub listeners: Vec<TcpListener>,
}

/// Listens on `port` of all `addresses`; port 0 is any that is free on all of them. An address with
/// a true flag may be missing on this machine.
///
/// # Errors
/// What could not be bound, and why.
pub fn listen(addresses: &[(IpAddr, bool)], port: u16, backlog: u32) -> Result<Port, String> {
    let attempts = match port {
        0 => limits::PORT_ATTEMPTS,
        _ => 1,
    };
    let mut failed = String::from("no interface to listen on");
    for _ in 0..attempts {
        match listen_once(addresses, port, backlog) {
            Ok(found) => return Ok(found),
            Err(Failure { text, is_taken }) => {
                failed = text;
                if !is_taken {
                    break;
                }
            }
        }
    }
    Err(failed)
}

struct Failure {
    text: String,
    /// Another port may be free.
    is_taken: bool,
}

fn listen_once(addresses: &[(IpAddr, bool)], port: u16, backlog: u32) -> Result<Port, Failure> {
    let mut found = Port {
        number: port,
        listeners: Vec::new(),
    };
    // A socket of :: may take IPv4 as well, and then leaves nothing to bind to 0.0.0.0: which way
    // it is, is the system's setting. So :: comes first, and 0.0.0.0 may be taken already.
    let mut ordered = addresses.to_vec();
    ordered.sort_by_key(|(address, _)| *address != IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    for (address, is_optional) in ordered {
        let at = SocketAddr::new(address, found.number);
        match bind(at, backlog) {
            Ok(listener) => {
                if let Ok(local) = listener.local_addr() {
                    found.number = local.port();
                }
                found.listeners.push(listener);
            }
            Err(error) => {
                let is_taken = error.kind() == ErrorKind::AddrInUse;
                let is_covered = is_taken
                    && address == IpAddr::V4(Ipv4Addr::UNSPECIFIED)
                    && found.listeners.iter().any(is_of_all_v6);
                let is_spared = is_covered || is_optional && is_missing(&error);
                if !is_spared {
                    let text = format!("cannot listen on {at}: {error}");
                    return Err(Failure { text, is_taken });
                }
            }
        }
    }
    match found.listeners.is_empty() {
        true => Err(Failure {
            text: "no interface to listen on".to_owned(),
            is_taken: false,
        }),
        false => Ok(found),
    }
}

fn is_of_all_v6(listener: &TcpListener) -> bool {
    let unspecified = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    listener
        .local_addr()
        .is_ok_and(|local| local.ip() == unspecified)
}

/// Whether the machine has no such address, or no such family of them.
fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::AddrNotAvailable | ErrorKind::Unsupported
    ) || error.raw_os_error() == Some(ADDRESS_FAMILY_NOT_SUPPORTED)
}

/// EAFNOSUPPORT on Linux, which has no kind of its own.
const ADDRESS_FAMILY_NOT_SUPPORTED: i32 = 97;

/// Looks whether somebody else listens on `port` of one of `addresses`, for who will listen there later.
///
/// # Errors
/// Where, and why it could not be listened on.
pub fn look(addresses: &[(IpAddr, bool)], port: u16) -> Result<(), String> {
    for (address, is_optional) in addresses {
        let at = SocketAddr::new(*address, port);
        match bound(at) {
            Err(error) if !(*is_optional && is_missing(&error)) => {
                return Err(format!("cannot listen on {at}: {error}"));
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

fn bind(at: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    bound(at)?.listen(backlog)
}

fn bound(at: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match at {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Connections of a broker that has just stopped are no reason not to start.
    socket.set_reuseaddr(true)?;
    socket.bind(at)?;
    Ok(socket)
}
