//! From where users may connect.

use std::collections::BTreeMap;
use std::net::{IpAddr, ToSocketAddrs};

use super::names::Decision;

/// Addresses that a rule names: all, one host, or a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// Both ends belong to a range; none is all addresses.
    ranges: Option<Vec<(IpAddr, IpAddr)>>,
    text: String,
}

impl Hosts {
    /// `all`, an address, the name of a host, or two of them with a comma between them. Names are
    /// looked up now and not again.
    ///
    /// # Errors
    /// It is none of these, or the ends of a range cannot be compared or are in the wrong order.
    pub fn parse(text: &str) -> Result<Hosts, String> {
        let wrong = || format!("Invalid AclHost : {text}");
        let ranges = match text.split(',').collect::<Vec<_>>()[..] {
            ["all"] => None,
            [host] => {
                let found = addresses(host).ok_or_else(wrong)?;
                Some(found.into_iter().map(|at| (at, at)).collect())
            }
            [low, high] => {
                let low = addresses(low).ok_or_else(wrong)?;
                let high = addresses(high).ok_or_else(wrong)?;
                let (Some(low), Some(high)) = (low.first(), high.first()) else {
                    return Err(wrong());
                };
                let range = (*low, *high);
                if range.0.is_ipv4() != range.1.is_ipv4() || range.0 > range.1 {
                    return Err(wrong());
                }
                Some(vec![range])
            }
            _ => return Err(wrong()),
        };
        Ok(Hosts {
            ranges,
            text: text.to_owned(),
        })
    }

    /// Whether every address is meant.
    pub fn is_all(&self) -> bool {
        self.ranges.is_none()
    }

    /// Whether an address is meant.
    pub fn has(&self, host: IpAddr) -> bool {
        let host = host.to_canonical();
        self.ranges.as_ref().is_none_or(|ranges| {
            ranges
                .iter()
                .any(|(low, high)| low.is_ipv4() == host.is_ipv4() && *low <= host && host <= *high)
        })
    }
}

/// At least one address.
fn addresses(host: &str) -> Option<Vec<IpAddr>> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Some(vec![address.to_canonical()]);
    }
    let looks_like_an_address = bare
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '.' | ':' | '*'));
    if bare.is_empty() || looks_like_an_address {
        return None;
    }
    let found = (bare, 0).to_socket_addrs().ok()?;
    let found: Vec<IpAddr> = found.map(|address| address.ip().to_canonical()).collect();
    (!found.is_empty()).then_some(found)
}

/// A rule about connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    /// What is decided.
    pub decision: Decision,
    /// For whom.
    pub hosts: Hosts,
}

/// All rules about connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRules {
    /// Those for all users: they come first.
    pub global: Vec<HostRule>,
    /// Those for one user.
    pub of_users: BTreeMap<String, Vec<HostRule>>,
    /// What is decided when none fits.
    pub mode: Decision,
}

impl Default for HostRules {
    fn default() -> HostRules {
        HostRules {
            global: Vec::new(),
            of_users: BTreeMap::new(),
            mode: Decision::Allow,
        }
    }
}

impl HostRules {
    /// What is decided of a connection, and why.
    pub fn lookup(&self, user: &str, host: IpAddr) -> (Decision, String) {
        let of_user = self.of_users.get(user).into_iter().flatten();
        let found = self
            .global
            .iter()
            .map(|rule| ("global", rule))
            .chain(of_user.map(|rule| ("user's", rule)))
            .find(|(_, rule)| rule.hosts.has(host));
        let (decision, by) = match found {
            Some((whose, rule)) => (
                rule.decision,
                format!("{whose} rule for host={}", rule.hosts.text),
            ),
            None => (self.mode, "default connection policy".to_owned()),
        };
        let does = match decision.is_allowed() {
            true => "allows",
            false => "denies",
        };
        let why = format!("{by} {does} connection for host {host}, user {user}");
        (decision, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(hosts: &str, host: &str) -> bool {
        let hosts = Hosts::parse(hosts).expect("hosts");
        hosts.has(host.parse().expect("an address"))
    }

    #[test]
    fn hosts_are_all_one_or_a_range_of_one_family() {
        assert!(has("all", "1.1.1.1") && has("all", "::1"));
        assert!(has("1.1.1.1", "1.1.1.1") && !has("1.1.1.1", "1.2.1.1"));
        assert!(has("FF::1", "00FF:0000::1") && has("[::1],::5", "::3"));
        let range = "192.168.0.0,192.168.255.255";
        for inside in ["192.168.0.0", "192.168.255.255", "::ffff:192.168.1.1"] {
            assert!(has(range, inside), "{inside}");
        }
        for outside in ["192.167.255.255", "192.169.0.0", "128.1.1.1", "::1"] {
            assert!(!has(range, outside), "{outside}");
        }
        assert!(has("localhost", "127.0.0.1") && !has("localhost", "127.0.0.2"));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for wrong in [
            "",
            "1.1.1.1,[::1]",
            "[::1],1.1.1.1",
            "1.1.1.1.1",
            "1.1.1.777",
            "1.1.1.*",
            "1.1.1.100,1.1.1.1",
            "[FF::1],[::1]",
            "1.1.1.1,2.2.2.2,3.3.3.3",
        ] {
            assert!(Hosts::parse(wrong).is_err(), "{wrong}");
        }
    }
}
