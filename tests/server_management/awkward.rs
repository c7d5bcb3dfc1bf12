//! Names that are long, that have in them what separates names, or that are no ASCII.

use ferrymq::wire::Map;

use crate::console::{Console, bind, declare, listen, object_name, opcode, session, value};
use crate::rights::{BROKER, call, fault};
use crate::server_support::Broker;

#[tokio::test]
async fn objects_with_awkward_names_are_found_again_by_the_names_that_lists_give() {
    let broker = Broker::start(&["--auth", "no"]);
    let mut console = Console::open(&broker).await;
    let names = [
        "a,b",
        "a:b:c",
        "größe Ω",
        "x/y.z",
        "org.apache.qpid.broker:queue:q,",
    ];
    for name in names {
        declare(&console.session, name).await;
        bind(&console.session, "amq.topic", name, "key,with:all.ä").await;
    }
    for class in ["queue", "binding", "session", "subscription", "exchange"] {
        for name in console.names(class).await {
            let found = console.named(&name).await;
            assert_eq!(found.len(), 1, "{name}");
            assert_eq!(object_name(&found[0]), name);
        }
    }
    let queues = console.objects("queue").await;
    for name in names {
        assert!(queues.iter().any(|queue| value(queue, "name") == name));
    }
}

#[tokio::test]
async fn a_session_with_a_long_name_shows_it_whole_and_its_subscriptions_are_found() {
    let broker = Broker::start(&["--auth", "no"]);
    let (client, _) = session(&broker).await;
    let long = "n".repeat(300);
    let own = client.session(&long).await.expect("a session");
    let (queue, _heard) = listen(&own, "amq.direct", "k").await;
    let mut console = Console::open(&broker).await;
    let sessions = console.objects("session").await;
    let mut named = sessions
        .iter()
        .filter(|session| object_name(session).ends_with(&long));
    let shown = named.next().expect("the session is listed");
    assert!(value(shown, "fullName").ends_with(&long));
    let subscriptions = console.names("subscription").await;
    let of_it = subscriptions.iter().find(|name| name.contains(&long));
    let of_it = of_it.expect("the subscription is listed");
    assert!(of_it.contains(&format!("org.apache.qpid.broker:queue:{queue},")));
    assert_eq!(console.named(of_it).await.len(), 1);
}

#[tokio::test]
async fn what_no_command_could_name_is_not_made() {
    let broker = Broker::start(&["--auth", "no"]);
    let mut console = Console::open(&broker).await;
    declare(&console.session, "q").await;
    let (longest, longer) = ("n".repeat(255), "n".repeat(256));
    for (kind, before) in [
        ("queue", ""),
        ("exchange", ""),
        ("binding", "amq.direct/q/"),
    ] {
        let pairs = |name: &str| -> Map {
            let name = format!("{before}{name}");
            [("type", kind), ("name", name.as_str())]
                .into_iter()
                .collect()
        };
        let refused = call(&mut console, BROKER, "create", pairs(&longer)).await;
        let (code, text) = fault(&refused);
        assert_eq!(code, 7);
        assert!(text.contains("256 octets; at most 255"), "{text}");
        let made = call(&mut console, BROKER, "create", pairs(&longest)).await;
        assert_eq!(opcode(&made), "_method_response", "{kind}");
    }
}
