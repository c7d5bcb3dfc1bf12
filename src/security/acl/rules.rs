//! The rules of an ACL file, and what they decide. The first rule in the order of the file that fits
//! decides; when none fits the file's mode does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::hosts::HostRules;
use super::names::{Action, Bound, Decision, Object, Property, RuleProperty};
use super::text::{self, Substitutes};

/// What is known of an act beside its object's name.
pub type Properties = BTreeMap<Property, String>;

/// What stands for the default exchange in rules about publishing.
const DEFAULT_EXCHANGE: &str = "amq.default";

/// For whom a rule is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// Everybody.
    All,
    /// These users; the members of a group are shared by its rules.
    Users(Arc<BTreeSet<String>>),
}

impl Who {
    fn is(&self, user: &str) -> bool {
        match self {
            Who::All => true,
            Who::Users(users) => users.contains(user),
        }
    }
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What it decides.
    pub decision: Decision,
    /// For whom.
    pub who: Who,
    /// What it asks of an act.
    pub properties: Arc<BTreeMap<RuleProperty, String>>,
}

/// All rules of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What is decided when no rule fits.
    pub mode: Decision,
    /// Whether publishing is looked at: only then does a message cost anything.
    pub has_publish: bool,
    /// Rules by what they are about, in the order of the file.
    pub rules: BTreeMap<(Action, Object), Vec<Rule>>,
    /// From where users may connect.
    pub hosts: HostRules,
    /// Connections that users may have at one moment; `all` is everybody who is not named.
    pub connections: BTreeMap<String, u32>,
    /// Queues that users may have made and that are still there; `all` as above.
    pub queues: BTreeMap<String, u32>,
}

impl Rules {
    /// Without a file everything is allowed.
    pub fn without_file() -> Rules {
        Rules {
            mode: Decision::Allow,
            ..Rules::default()
        }
    }

    /// The rules about an act of a user, in the order of the file.
    pub fn rules_of(
        &self,
        action: Action,
        object: Object,
        user: &str,
    ) -> impl Iterator<Item = &Rule> {
        let rules = self.rules.get(&(action, object)).into_iter().flatten();
        rules.filter(move |rule| rule.who.is(user))
    }

    /// What is decided of an act. Without `properties` only names are compared: a rule that asks more
    /// fits all the same, as with qpidd.
    pub fn lookup(
        &self,
        user: &str,
        action: Action,
        object: Object,
        name: &str,
        properties: Option<&Properties>,
    ) -> Decision {
        let substitutes = Substitutes::of(user);
        self.rules_of(action, object, user)
            .find_map(|rule| rule.decide(&substitutes, name, properties))
            .unwrap_or(self.mode)
    }

    /// What is decided of publishing to an exchange with a key.
    pub fn lookup_publish(&self, user: &str, exchange: &str, key: &str) -> Decision {
        let substitutes = Substitutes::of(user);
        self.rules_of(Action::Publish, Object::Exchange, user)
            .find(|rule| rule.is_met_by_publish(&substitutes, exchange, key))
            .map_or(self.mode, |rule| rule.decision)
    }

    /// Whether what is decided of an act depends on more than its user and its object's name.
    pub fn asks_properties(&self, user: &str, action: Action, object: Object) -> bool {
        self.rules_of(action, object, user).any(|rule| {
            let mut asked = rule.properties.keys();
            asked.any(|property| *property != RuleProperty::NAME)
        })
    }

    /// Whether what is decided of an act depends on its object's name.
    pub fn asks_name(&self, user: &str, action: Action, object: Object) -> bool {
        let mut rules = self.rules_of(action, object, user);
        rules.any(|rule| rule.properties.contains_key(&RuleProperty::NAME))
    }

    /// Connections that a user may have; none is as many as there can be.
    pub fn connections_of(&self, user: &str) -> Option<u32> {
        quota(&self.connections, user)
    }

    /// Queues that a user may have; none is as many as there can be.
    pub fn queues_of(&self, user: &str) -> Option<u32> {
        quota(&self.queues, user)
    }
}

impl Default for Rules {
    /// A file that says nothing denies everything, but not to connect.
    fn default() -> Rules {
        Rules {
            mode: Decision::Deny,
            has_publish: false,
            rules: BTreeMap::new(),
            hosts: HostRules::default(),
            connections: BTreeMap::new(),
            queues: BTreeMap::new(),
        }
    }
}

/// Where quotas are set at all, who has none may have nothing.
fn quota(quotas: &BTreeMap<String, u32>, user: &str) -> Option<u32> {
    let quota = || quotas.get(user).or_else(|| quotas.get("all")).copied();
    (!quotas.is_empty()).then(|| quota().unwrap_or(0))
}

impl Rule {
    fn decide(
        &self,
        user: &Substitutes,
        name: &str,
        properties: Option<&Properties>,
    ) -> Option<Decision> {
        let mut is_within = true;
        for (asked, wanted) in &*self.properties {
            let (of, bound) = asked.of();
            if of == Property::Name {
                if !text::is_matched(&user.put_into(wanted), name) {
                    return None;
                }
                continue;
            }
            let Some(properties) = properties else {
                continue;
            };
            let given = properties.get(&of)?;
            match (of, bound) {
                (_, Some(bound)) => is_within &= is_limit_kept(bound, wanted, given),
                (Property::RoutingKey, None) => {
                    if !is_key_matched(user, wanted, given) {
                        return None;
                    }
                }
                (_, None) => {
                    if !text::is_matched(&user.put_into(wanted), given) {
                        return None;
                    }
                }
            }
        }
        Some(match is_within {
            true => self.decision,
            false => self.decision.beyond_a_limit(),
        })
    }

    fn is_met_by_publish(&self, user: &Substitutes, exchange: &str, key: &str) -> bool {
        let is_met = |asked: Property, wanted: &str| match asked {
            Property::Name if wanted == DEFAULT_EXCHANGE => exchange.is_empty(),
            Property::Name => text::is_matched(&user.put_into(wanted), exchange),
            Property::RoutingKey => is_key_matched(user, wanted, key),
            // No rule about publishing asks anything else.
            _ => true,
        };
        let mut properties = self.properties.iter();
        properties.all(|(asked, wanted)| is_met(asked.of().0, wanted))
    }
}

/// A key in which somebody wrote a keyword himself matches nothing.
fn is_key_matched(user: &Substitutes, pattern: &str, key: &str) -> bool {
    if text::has_keyword(key) {
        return false;
    }
    match text::has_keyword(pattern) {
        true => text::is_topic_matched(pattern, &user.taken_out_of(key)),
        false => text::is_topic_matched(pattern, key),
    }
}

/// A limit of 0 is none. A number that is none keeps no limit.
fn is_limit_kept(bound: Bound, limit: &str, given: &str) -> bool {
    let limit: u64 = limit.parse().unwrap_or(0);
    if limit == 0 {
        return true;
    }
    let Ok(given) = given.parse::<u64>() else {
        return false;
    };
    match bound {
        Bound::Lower => given >= limit,
        Bound::Upper => given <= limit,
    }
}
