//! An upgrade: members of two versions run together at the level that both know, and either way back is
//! open until the level is raised.

use serde_json::json;

use crate::http::Managed;
use crate::members::Members;
use crate::server_support::until;

/// What makes a version of the broker out of this one that knows a level more.
const NEXT: &str = "knows-next-level";

/// The level at which this version runs, and the next.
const LEVELS: [u64; 2] = [3, 4];

/// Ends a member and starts it as another version.
fn restart(members: &Members, all: &mut [Managed], member: usize, is_next: bool) {
    let broker = &mut all[member].broker;
    broker.signal("TERM");
    assert!(broker.wait().success(), "{:#?}", broker.log());
    all[member] = Managed::of(match is_next {
        true => members.start_planted(member, NEXT),
        false => members.start(member),
    });
}

fn level(managed: &Managed) -> (u64, Option<u64>) {
    let shown = managed.shown("/api/level");
    (
        shown["level"].as_u64().expect("a level"),
        shown["possible"].as_u64(),
    )
}

/// Waits until all members say that the broker runs at a level and can be raised to another.
fn settled(all: &[Managed], wanted: (u64, Option<u64>)) {
    for one in all {
        until("the level is known", || level(one) == wanted);
    }
}

#[test]
fn members_of_two_versions_run_together_until_the_level_is_raised() {
    let [now, next] = LEVELS;
    let mut members = Members::new(3, &["--http-port", "0"]);
    let mut all: Vec<Managed> = members.start_all().into_iter().map(Managed::of).collect();
    settled(&all, (now, Some(now)));
    assert_eq!(all[0].put("/api/queues/%2F/q", &json!({})).status, 201);
    for member in [0, 1] {
        restart(&members, &mut all, member, true);
    }
    // The third does not know the next one: nothing is raised.
    let raised = all[0].ask("POST", "/api/level", "", "");
    assert_eq!((raised.status, &raised.json()["level"]), (200, &json!(now)));
    restart(&members, &mut all, 2, true);
    settled(&all, (now, Some(next)));
    // Back again.
    restart(&members, &mut all, 1, false);
    settled(&all, (now, Some(now)));
    restart(&members, &mut all, 1, true);
    settled(&all, (now, Some(next)));
    let raised = all[2].ask("POST", "/api/level", "", "");
    assert_eq!(raised.json(), json!({"level": next, "possible": next}));
    settled(&all, (next, Some(next)));
    for one in &all {
        assert_eq!(one.get("/api/queues/%2F/q").status, 200);
    }
    // The version before is over: with what it has, and with nothing.
    all[1].broker.signal("TERM");
    all[1].broker.wait();
    let mut old = members.launch(1);
    assert!(!old.wait().success());
    let why = "another version of the broker knows";
    let log = old.log().join("\n");
    assert!(
        log.contains(why) || log.contains("a later version"),
        "{log}"
    );
    members.wipe(1);
    let mut old = members.launch(1);
    let why = "its version of the broker knows level 3 and the cluster runs at level 4";
    old.log_line(why);
    for member in [0, 2] {
        all[member].broker.log_line(why);
    }
    old.signal("TERM");
    old.wait();
    all[1] = Managed::of(members.start_planted(1, NEXT));
    settled(&all, (next, Some(next)));
    assert_eq!(all[1].get("/api/queues/%2F/q").status, 200);
}

#[test]
fn a_single_broker_runs_at_the_highest_level_that_it_knows() {
    let managed = Managed::start();
    assert_eq!(level(&managed), (LEVELS[0], Some(LEVELS[0])));
    let raised = managed.ask("POST", "/api/level", "", "");
    assert_eq!(raised.status, 200, "{raised:?}");
}
