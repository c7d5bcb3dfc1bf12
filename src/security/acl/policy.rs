//! The rules in force, reloaded while the broker runs, and what counts against quotas.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use parking_lot::{Mutex, RwLock};

use super::file;
use super::limits::{FILE_BYTES_MAX, NAME_BYTES_MAX, REASON_BYTES_MAX};
use super::names::{Action, Decision, Object, Property};
use super::rules::{Properties, Rules};
use crate::broker::Refusal;
use crate::broker::event::{Act, Event};
use crate::broker::guard::{BY_CONDITION, BY_QUOTA, Ruled};
use crate::broker::tally::Tally;
use crate::security::files;
use crate::security::witness::Witness;
use crate::wire::cut;

/// What was said of rights when the broker was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The ACL file; without one everything is allowed.
    pub file: Option<PathBuf>,
    /// Connections of one user at one moment, unless the file says otherwise; 0 is no limit.
    pub connections_per_user: u32,
    /// Connections from one address at one moment; 0 is no limit.
    pub connections_per_host: u32,
    /// Queues of one user, unless the file says otherwise; 0 is no limit.
    pub queues_per_user: u32,
    /// The realm that users have unless they name another.
    pub realm: String,
}

/// What the broker has refused since it was started, for management.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Denials {
    /// Acts.
    pub acts: u64,
    /// Connections: by rules about hosts and by limits.
    pub connections: u64,
    /// Queues beyond a quota.
    pub queues: u64,
}

#[derive(Debug, Default)]
struct Counters {
    acts: AtomicU64,
    connections: AtomicU64,
    queues: AtomicU64,
}

/// Open connections, by whom and from where.
#[derive(Debug, Default)]
struct Connections {
    of_users: Tally<String>,
    of_hosts: Tally<IpAddr>,
}

/// Rights on this member.
#[derive(Debug)]
pub struct Acl {
    settings: Settings,
    rules: RwLock<Arc<Rules>>,
    loaded: RwLock<SystemTime>,
    /// Counts loads: decisions that somebody remembers are of one of them.
    generation: AtomicU64,
    denied: Counters,
    connections: Mutex<Connections>,
    /// Who is told of what is decided.
    witness: OnceLock<Arc<dyn Witness>>,
}

impl Acl {
    /// Reads the file, if there is to be one.
    ///
    /// # Errors
    /// It cannot be read, or is wrong.
    pub fn start(settings: Settings) -> Result<Arc<Acl>, String> {
        let rules = load(&settings)?;
        Ok(Arc::new(Acl {
            settings,
            rules: RwLock::new(Arc::new(rules)),
            loaded: RwLock::new(SystemTime::now()),
            generation: AtomicU64::new(0),
            denied: Counters::default(),
            connections: Mutex::default(),
            witness: OnceLock::new(),
        }))
    }

    /// Has somebody told of what is decided from now on, and of the file that was read. Only the first
    /// one is.
    pub fn tell_to(&self, witness: Arc<dyn Witness>) {
        if self.witness.set(witness).is_ok() && self.has_file() {
            self.tell(|| Event::FileLoaded);
        }
    }

    fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(witness) = self.witness.get() {
            witness.saw(event());
        }
    }

    /// Reads the file again. Rules that are in force stay so when it is wrong.
    ///
    /// # Errors
    /// It cannot be read, or is wrong.
    pub fn reload(&self) -> Result<(), String> {
        let rules = load(&self.settings).inspect_err(|why| {
            let reason = cut(why, REASON_BYTES_MAX).into();
            self.tell(|| Event::FileLoadFailed { reason });
        })?;
        *self.rules.write() = Arc::new(rules);
        *self.loaded.write() = SystemTime::now();
        self.generation.fetch_add(1, Ordering::Release);
        if self.has_file() {
            self.tell(|| Event::FileLoaded);
        }
        Ok(())
    }

    /// The rules in force.
    pub fn rules(&self) -> Arc<Rules> {
        self.rules.read().clone()
    }

    /// What was said when the broker was started.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// When the rules in force were read.
    pub fn loaded(&self) -> SystemTime {
        *self.loaded.read()
    }

    /// Which load the rules in force are of. What was decided by another counts no more.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether there is a file.
    pub fn has_file(&self) -> bool {
        self.settings.file.is_some()
    }

    /// What was refused so far.
    pub fn denials(&self) -> Denials {
        Denials {
            acts: self.denied.acts.load(Ordering::Relaxed),
            connections: self.denied.connections.load(Ordering::Relaxed),
            queues: self.denied.queues.load(Ordering::Relaxed),
        }
    }

    /// Whether a user may do something. A denial is counted, and told if the rule says so.
    pub fn authorise(
        &self,
        user: &str,
        action: Action,
        object: Object,
        name: &str,
        properties: Option<&Properties>,
    ) -> bool {
        let decision = self.rules().lookup(user, action, object, name, properties);
        self.note(decision, user, (action, object), name);
        decision.is_allowed()
    }

    /// Whether a user may publish to an exchange with a key. The decision may be remembered if it is
    /// not to be told each time.
    pub fn authorise_publish(&self, user: &str, exchange: &str, key: &str) -> Decision {
        let decision = self.rules().lookup_publish(user, exchange, key);
        let act = (Action::Publish, Object::Exchange);
        self.note(decision, user, act, exchange);
        decision
    }

    /// Counts a denial that was remembered.
    pub fn note_denial(&self) {
        self.denied.acts.fetch_add(1, Ordering::Relaxed);
    }

    fn note(&self, decision: Decision, user: &str, (action, object): (Action, Object), name: &str) {
        if decision.is_logged() {
            let act = Act {
                user: user.into(),
                action: action.name().into(),
                object: object.name().into(),
                name: name.into(),
            };
            let is_allowed = decision.is_allowed();
            self.note_ruling(Ruled { act, is_allowed });
        }
        if !decision.is_allowed() {
            self.note_denial();
        }
    }

    /// Tells of a decision of a rule that asks for it. One of the core's comes here as its effect; a
    /// denial of it is counted when the refusal comes.
    pub fn note_ruling(&self, ruled: Ruled) {
        let Ruled { act, is_allowed } = ruled;
        let does = match is_allowed {
            true => "Allow",
            false => "Deny",
        };
        tracing::info!(
            target: "Security",
            "ACL {does} id:{} action:{} ObjectType:{} Name:{}", act.user, act.action, act.object, act.name
        );
        self.tell(|| {
            let name = cut(&act.name, NAME_BYTES_MAX).into();
            let act = Act { name, ..act };
            match is_allowed {
                true => Event::Allow(act),
                false => Event::Deny(act),
            }
        });
    }

    /// What management's method `Lookup` answers: the decision's name. Nothing is counted.
    ///
    /// # Errors
    /// A name is none of those that ACL files know.
    pub fn lookup(
        &self,
        user: &str,
        action: &str,
        object: &str,
        name: &str,
        properties: &[(&str, &str)],
    ) -> Result<Decision, String> {
        let wrong = |what: &str, name: &str| {
            format!("AclLookup invalid name : Acl illegal {what} name: {name}")
        };
        let object = Object::named(object).ok_or_else(|| wrong("object", object))?;
        let action = Action::named(action).ok_or_else(|| wrong("action", action))?;
        let mut known = Properties::new();
        for (name, value) in properties {
            let property = Property::named(name).ok_or_else(|| wrong("property", name))?;
            known.entry(property).or_insert_with(|| (*value).to_owned());
        }
        let rules = self.rules();
        if (action, object) == (Action::Create, Object::Connection) {
            let host = known.get(&Property::Host).map_or("", String::as_str);
            let host = host
                .parse()
                .map_err(|_| format!("AclLookup invalid host : {host}"))?;
            return Ok(rules.hosts.lookup(user, host).0);
        }
        Ok(rules.lookup(user, action, object, name, Some(&known)))
    }

    /// What management's method `LookupPublish` answers. Nothing is counted.
    pub fn lookup_publish(&self, user: &str, exchange: &str, key: &str) -> Decision {
        self.rules().lookup_publish(user, exchange, key)
    }

    /// Queues that a user may have made and that are still there; none is as many as there can be.
    pub fn queue_quota(&self, user: &str) -> Option<u32> {
        self.rules().queues_of(user)
    }

    /// Whether queues are counted at all: where rights are configured, also while no quota is in force,
    /// so that one that comes later finds them counted.
    pub fn counts_queues(&self) -> bool {
        self.has_file() || self.settings.queues_per_user > 0
    }

    /// The realm that users have unless they name another.
    pub fn realm(&self) -> &str {
        &self.settings.realm
    }

    /// The core has refused a user something: what it refused for rights is counted, and a quota that is
    /// used up is logged.
    pub fn note_refusal(&self, user: &str, refusal: &Refusal) {
        if refusal.text.ends_with(BY_CONDITION) {
            self.note_denial();
        } else if refusal.text.ends_with(BY_QUOTA) {
            self.denied.queues.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                target: "Security",
                "Client max queue count limit of {} exceeded by '{user}'. Queue creation denied.",
                self.queue_quota(user).unwrap_or(u32::MAX)
            );
        }
    }

    /// Whether one more connection of a user from a host may be: by the rules about hosts, by the limit
    /// of a host, and by the quota of the user. It counts until what this gives is dropped.
    ///
    /// # Errors
    /// Why not, for the log.
    pub fn admit(self: &Arc<Acl>, user: &str, host: IpAddr) -> Result<Admitted, String> {
        self.admit_beside(user, host, Elsewhere::default)
    }

    /// The same, where other brokers act as one with this one. `elsewhere` is asked only where there is a
    /// limit.
    ///
    /// # Errors
    /// Why not, for the log.
    pub fn admit_beside(
        self: &Arc<Acl>,
        user: &str,
        host: IpAddr,
        elsewhere: impl FnOnce() -> Elsewhere,
    ) -> Result<Admitted, String> {
        let admitted = self.try_admit(user, host.to_canonical(), elsewhere);
        if admitted.is_err() {
            self.note_connection_denial(user, host);
        }
        admitted
    }

    /// Counts and tells of a connection that was refused, for one of these reasons or for another limit
    /// than those that are known here.
    pub fn note_connection_denial(&self, user: &str, host: IpAddr) {
        self.denied.connections.fetch_add(1, Ordering::Relaxed);
        self.tell(|| Event::ConnectionDeny {
            user: user.into(),
            host: host.to_canonical().to_string().into(),
        });
    }

    /// Whether a user may come from a host at all, by the rules about hosts. A denial is counted and told
    /// as one of a connection.
    ///
    /// # Errors
    /// Why not, for the log.
    pub fn check_host(&self, user: &str, host: IpAddr) -> Result<(), String> {
        let checked = check_host(&self.rules(), user, host.to_canonical());
        if checked.is_err() {
            self.note_connection_denial(user, host);
        }
        checked
    }

    fn try_admit(
        self: &Arc<Acl>,
        user: &str,
        host: IpAddr,
        elsewhere: impl FnOnce() -> Elsewhere,
    ) -> Result<Admitted, String> {
        let rules = self.rules();
        check_host(&rules, user, host)?;
        let per_host = self.settings.connections_per_host;
        let elsewhere = match per_host > 0 || rules.connections_of(user).is_some() {
            true => elsewhere(),
            false => Elsewhere::default(),
        };
        let mut connections = self.connections.lock();
        let of_host = connections.of_hosts.of(&host) + elsewhere.of_host;
        if per_host > 0 && of_host >= per_host {
            return Err(format!(
                "Client max per-host connection count limit of {per_host} exceeded by '{host}', \
                 user: '{user}'. Connection refused."
            ));
        }
        let of_user = connections.of_users.of(user) + elsewhere.of_user;
        if let Some(quota) = rules.connections_of(user)
            && of_user >= quota
        {
            return Err(format!(
                "Client max per-user connection count limit of {quota} exceeded by '{host}', user: \
                 '{user}'. Connection refused."
            ));
        }
        connections.of_hosts.add(host);
        connections.of_users.add(user.to_owned());
        drop(connections);
        Ok(Admitted {
            acl: self.clone(),
            user: user.to_owned(),
            host,
        })
    }
}

