//! What the user of a connection may do, by the ACL file in force.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::adapter::{self, Verdict};
use crate::broker::Refusal;
use crate::broker::arguments::flag;
use crate::broker::guard::{Guarded, Ruled};
use crate::broker::message::Message;
use crate::security::acl::limits::DECISIONS_MAX;
use crate::security::acl::requests::{Asked, asked, guard};
use crate::security::acl::{Acl, Action, Object};
use crate::wire::{Command, Map, Text};

/// What a link says of itself among its client properties. Links of Qpid C++ say 1.
const LINK: &str = "qpid.fed_link";

/// Whether who connects is another broker's link, as far as it says so.
pub fn is_link(client_properties: &Map) -> bool {
    flag(client_properties, LINK)
}

/// The rights of everybody.
#[derive(Debug)]
pub struct Rights {
    /// The rules in force.
    pub acl: Arc<Acl>,
    /// Whether users have proved who they are.
    pub is_authenticating: bool,
    /// Octets that a queue holds unless it is declared otherwise.
    pub default_queue_limit: u64,
}

impl Rights {
    /// Whether a user may connect as a link.
    ///
    /// # Errors
    /// What the peer is told, in the words of qpidd.
    pub fn check_link(&self, user: &str) -> Result<(), String> {
        let may = || {
            self.acl
                .authorise(user, Action::Create, Object::Link, "", None)
        };
        match (self.acl.has_file(), self.is_authenticating) {
            (true, _) if !may() => Err(format!("ACL denied {user} creating a federation link")),
            (false, true) => Err(format!(
                "User {user} federation connection denied. Systems with authentication enabled must \
                 specify ACL create link rules."
            )),
            _ => Ok(()),
        }
    }

    /// The rights of one user. None: everything is allowed and nothing need be looked at.
    pub fn of(&self, user: &Text, is_link: bool) -> Option<UserRights> {
        let is_user_checked = self.is_authenticating && !is_link;
        let is_needed = is_user_checked || self.acl.counts_queues();
        is_needed.then(|| UserRights {
            acl: self.acl.clone(),
            user: user.clone(),
            is_user_checked,
            default_queue_limit: self.default_queue_limit,
            remembered: Remembered::of(&self.acl),
        })
    }
}

/// The rights of one user.
#[derive(Debug)]
pub struct UserRights {
    acl: Arc<Acl>,
    user: Text,
    /// Whether what a message says of its user must be true: not of links, which carry messages of
    /// others, and not where nobody proves who he is.
    is_user_checked: bool,
    /// Octets that a queue holds unless it is declared otherwise.
    default_queue_limit: u64,
    remembered: Remembered,
}

/// Decisions on publishing, of one load of the rules.
#[derive(Debug, Default)]
struct Remembered {
    generation: u64,
    /// Whether publishing is looked at at all.
    is_checked: bool,
    /// The decision on the last message: most clients publish many to one place.
    last: Option<(Text, Text, bool)>,
    /// Whether it is allowed, by exchange and key.
    decisions: BTreeMap<Text, BTreeMap<Text, bool>>,
    count: usize,
}

impl UserRights {
    fn may_publish(&mut self, exchange: &str, key: &str) -> bool {
        if self.remembered.generation != self.acl.generation() {
            self.remembered = Remembered::of(&self.acl);
        }
        if !self.remembered.is_checked {
            return true;
        }
        if let Some(is_allowed) = self.remembered.of_place(exchange, key) {
            if !is_allowed {
                self.acl.note_denial();
            }
            return is_allowed;
        }
        let decision = self.acl.authorise_publish(&self.user, exchange, key);
        if !decision.is_logged() {
            let is_allowed = decision.is_allowed();
            self.remembered.add(exchange, key, is_allowed);
        }
        decision.is_allowed()
    }
}

impl Remembered {
    fn of(acl: &Acl) -> Remembered {
        Remembered {
            generation: acl.generation(),
            is_checked: acl.rules().has_publish,
            ..Remembered::default()
        }
    }

    /// What was decided of publishing to an exchange with a key, if that is remembered.
    fn of_place(&mut self, exchange: &str, key: &str) -> Option<bool> {
        if let Some((of, with, is_allowed)) = &self.last
            && of == exchange
            && with == key
        {
            return Some(*is_allowed);
        }
        let is_allowed = *self.decisions.get(exchange)?.get(key)?;
        self.last = Some((exchange.into(), key.into(), is_allowed));
        Some(is_allowed)
    }

    fn add(&mut self, exchange: &str, key: &str, is_allowed: bool) {
        if self.count >= DECISIONS_MAX {
            self.decisions.clear();
            self.count = 0;
        }
        self.count += 1;
        let of_exchange = self.decisions.entry(exchange.into()).or_default();
        of_exchange.insert(key.into(), is_allowed);
        self.last = Some((exchange.into(), key.into(), is_allowed));
    }
}

impl adapter::Rights for UserRights {
    fn verdict(&mut self, command: &Command) -> Verdict {
        let Some(Asked {
            action,
            object,
            name,
            properties,
            what,
        }) = asked(command, self.default_queue_limit)
        else {
            return Verdict::Allowed;
        };
        let user = self.user.clone();
        let depends = action == Action::Delete
            && matches!(object, Object::Queue | Object::Exchange)
            && self.acl.rules().asks_properties(&user, action, object);
        if depends {
            return match guard(&self.acl.rules(), &user, command) {
                Some(guarded) => Verdict::Guarded(Box::new(guarded)),
                None => {
                    self.acl.note_denial();
                    Verdict::Denied(format!("ACL denied {what} request from {user}"))
                }
            };
        }
        let is_allowed = self
            .acl
            .authorise(&user, action, object, name, properties.as_ref());
        if !is_allowed {
            return Verdict::Denied(format!("ACL denied {what} request from {user}"));
        }
        match (command, action) {
            (Command::QueueDeclare(declare), Action::Create) if self.acl.counts_queues() => {
                let quota = self.acl.queue_quota(&user).unwrap_or(u32::MAX);
                let declare = declare.clone();
                Verdict::Guarded(Box::new(Guarded::QueueDeclare { declare, quota }))
            }
            _ => Verdict::Allowed,
        }
    }

    fn check_transfer(&mut self, exchange: &str, message: &Message) -> Result<(), String> {
        if self.is_user_checked
            && let Some(said) = message.user_id()
            && !is_user(said, &self.user, self.acl.realm())
        {
            return Err(format!(
                "authorised user id : {} but user id in message declared as {}",
                self.user,
                String::from_utf8_lossy(said)
            ));
        }
        match self.may_publish(exchange, &message.routing_key) {
            true => Ok(()),
            false => Err(format!(
                "{} cannot publish to {exchange} with routing-key {}",
                self.user, message.routing_key
            )),
        }
    }

    fn note_denial(&mut self, refusal: &Refusal) {
        self.acl.note_refusal(&self.user, refusal);
    }

    fn note_ruling(&mut self, ruled: Ruled) {
        self.acl.note_ruling(ruled);
    }
}

/// Whether a message's user is the connection's: its name, or the name without the broker's realm.
fn is_user(said: &[u8], user: &str, realm: &str) -> bool {
    if said.is_empty() || said == user.as_bytes() {
        return true;
    }
    let bare = user
        .strip_suffix(realm)
        .and_then(|bare| bare.strip_suffix('@'));
    bare.is_some_and(|bare| said == bare.as_bytes())
}
