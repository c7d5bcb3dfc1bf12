//! What management and owners do with links, and what links bind and publish, at random.

use ferrymq::broker::links::{BridgeDefinition, LinkDefinition, LinkState, Report};
use ferrymq::broker::management::Action;
use ferrymq::wire::Value;
use ferrymq::wire::url::Address;

use super::seeded::Seeded;

const LINKS: [&str; 3] = ["l", "m", "n"];
const BRIDGES: [&str; 3] = ["b", "c", "d"];
const TAGS: [&str; 4] = ["x", "y", "x,y", ""];

fn address(seeded: &mut Seeded) -> Address {
    Address {
        protocol: "tcp".into(),
        host: "h".into(),
        port: 1 + seeded.below(3) as u16,
    }
}

fn link(seeded: &mut Seeded) -> Box<LinkDefinition> {
    Box::new(LinkDefinition {
        name: (*seeded.pick(&LINKS)).into(),
        address: address(seeded),
        is_durable: seeded.once_in(2),
        mechanism: "".into(),
        user: "".into(),
        password: "secret".into(),
    })
}

fn bridge(seeded: &mut Seeded) -> Box<BridgeDefinition> {
    Box::new(BridgeDefinition {
        name: (*seeded.pick(&BRIDGES)).into(),
        link: (*seeded.pick(&LINKS)).into(),
        is_durable: seeded.once_in(2),
        source: (*seeded.pick(&["amq.topic", "amq.fanout", "e"])).into(),
        destination: "amq.topic".into(),
        is_dynamic: seeded.once_in(2),
        source_is_local: seeded.once_in(5),
        sync: seeded.below(3) as u16,
        credit: seeded.below(3) as u32,
        ..BridgeDefinition::default()
    })
}

/// What is asked of links. A report may be of one that is gone, or of a former owner.
pub fn action(seeded: &mut Seeded) -> Action {
    match seeded.below(8) {
        0 => Action::Connect(link(seeded)),
        1 | 2 => Action::CreateLink(link(seeded)),
        3 => Action::CreateBridge(bridge(seeded)),
        4 => Action::AddBridge(bridge(seeded)),
        5 => Action::DeleteBridge((*seeded.pick(&BRIDGES)).into()),
        6 if seeded.once_in(3) => Action::DeleteLink((*seeded.pick(&LINKS)).into()),
        _ => Action::ReportLink(Box::new(Report {
            link: (*seeded.pick(&LINKS)).into(),
            number: 1 + seeded.below(40) as u64,
            state: *seeded.pick(&[
                LinkState::Waiting,
                LinkState::Connecting,
                LinkState::Operational,
                LinkState::Failed,
            ]),
            error: "none".into(),
            address: seeded.once_in(2).then(|| address(seeded)),
            connection: "".into(),
        })),
    }
}

/// Arguments of a bind of a link.
pub fn bind(seeded: &mut Seeded) -> Vec<(&'static str, Value)> {
    let mut one_of = |words: &[&str]| Value::Str16((*seeded.pick(words)).into());
    vec![
        (
            "qpid.fed.op",
            one_of(&["B", "B", "B", "U", "U", "R", "H", "?"]),
        ),
        ("qpid.fed.origin", one_of(&TAGS)),
        ("qpid.fed.tags", one_of(&TAGS)),
    ]
}

/// What a message says of itself that has come over a link, or of which somebody says so.
pub fn identity(seeded: &mut Seeded) -> Value {
    let n = seeded.below(6);
    Value::Str16(format!("{:016x}{:016x}{n:08x}", 1, 2).into())
}
