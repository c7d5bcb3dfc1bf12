//! What is told unasked: that the broker is there, and which objects have changed.

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
}

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
        let mut is_told = false;
        self.group.look(&mut |core: &Core| {
            is_told = core.first_agent() == Some(key) && core.has_management_listeners();
        });
        if !is_told {
            self.telling = Telling::default();
            return;
        }
        let now = clock::wall_nanoseconds();
        let wall = WallTime(clock::wall_milliseconds());
        self.commands.push_back(AgentCommand::Now(wall));
        let heartbeat = self.agent.as_mut().map(|agent| agent.heartbeat(now));
        self.publish(heartbeat.unwrap_or_default());
        if self.start.setting.publishes {
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
        let (changed, digests) = self.telling.changed(found);
        self.tell_data(&changed);
        self.telling.keep(changed, digests);
        if is_done {
            let gone = self.telling.gone(clock::wall_nanoseconds());
            self.tell_data(&gone);
        } else {
            self.telling.walk = Some(walk);
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