fn check_host(rules: &Rules, user: &str, host: IpAddr) -> Result<(), String> {
    let (decision, why) = rules.hosts.lookup(user, host);
    if decision.is_logged() {
        tracing::info!(target: "Security", "ACL {why}");
    }
    match decision.is_allowed() {
        true => Ok(()),
        false => Err(format!("{why}. Connection refused.")),
    }
}

/// Connections of one user, and of one host, to other brokers that act as one with this one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Elsewhere {
    /// Of the user.
    pub of_user: u32,
    /// Of the host.
    pub of_host: u32,
}

/// A connection that counts against limits for as long as this lives.
#[derive(Debug)]
pub struct Admitted {
    acl: Arc<Acl>,
    user: String,
    host: IpAddr,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut connections = self.acl.connections.lock();
        connections.of_hosts.remove(&self.host);
        connections.of_users.remove(&self.user);
    }
}

fn load(settings: &Settings) -> Result<Rules, String> {
    let mut rules = match &settings.file {
        None => Rules::without_file(),
        Some(path) => {
            let text = read(path).map_err(|error| {
                format!("Unable to read ACL file \"{}\": {error}", path.display())
            })?;
            let name = path.display().to_string();
            file::parse(&name, &text).map_err(|error| error.to_string())?
        }
    };
    let options = [
        (&mut rules.connections, settings.connections_per_user),
        (&mut rules.queues, settings.queues_per_user),
    ];
    for (quotas, quota) in options {
        if quota > 0 {
            quotas.entry("all".to_owned()).or_insert(quota);
        }
    }
    Ok(rules)
}

fn read(path: &Path) -> Result<String, String> {
    let octets = files::read(path, FILE_BYTES_MAX).map_err(|error| error.to_string())?;
    let octets = octets.ok_or_else(|| format!("it has more than {FILE_BYTES_MAX} octets"))?;
    // Comments are in whatever encoding; what rules speak of is in this one.
    Ok(String::from_utf8_lossy(&octets).into_owned())
}
