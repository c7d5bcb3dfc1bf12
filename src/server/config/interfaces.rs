//! Addresses of the machine's interfaces, which qpidd's `interface` may name.

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{SockaddrIn, SockaddrIn6};

/// The addresses of an interface, in the system's order; none where there is no interface of that name,
/// or the system does not tell. Those of IPv6 that are good for one link alone are left out: they say
/// nothing without the link.
pub fn addresses(name: &str) -> Vec<IpAddr> {
    let Ok(all) = getifaddrs() else {
        return Vec::new();
    };
    let of_name = all.filter(|interface| interface.interface_name == name);
    let addresses = of_name.filter_map(|interface| interface.address);
    let mut found: Vec<IpAddr> = Vec::new();
    for address in addresses {
        let v4 = address.as_sockaddr_in().map(SockaddrIn::ip);
        let v6 = address.as_sockaddr_in6().map(SockaddrIn6::ip);
        let v6 = v6.filter(|address| !address.is_unicast_link_local());
        let address = v4.map(IpAddr::V4).or(v6.map(IpAddr::V6));
        found.extend(address.filter(|address| !found.contains(address)));
    }
    found
}

/// The addresses of IPv4 of all interfaces but loopback, in the system's order, each once: where others
/// may find this machine.
pub fn addresses_for_others() -> Vec<IpAddr> {
    let Ok(all) = getifaddrs() else {
        return Vec::new();
    };
    let mut found: Vec<IpAddr> = Vec::new();
    for address in all.filter_map(|interface| interface.address) {
        let v4 = address.as_sockaddr_in().map(SockaddrIn::ip);
        let address = v4.filter(|address| !address.is_loopback()).map(IpAddr::V4);
        found.extend(address.filter(|address| !found.contains(address)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_loopback_addresses_and_no_interface_none() {
        let found = addresses("lo");
        assert!(
            !found.is_empty() && found.iter().all(IpAddr::is_loopback),
            "{found:?}"
        );
        assert!(addresses("no-such-interface").is_empty());
    }
}
