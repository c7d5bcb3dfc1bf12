//! Sessions and their subscriptions.

use super::{OBJECTS_PER_LOOK, Place, World, around, number32, page};
use crate::broker::Core;
use crate::broker::session::{Session, SessionName};
use crate::broker::subscription::Subscription;
use crate::qmf::broker as schema;
use crate::qmf::limits::SESSION_KEY_BYTES_MAX;
use crate::qmf::object::{Object, ObjectName};
use crate::wire::AcquireMode;

/// Octets of the name that fit where a short text has to go; a longer one is told whole apart.
const SHORT_NAME_BYTES: usize = 254;

/// A session's name for management: its user's, a point, and what the client chose.
pub(super) fn shown(name: &SessionName) -> String {
    format!("{}.{}", name.user, String::from_utf8_lossy(&name.name))
}

pub(super) fn list(world: World<'_>, place: &mut Place, found: &mut Vec<Object>) {
    let behind = match place {
        Place::Start => None,
        Place::Session(name) => Some(name.clone()),
        _ => return *place = Place::End,
    };
    let sessions = world.core.sessions_behind(behind.as_ref());
    *place = page(sessions, found, |session| {
        (object(world, session), Place::Session(session.name.clone()))
    });
}

pub(super) fn named(world: World<'_>, key: &str) -> Option<Object> {
    Some(object(world, found(world.core, key)?))
}

/// The session of a name with that of its user. Either may have points in it: all ways to read it are
/// tried.
pub(super) fn found<'a>(core: &'a Core, key: &str) -> Option<&'a Session> {
    // There are as many ways as a peer puts points into it.
    if key.len() > SESSION_KEY_BYTES_MAX {
        return None;
    }
    key.match_indices('.').find_map(|(at, _)| {
        let (user, name) = around(key, at, 1)?;
        let name = SessionName {
            user: user.into(),
            name: name.as_bytes().into(),
        };
        core.session_of_name(&name)
    })
}

fn object(world: World<'_>, session: &Session) -> Object {
    let core = world.core;
    let name = shown(&session.name);
    let connection = core.connection(session.connection);
    let address = connection.map(|connection| connection.address());
    let counters = &session.counters;
    let kept = session.kept.as_ref();
    let credit: u64 = core
        .subscriptions_of(session)
        .map(|subscription| subscription.credit.messages_left())
        .fold(0, u64::saturating_add);
    let values = schema::Session {
        vhost_ref: ObjectName::vhost(),
        full_name: (name.len() > SHORT_NAME_BYTES).then(|| name.as_str().into()),
        name: name.as_str().into(),
        channel_id: session.channel,
        connection_ref: ObjectName::connection(&address.unwrap_or_default()),
        detached_lifespan: kept.map_or(0, |kept| kept.timeout),
        attached: session.deadline().is_none(),
        expire_time: session.deadline().map(|deadline| {
            let left = deadline.0.saturating_sub(core.time().0);
            let at = world
                .setting
                .now
                .saturating_add(left.saturating_mul(1_000_000));
            i64::try_from(at).unwrap_or(i64::MAX)
        }),
        max_client_rate: None,
        unacked_messages: session.unsettled.len(),
        txn_starts: counters.transactions,
        txn_commits: counters.commits,
        txn_rejects: counters.rollbacks,
        txn_count: number32(counters.commits.saturating_add(counters.rollbacks)),
        client_credit: number32(credit),
        frames_outstanding: 0,
    };
    let times = world.setting.since(core, session.created);
    Object::new(values.into_values(), times)
}

/// Subscriptions, those of one session after those of the other.
pub(super) fn list_subscriptions(world: World<'_>, place: &mut Place, found: &mut Vec<Object>) {
    let full = found.len() + OBJECTS_PER_LOOK;
    let (session, mut last) = match place {
        Place::Start => (None, None),
        Place::Subscription(session, name) => (Some(session.clone()), Some(name.clone())),
        Place::Session(session) => (Some(session.clone()), None),
        _ => return *place = Place::End,
    };
    let begun = session.as_ref().filter(|_| last.is_some());
    let begun = begun.and_then(|name| world.core.session_of_name(name));
    let behind = world.core.sessions_behind(session.as_ref());
    // A session without subscriptions costs a look, too.
    for session in begun.into_iter().chain(behind.take(OBJECTS_PER_LOOK)) {
        let last = last.take();
        for subscription in world.core.subscriptions_of(session) {
            let name = &subscription.tag.destination;
            if last.as_ref().is_some_and(|last| name <= last) {
                continue;
            }
            found.push(subscription_object(world, session, subscription));
            if found.len() >= full {
                *place = Place::Subscription(session.name.clone(), name.clone());
                return;
            }
        }
        *place = Place::Session(session.name.clone());
    }
    let reached = match place {
        Place::Session(name) | Place::Subscription(name, _) => Some(&*name),
        _ => None,
    };
    if world.core.sessions_behind(reached).next().is_none() {
        *place = Place::End;
    }
}

fn subscription_object(world: World<'_>, session: &Session, of: &Subscription) -> Object {
    let queue = world.core.queue_at(of.queue).map(|queue| &queue.name);
    let queue = queue.or(of.deleted_queue.as_ref());
    let mode = match of.credit.is_window {
        true => "WINDOW",
        false => "CREDIT",
    };
    let values = schema::Subscription {
        session_ref: ObjectName::session(&shown(&session.name)),
        queue_ref: ObjectName::queue(queue.map_or("", |name| name)),
        name: of.tag.destination.clone(),
        browsing: of.tag.acquire_mode != AcquireMode::PRE_ACQUIRED,
        acknowledged: of.is_explicit,
        exclusive: of.is_exclusive,
        credit_mode: mode.into(),
        arguments: of.arguments.clone(),
        delivered: of.delivered,
    };
    let times = world.setting.since(world.core, session.created);
    Object::new(values.into_values(), times)
}

/// The subscription of a name that is made of those of session and queue, and its own.
pub(super) fn subscription_named(world: World<'_>, key: &str) -> Option<Object> {
    let session_part = ObjectName::session("").as_str().to_owned();
    let queue_part = format!(",{}", ObjectName::queue("").as_str());
    let rest = key.strip_prefix(&session_part)?;
    let session = rest
        .match_indices(&queue_part)
        .find_map(|(at, _)| found(world.core, rest.get(..at)?))?;
    let mut all = world.core.subscriptions_of(session);
    all.find_map(|subscription| {
        let object = subscription_object(world, session, subscription);
        (object.name.key() == key).then_some(object)
    })
}
