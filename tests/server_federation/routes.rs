//! Static routes, and what management says of links.

use ferrymq::client::Message;
use ferrymq::wire::{Map, Value};

use crate::console;
use crate::net::{EXCHANGE, Node, bodies, text, uncalled};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exchange_route_carries_what_its_key_says() {
    let (source, mut here) = (Node::start("source").await, Node::start("here").await);
    here.queue("q", "#").await;
    here.link("l", source.port()).await;
    let properties = [
        ("src", text(EXCHANGE)),
        ("dest", text(EXCHANGE)),
        ("key", text("a.*")),
    ];
    here.bridge("l", &properties).await;
    let mut source = source;
    source.bound(1).await;
    source.publish(EXCHANGE, "b.1", "not wanted").await;
    source.publish(EXCHANGE, "a.1", "wanted").await;
    let mut subscription = here.subscribe("q").await;
    assert_eq!(bodies(&mut subscription, 1).await, ["wanted"]);
    assert_eq!(uncalled(&mut subscription).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn push_route_carries_what_is_published_here_to_the_other() {
    let (there, mut here) = (Node::start("there").await, Node::start("here").await);
    there.queue("q", "#").await;
    here.link("l", there.port()).await;
    let properties = [
        ("src", text(EXCHANGE)),
        ("dest", text(EXCHANGE)),
        ("key", text("k")),
        ("srcIsLocal", Value::Bool(true)),
    ];
    here.bridge("l", &properties).await;
    here.bound(1).await;
    here.publish(EXCHANGE, "k", "pushed").await;
    let mut subscription = there.subscribe("q").await;
    assert_eq!(bodies(&mut subscription, 1).await, ["pushed"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_in_lockstep_are_one_end_of_a_route() {
    let (mut there, mut here) = (Node::lockstep("there").await, Node::lockstep("here").await);
    here.queue("q", "k").await;
    here.follow(&there).await;
    there.bound(1).await;
    there.publish(EXCHANGE, "k", "carried").await;
    let mut subscription = here.subscribe("q").await;
    assert_eq!(bodies(&mut subscription, 1).await, ["carried"]);
    here.delete("q").await;
    there.bound(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn message_that_somebody_publishes_again_as_he_got_it_travels_again() {
    let (mut there, mut here) = (Node::start("there").await, Node::start("here").await);
    here.queue("q", "k").await;
    here.follow(&there).await;
    there.bound(1).await;
    there.publish(EXCHANGE, "k", "again").await;
    let mut subscription = here.subscribe("q").await;
    let first = console::next(&mut subscription).await;
    let mut message = Message::new(first.body_bytes());
    message.delivery = first.delivery_properties().expect("properties");
    message.properties = first.message_properties().expect("properties");
    let headers = message
        .properties
        .application_headers
        .as_mut()
        .expect("headers");
    assert!(headers.get("x-ferrymq.identity").is_some(), "{headers:?}");
    headers.insert("x-qpid.trace", "");
    let published = there.session().publish(EXCHANGE, &message).await;
    published
        .expect("the session is there")
        .await
        .expect("it is taken");
    assert_eq!(bodies(&mut subscription, 1).await, ["again"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn link_says_why_it_is_not_there() {
    let mut here = Node::start("here").await;
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    here.link("l", port).await;
    here.link_is("l", "Waiting").await;
    let error = here.of_link("l", "lastError").await;
    assert!(error.contains("refused"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn link_to_what_speaks_something_else_says_so_and_others_are_none_the_worse() {
    let (mut there, mut here) = (Node::start("there").await, Node::start("here").await);
    let other = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .expect("a port");
    let port = other.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = other.accept().await {
            use tokio::io::AsyncWriteExt;
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").await;
        }
    });
    here.link("odd", port).await;
    here.queue("q", "k").await;
    here.follow(&there).await;
    there.bound(1).await;
    there.publish(EXCHANGE, "k", "carried").await;
    let mut subscription = here.subscribe("q").await;
    assert_eq!(bodies(&mut subscription, 1).await, ["carried"]);
    let waiting = async {
        while here.of_link("odd", "lastError").await.is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    waiting.await;
    assert_eq!(here.of_link("to there", "state").await, "Operational");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bridge_without_its_exchange_says_so_and_begins_when_it_is_there() {
    let (source, mut here) = (Node::start("source").await, Node::start("here").await);
    here.link("l", source.port()).await;
    let properties = [
        ("src", text(EXCHANGE)),
        ("dest", text("late")),
        ("key", text("k")),
    ];
    here.bridge("l", &properties).await;
    while !here
        .of_link("l", "lastError")
        .await
        .contains("no exchange late")
    {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let exchange: Map = [("exchange-type", "fanout")].into_iter().collect();
    let made = here
        .broker_call("create", ("exchange", "late"), exchange)
        .await;
    made.expect("an exchange");
    console::declare(here.session(), "q").await;
    console::bind(here.session(), "late", "q", "").await;
    let mut source = source;
    source.bound(1).await;
    source.publish(EXCHANGE, "k", "at last").await;
    let mut subscription = here.subscribe("q").await;
    assert_eq!(bodies(&mut subscription, 1).await, ["at last"]);
    // It is not said any more either.
    while !here.of_link("l", "lastError").await.is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_that_make_no_sense_are_refused_in_words() {
    let mut here = Node::start("here").await;
    here.link("l", 1).await;
    let plain = [("src", text("a")), ("dest", text("b"))];
    let with = |more: &[(&'static str, Value)]| {
        let mut all = plain.to_vec();
        all.extend_from_slice(more);
        all
    };
    let cases = [
        ("nowhere", with(&[]), "no link nowhere"),
        (
            "l",
            with(&[("durable", Value::Bool(true))]),
            "durable route on a non-durable link",
        ),
        (
            "l",
            with(&[("sync", Value::U32(5)), ("credit", Value::U32(3))]),
            "greater than the credit",
        ),
        (
            "l",
            with(&[
                ("dynamic", Value::Bool(true)),
                ("srcIsLocal", Value::Bool(true)),
            ]),
            "a dynamic route",
        ),
        ("l", vec![("src", text("a"))], "dest is missing"),
    ];
    for (link, properties, why) in cases {
        let refused = here.bridge_called("b", link, &properties).await;
        let text = refused.expect_err(why);
        assert!(text.contains(why), "{text}");
    }
    let host: Map = [("host", "h")].into_iter().collect();
    let refused = here
        .broker_call("create", ("link", "qpid.mine"), host.clone())
        .await;
    assert!(refused.expect_err("reserved").contains("are reserved"));
    let refused = here.broker_call("create", ("link", "l"), host).await;
    assert!(
        refused
            .expect_err("it is there")
            .contains("object already exists: l")
    );
}
