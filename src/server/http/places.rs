//! Where management over HTTP is served, and whether it may be there.

use std::net::IpAddr;

use crate::security::access::Auth;
use crate::server::options::{Options, resolve};

/// Addresses and a port of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Where to listen; the flag says whether one may be missing on this machine: none may.
    pub addresses: Vec<(IpAddr, bool)>,
    /// The port; 0 is any that is free.
    pub port: u16,
}

/// Where to listen, with TLS and without; both None: nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    pub(super) plain: Option<Place>,
    pub(super) secure: Option<Place>,
}

/// Looks at what was said, before anything is touched.
///
/// # Errors
/// What does not fit, or where the broker may not listen, and what to do.
pub fn places(options: &Options) -> Result<Places, String> {
    let http = &options.http;
    Ok(Places {
        plain: http
            .http_port
            .map(|port| plain(options, port))
            .transpose()?,
        secure: http
            .https_port
            .map(|port| secure(options, port))
            .transpose()?,
    })
}

fn plain(options: &Options, port: u16) -> Result<Place, String> {
    check_managed(options, "--http-port")?;
    if options.security.require_encryption {
        return Err(
            "--http-port: passwords would go over it in the clear, and --require-encryption is \
             there: --https-port PORT serves management over TLS"
                .to_owned(),
        );
    }
    let addresses = addresses("--http-interface", &options.http.http_interface)?;
    if let Some(address) = off_loopback(&addresses) {
        return Err(format!(
            "--http-interface: refusing to listen on {address}: it is not loopback, and --http-port is \
             not encrypted; --https-port PORT with --https-interface {address} is"
        ));
    }
    Ok(Place { addresses, port })
}

fn secure(options: &Options, port: u16) -> Result<Place, String> {
    check_managed(options, "--https-port")?;
    let security = &options.security;
    if security.tls.ssl_cert_file.is_none() {
        return Err(
            "--https-port needs the broker's certificate and its key: --ssl-cert-file FILE \
             --ssl-key-file FILE"
                .to_owned(),
        );
    }
    let addresses = addresses("--https-interface", &options.http.https_interface)?;
    match off_loopback(&addresses) {
        Some(address) if security.access() != Auth::Yes => Err(format!(
            "--https-interface: refusing to listen on {address}: it is not loopback, and users do not \
             have to prove who they are. Make users with ferrymq user add and say --auth yes"
        )),
        _ => Ok(Place { addresses, port }),
    }
}

fn check_managed(options: &Options, option: &str) -> Result<(), String> {
    match options.management.mgmt_enable {
        true => Ok(()),
        false => Err(format!(
            "{option}: management is switched off (--mgmt-enable no)"
        )),
    }
}

/// The first address that others can reach.
fn off_loopback(addresses: &[(IpAddr, bool)]) -> Option<IpAddr> {
    let mut all = addresses.iter().map(|(address, _)| *address);
    all.find(|address| !address.to_canonical().is_loopback())
}

fn addresses(option: &str, interface: &str) -> Result<Vec<(IpAddr, bool)>, String> {
    let found = resolve(option, interface)?;
    Ok(found.into_iter().map(|address| (address, false)).collect())
}
