//! What is told unasked: that the broker is there, and which objects have changed.
//!
//! In a cluster one agent tells, and the others look at the same objects and tell nothing: what goes with
//! the member that told, its clients' connections first of all, nobody else would know to be gone.
//!
//! ```text
//!   first of the agents      tells                                  ends with its member
//!   another        looks on, keeps what is gone of late   | tells that again, and all objects anew
//!   first again              tells for two more rounds  | looks on
//! ```

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use tokio::time::Instant;

use super::listing::Walk;
use super::{Seated, clock, limits};
use crate::broker::Core;
use crate::broker::ids::QueueRef;
use crate::broker::management::{AgentCommand, Face, WallTime};
use crate::qmf::schema::Class;
use crate::qmf::{Object, ObjectName, PACKAGES};
use crate::wire::Text;

/// How objects were when they were told last, and how far a round is that looks at all of them.
#[derive(Debug, Default)]
pub struct Telling {
    told: HashMap<ObjectName, Known>,
    round: u64,
    /// The round that goes on.
    walk: Option<Walk>,
    /// Classes of which somebody hears in this round. Objects of others are neither made nor known.
    heard: Vec<&'static Class>,
    /// Who heard when the round before began, by which key. Who is new is told of all objects, at
    /// whichever member it came to listen.
    listeners: BTreeSet<(QueueRef, Text)>,
    /// Rounds that it still tells; 0 while another agent does.
    rounds_told: u8,
    /// Objects that were gone in the last two rounds in which another agent told.
    ceased: [Vec<Object>; 2],
}

/// Rounds that an agent tells when another has come before it: that one may have its first round, in which
/// it takes note of what is there, when these are over.
const LAST_ROUNDS: u8 = 2;

#[derive(Debug)]
struct Known {
    /// Of what was told; None if it is to be told again.
    digest: Option<u64>,
    round: u64,
    /// As it was told last: so it is told when it is gone.
    object: Object,
}

fn digest(object: &Object) -> u64 {
    let mut hasher = DefaultHasher::new();
    object.values.hash(&mut hasher);
    hasher.finish()
}

impl Telling {
    /// Begins to look at all objects of these classes, unless it does so already.
    fn begin(&mut self, heard: Vec<&'static Class>) {
        if self.walk.is_some() {
            return;
        }
        self.round += 1;
        self.told.retain(|_, known| {
            let class = known.object.class();
            heard.iter().any(|heard| std::ptr::eq(*heard, class))
        });
        if self.told.is_empty() {
            self.told = HashMap::new();
        }
        if !heard.is_empty() {
            self.walk = Some(Walk::through(heard.iter().copied()).telling());
        }
        self.heard = heard;
    }

    /// Whether it tells in this round.
    fn tells(&self) -> bool {
        self.rounds_told > 0
    }

    /// A round is due, in which it tells if it is the first of the agents. Gives what is to be told of that
    /// may not have been: the agent that told before may have ended in the middle of it.
    fn take_turn(&mut self, is_first: bool) -> Vec<Object> {
        if !is_first {
            self.rounds_told = self.rounds_told.saturating_sub(1);
            return Vec::new();
        }
        if std::mem::replace(&mut self.rounds_told, LAST_ROUNDS + 1) > 0 {
            return Vec::new();
        }
        self.tell_all();
        let [before, last] = std::mem::take(&mut self.ceased);
        before.into_iter().chain(last).collect()
    }

    /// These are gone, and another agent tells of it.
    fn keep_ceased(&mut self, gone: Vec<Object>) {
        let [before, last] = &mut self.ceased;
        *before = std::mem::replace(last, gone);
    }

    /// Whether a round goes on.
    pub fn is_going_on(&self) -> bool {
        self.walk.is_some()
    }

    /// Tells of all objects when it looks at them next: somebody listens who has heard of none.
    fn tell_all(&mut self) {
        for known in self.told.values_mut() {
            known.digest = None;
        }
    }

    /// Those of these that were not told as they are, with their digests.
    fn changed(&mut self, found: Vec<Object>) -> (Vec<Object>, Vec<u64>) {
        let round = self.round;
        let is_news = |object: &Object| {
            let now = digest(object);
            let known = self.told.get_mut(&object.name);
            let is_known = known.is_some_and(|known| {
                known.round = round;
                known.digest == Some(now)
            });
            (!is_known).then_some(now)
        };
        let news = found.iter().map(is_news).collect::<Vec<_>>();
        let news = found.into_iter().zip(news);
        news.filter_map(|(object, digest)| Some((object, digest?)))
            .unzip()
    }

