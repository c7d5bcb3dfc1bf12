//! Broker URLs.

use ferrymq::wire::limits::{URL_ADDRESSES_MAX, URL_BYTES_MAX};
use ferrymq::wire::url::{Address, Url, UrlError, User};

fn address(protocol: &str, host: &str, port: u16) -> Address {
    Address {
        protocol: protocol.into(),
        host: host.into(),
        port,
    }
}

fn addresses(text: &str) -> Vec<Address> {
    Url::parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .addresses
}

#[test]
fn known_hosts_of_a_cluster_are_read_and_written() {
    let text = "amqp:tcp:10.0.0.1:5672,tcp:192.168.1.1:5672";
    let url = Url::parse(text).unwrap();
    assert_eq!(
        url.addresses,
        [
            address("tcp", "10.0.0.1", 5672),
            address("tcp", "192.168.1.1", 5672)
        ]
    );
    assert_eq!(url.user, None);
    assert_eq!(url.to_string(), text);
}

#[test]
fn what_is_left_out_has_its_default() {
    assert_eq!(addresses("localhost"), [address("tcp", "localhost", 5672)]);
    assert_eq!(
        addresses("amqp:localhost"),
        [address("tcp", "localhost", 5672)]
    );
    assert_eq!(
        addresses("localhost:5673"),
        [address("tcp", "localhost", 5673)]
    );
    assert_eq!(
        addresses("ssl:localhost"),
        [address("ssl", "localhost", 5672)]
    );
    assert_eq!(
        addresses("a:1,b:2"),
        [address("tcp", "a", 1), address("tcp", "b", 2)]
    );
}

#[test]
fn a_known_protocol_is_never_a_host() {
    assert_eq!(addresses("tcp:5672"), [address("tcp", "5672", 5672)]);
    assert_eq!(addresses("rdma:h:7"), [address("rdma", "h", 7)]);
    assert_eq!(addresses("quic:h:7"), [address("quic", "h", 7)]);
    assert_eq!(addresses("tcp"), [address("tcp", "tcp", 5672)]);
}

#[test]
fn ipv6_hosts_stand_in_brackets() {
    let url = Url::parse("amqp:tcp:[fe80::1%eth0]:5672,[::1]").unwrap();
    assert_eq!(
        url.addresses,
        [
            address("tcp", "fe80::1%eth0", 5672),
            address("tcp", "::1", 5672)
        ]
    );
    assert_eq!(
        url.to_string(),
        "amqp:tcp:[fe80::1%eth0]:5672,tcp:[::1]:5672"
    );
}

#[test]
fn a_user_may_stand_in_front_with_a_password() {
    let url = Url::parse("amqp:guest/secret@host:1").unwrap();
    assert_eq!(
        url.user,
        Some(User {
            name: "guest".into(),
            password: Some("secret".into())
        })
    );
    assert_eq!(url.addresses, [address("tcp", "host", 1)]);
    assert_eq!(url.to_string(), "amqp:guest/secret@tcp:host:1");
    let url = Url::parse("guest@host").unwrap();
    assert_eq!(
        url.user,
        Some(User {
            name: "guest".into(),
            password: None
        })
    );
}

#[test]
fn passwords_do_not_show_in_debug_output() {
    let url = Url::parse("guest/secret@host").unwrap();
    assert!(!format!("{url:?}").contains("secret"));
}

#[test]
fn what_is_no_url_is_refused_at_its_offset() {
    for (text, offset) in [
        ("", 0),
        ("amqp:", 5),
        ("amqp:a,", 6),
        ("amqp:a:70000", 6),
        ("a b", 1),
        ("[::1", 4),
        ("tcp:host:1:2", 10),
    ] {
        assert_eq!(Url::parse(text), Err(UrlError { offset }), "{text}");
    }
}

#[test]
fn what_is_no_url_says_so_and_where() {
    let error = "tcp:".parse::<Url>().unwrap_err();
    let text = format!("not a broker URL from offset {}", error.offset);
    assert_eq!(error.to_string(), text);
    assert_eq!("tcp:h:1".parse(), Url::parse("tcp:h:1"));
}

#[test]
fn length_and_count_are_bounded() {
    let many = |count: usize| vec!["a"; count].join(",");
    assert_eq!(addresses(&many(URL_ADDRESSES_MAX)).len(), URL_ADDRESSES_MAX);
    assert!(Url::parse(&many(URL_ADDRESSES_MAX + 1)).is_err());
    assert!(Url::parse(&"a".repeat(URL_BYTES_MAX + 1)).is_err());
}
