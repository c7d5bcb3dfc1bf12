//! Over HTTP.

use ferrymq::management::http::operations::{ALL, Deal, Operation};

use crate::scene::{ANN, MAY, MO, NOWHERE, Scene, THERE, nameless};

/// What everybody may have who has logged in: it names nothing that somebody made.
const FREE: [Deal; 4] = [
    Deal::Alive,
    Deal::Ready,
    Deal::Description,
    Deal::ListClasses,
];

/// The path of an operation on what has these names.
fn path(operation: &Operation, names: &Names) -> String {
    let parts = operation.path.split('/').map(|part| match part {
        "{vhost}" => "%2F",
        "{queue}" | "{exchange}" => names.thing,
        "{properties}" => "k",
        "{connection}" => &names.connection,
        "{session}" => &names.session,
        "{node}" => &names.node,
        "{class}" => names.class,
        "{object}" => &names.object,
        "{method}" => "purge",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Names of one of each that there is, or of none.
struct Names {
    thing: &'static str,
    connection: String,
    session: String,
    node: String,
    class: &'static str,
    object: String,
}

impl Names {
    fn of_what_is_there(scene: &Scene) -> Names {
        let first = |path: &str, field: &str| {
            let answer = scene.http(ANN, "GET", path, "");
            let name = answer.json()[0][field].as_str().expect("a name").to_owned();
            name.replace('%', "%25")
                .replace('/', "%2F")
                .replace(' ', "%20")
        };
        Names {
            thing: THERE,
            connection: first("/api/connections", "name"),
            session: first("/api/sessions", "name"),
            node: first("/api/nodes", "name"),
            class: "queue",
            object: format!("org.apache.qpid.broker:queue:{THERE}"),
        }
    }

    fn of_nothing() -> Names {
        Names {
            thing: NOWHERE,
            connection: NOWHERE.to_owned(),
            session: NOWHERE.to_owned(),
            node: NOWHERE.to_owned(),
            class: NOWHERE,
            object: format!("org.apache.qpid.broker:queue:{NOWHERE}"),
        }
    }

    /// Those that an operation's path names, the longest first.
    fn of(&self, operation: &Operation) -> Vec<&str> {
        let mut all = vec![&*self.object, &self.connection, &self.session, &self.node];
        all.push(self.thing);
        if operation.path.contains("{class}") {
            all.push(self.class);
        }
        all
    }
}

/// What a user is told of each of these operations: the same, whether there is something or not.
fn assert_refused<'a>(
    scene: &Scene,
    user: &str,
    operations: impl Iterator<Item = (&'a Operation, &'a str)>,
) -> usize {
    let before = scene.state();
    let cases = [Names::of_what_is_there(scene), Names::of_nothing()];
    let mut count = 0;
    for (operation, body) in operations {
        let mut told = Vec::new();
        for names in &cases {
            let method = format!("{:?}", operation.method).to_uppercase();
            let path = path(operation, names);
            let answer = scene.http(user, &method, &path, body);
            let reason = answer.refused(403);
            told.push(nameless(&reason, &names.of(operation)));
        }
        assert_eq!(told[0], told[1], "{} {}", operation.path, operation.id());
        assert_eq!(scene.state(), before, "{}", operation.path);
        count += 1;
    }
    count
}

#[test]
fn over_http_who_has_no_rights_is_told_the_same_of_every_name() {
    let scene = Scene::new();
    let operations = ALL
        .iter()
        .filter(|operation| !FREE.contains(&operation.deal));
    let count = assert_refused(&scene, MO, operations.map(|operation| (operation, "")));
    assert_eq!(count, ALL.len() - FREE.len());
}

#[test]
fn over_http_who_may_call_methods_may_do_nothing_by_them_that_he_may_not_over_amqp() {
    let scene = Scene::new();
    let body = |deal: Deal| match deal {
        Deal::PutQueue | Deal::PutExchange | Deal::Bind => Some("{}"),
        Deal::MoveMessages => Some(r#"{"destination": "elsewhere"}"#),
        Deal::RerouteMessages => Some(r#"{"exchange": "amq.fanout"}"#),
        Deal::DeleteQueue
        | Deal::PurgeQueue
        | Deal::DeleteExchange
        | Deal::Unbind
        | Deal::CallMethod => Some(""),
        _ => None,
    };
    let operations = ALL
        .iter()
        .filter_map(|operation| Some((operation, body(operation.deal)?)));
    assert_eq!(assert_refused(&scene, MAY, operations), 10);
}

#[test]
fn what_rules_hide_by_its_name_is_in_no_list() {
    let directory = crate::durable_support::Directory::new();
    let file = directory.path().join("acl");
    let rules = "acl deny anonymous@QPID access query name=org.apache.qpid.broker:queue:secret*\n\
                 acl deny anonymous@QPID access queue name=secret*\n\
                 acl allow all all\n";
    std::fs::write(&file, rules).expect("written");
    let managed = crate::http::Managed::with(&["--acl-file", file.to_str().expect("text")]);
    for name in ["open", "secret-1"] {
        let made = managed.put(&format!("/api/queues/%2F/{name}"), &serde_json::json!({}));
        assert_eq!(made.status, 201, "{made:?}");
    }
    for path in [
        "/api/queues",
        "/api/classes/queue/objects",
        "/api/definitions",
        "/metrics/detailed?family=queue_metrics",
    ] {
        let answer = managed.get(path);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body.contains("open"), "{path}: {answer:?}");
        assert!(!answer.body.contains("queue:secret"), "{path}: {answer:?}");
    }
    assert_eq!(managed.get("/api/queues/%2F/open").status, 200);
    let hidden = managed.get("/api/queues/%2F/secret-1").refused(403);
    let absent = managed.get("/api/queues/%2F/secret-2").refused(403);
    assert_eq!(hidden, absent);
    for name in ["secret-1", "secret-2"] {
        let path = format!("/api/queues/%2F/{name}/bindings");
        managed.get(&path).refused(403);
    }
}