    /// These were told.
    fn keep(&mut self, objects: Vec<Object>, digests: Vec<u64>) {
        let round = self.round;
        for (object, digest) in objects.into_iter().zip(digests) {
            let is_known = self.told.contains_key(&object.name);
            if is_known || self.told.len() < limits::TOLD_OBJECTS_MAX {
                let known = Known {
                    digest: Some(digest),
                    round,
                    object,
                };
                self.told.insert(known.object.name.clone(), known);
            }
        }
    }

    /// Those that were not seen since it began: they are gone.
    fn gone(&mut self, now: u64) -> Vec<Object> {
        let round = self.round;
        let gone = self.told.extract_if(|_, known| known.round != round);
        let mut gone: Vec<Object> = gone
            .map(|(_, known)| {
                let mut object = known.object;
                object.times.deleted = now;
                object
            })
            .collect();
        // Those of a class beside each other: they go into one message.
        gone.sort_by(|a, b| a.name.cmp(&b.name));
        gone
    }
}

impl Seated<'_> {
    /// The time has come to tell. In a cluster one agent does.
    pub(super) fn tell_unasked(&mut self) {
        let Some(interval) = self.agent.as_ref().map(|agent| agent.told().interval) else {
            self.sleep_for(1);
            return;
        };
        self.sleep_for(interval);
        let key = self.key();
        let (mut is_first, mut is_heard) = (false, false);
        self.group.look(&mut |core: &Core| {
            is_first = core.first_agent() == Some(key);
            is_heard = core.has_management_listeners();
        });
        if !is_heard {
            self.telling = Telling::default();
            return;
        }
        if is_first {
            let now = clock::wall_nanoseconds();
            let wall = WallTime(clock::wall_milliseconds());
            self.commands.push_back(AgentCommand::Now(wall));
            let heartbeat = self.agent.as_mut().map(|agent| agent.heartbeat(now));
            self.publish(heartbeat.unwrap_or_default());
        }
        if self.start.setting.publishes {
            let ceased = self.telling.take_turn(is_first);
            self.tell_data(&ceased);
            self.begin_telling();
        }
    }

    fn begin_telling(&mut self) {
        let Some(agent) = &mut self.agent else {
            return;
        };
        let classes = PACKAGES.iter().flat_map(|package| package.classes.iter());
        let keys: Vec<_> = classes
            .map(|class| (*class, agent.data_keys(class)))
            .collect();
        let mut heard = Vec::new();
        let mut listeners = BTreeSet::new();
        self.group.look(&mut |core: &Core| {
            let is_heard = |keys: &[(Face, String)]| {
                let mut keys = keys.iter();
                keys.any(|(face, key)| core.may_be_heard(*face, key))
            };
            let of_these = keys.iter().filter(|(_, keys)| is_heard(keys));
            heard = of_these.map(|(class, _)| *class).collect();
            let keys = keys.iter().flat_map(|(_, keys)| keys);
            let all = keys.flat_map(|(face, key)| core.listeners(*face, key));
            listeners = all.map(|(queue, key)| (queue, key.clone())).collect();
        });
        let is_new_heard =
            agent.take_is_new_heard() || !listeners.is_subset(&self.telling.listeners);
        self.telling.begin(heard);
        self.telling.listeners = listeners;
        if is_new_heard {
            self.telling.tell_all();
        }
    }

    /// Goes on with a round by one look.
    pub(super) fn tell_on(&mut self) {
        let Some(mut walk) = self.telling.walk.take() else {
            return;
        };
        let mut found = Vec::new();
        let is_done = walk.look(self.group, self.shared, &self.setting, &mut found);
        let tells = self.telling.tells();
        let (changed, digests) = self.telling.changed(found);
        if tells {
            self.tell_data(&changed);
        }
        self.telling.keep(changed, digests);
        if !is_done {
            self.telling.walk = Some(walk);
            return;
        }
        let gone = self.telling.gone(clock::wall_nanoseconds());
        match tells {
            true => self.tell_data(&gone),
            false => self.telling.keep_ceased(gone),
        }
    }

    fn tell_data(&mut self, objects: &[Object]) {
        let told = self.agent.as_mut().map(|agent| agent.data(objects));
        self.publish(told.unwrap_or_default());
    }

    fn sleep_for(&mut self, seconds: u16) {
        self.tell_at = Instant::now() + Duration::from_secs(seconds.max(1).into());
    }
}
