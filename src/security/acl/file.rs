//! An ACL file becomes rules.
//!
//! ```text
//!   group NAME {user@domain | GROUP} ...
//!   acl   {allow|allow-log|deny|deny-log} {user|GROUP|all} {action|all} [{object|all} [property=value ...]]
//!   quota {connections|queues} N {user|GROUP|all} ...
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::sync::Arc;

use super::hosts::{HostRule, Hosts};
use super::limits::{FAULTS_MAX, MEMBERS_MAX, QUOTA_MAX};
use super::lookups;
use super::names::{Action, Decision, Object, Property, RuleProperty};
use super::rules::{Rule, Rules, Who};
use super::syntax::{self, Fault, Statement};

const ALL: &str = "all";

/// What is wrong with a file: whoever wrote it is to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file's name.
    pub file: String,
    /// At least one.
    pub faults: Vec<Fault>,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Fault { line, text }) in self.faults.iter().enumerate() {
            let file = &self.file;
            let gap = if index > 0 { " " } else { "" };
            write!(
                f,
                "{gap}ACL format error: {file}:{line}: Line : {line}, {text}"
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for FileError {}

/// What an `acl` statement speaks of.
struct Said {
    line: usize,
    number: usize,
    decision: Decision,
    who: Who,
    /// None is all.
    action: Option<Action>,
    /// None is all.
    object: Option<Object>,
    properties: BTreeMap<RuleProperty, String>,
}

impl Said {
    /// The file's mode, if no later rule is.
    fn is_mode(&self) -> bool {
        self.action.is_none() && self.who == Who::All
    }
}

/// A file as far as it has been read.
struct Reader {
    groups: BTreeMap<String, Arc<BTreeSet<String>>>,
    members: usize,
    said: Vec<Said>,
    rules: Rules,
    faults: Vec<Fault>,
}

/// Reads the text of an ACL file. What may be wrong with it and is no error is logged.
///
/// # Errors
/// All lines with faults, as far as they are counted.
pub fn parse(file: &str, text: &str) -> Result<Rules, FileError> {
    let mut reader = Reader {
        groups: BTreeMap::new(),
        members: 0,
        said: Vec::new(),
        rules: Rules::default(),
        faults: Vec::new(),
    };
    let mut faults = Vec::new();
    for statement in syntax::statements(text, &mut faults) {
        reader.statement(&statement);
    }
    reader.settle(file);
    faults.append(&mut reader.faults);
    faults.sort_by_key(|fault| fault.line);
    faults.truncate(FAULTS_MAX);
    match faults.is_empty() {
        true => Ok(reader.rules),
        false => Err(FileError {
            file: file.to_owned(),
            faults,
        }),
    }
}

impl Reader {
    fn statement(&mut self, statement: &Statement<'_>) {
        let read = match statement.words[..] {
            ["group", ref words @ ..] => self.group(words),
            ["acl", ref words @ ..] => self.acl(statement.line, words),
            ["quota", ref words @ ..] => self.quota(words),
            _ => Err(
                "Non-continuation line must start with \"group\", \"acl\". or \"quota\"."
                    .to_owned(),
            ),
        };
        if let Err(text) = read {
            self.fault(statement.line, text);
        }
    }

    fn fault(&mut self, line: usize, text: String) {
        self.faults.push(Fault { line, text });
    }

    fn group(&mut self, words: &[&str]) -> Result<(), String> {
        let [name, members @ ..] = words else {
            return Err("Insufficient tokens for group definition.".to_owned());
        };
        if members.is_empty() {
            return Err("Insufficient tokens for group definition.".to_owned());
        }
        if !is_group_name(name) {
            return Err(format!(
                "Group name \"{name}\" contains illegal characters."
            ));
        }
        if self.groups.contains_key(*name) {
            return Err(format!("Duplicate group name \"{name}\"."));
        }
        let mut users = BTreeSet::new();
        for member in members {
            if !is_group_name(member) {
                check_user_name(member)?;
                users.insert((*member).to_owned());
            } else if member != name {
                let group = self.groups.get(*member);
                let group =
                    group.ok_or_else(|| format!("Sub-group \"{member}\" not defined yet."))?;
                users.extend(group.iter().cloned());
            }
        }
        self.members += users.len();
        if self.members > MEMBERS_MAX {
            return Err(format!("all groups have more than {MEMBERS_MAX} members"));
        }
        self.groups.insert((*name).to_owned(), Arc::new(users));
        Ok(())
    }

    fn acl(&mut self, line: usize, words: &[&str]) -> Result<(), String> {
        let [permission, who, action, rest @ ..] = words else {
            return Err("Insufficient tokens for acl definition.".to_owned());
        };
        let decision = Decision::named(permission)
            .ok_or_else(|| format!("Unknown ACL permission \"{permission}\"."))?;
        let action = match *action {
            ALL if *who == ALL && !rest.is_empty() => {
                return Err("Tokens found after action \"all\".".to_owned());
            }
            ALL => None,
            name => Some(Action::named(name).ok_or_else(|| format!("Unknown action \"{name}\"."))?),
        };
        let object = match rest.first() {
            None | Some(&ALL) => None,
            Some(name) => {
                Some(Object::named(name).ok_or_else(|| format!("Unknown object \"{name}\"."))?)
            }
        };
        let mut properties = BTreeMap::new();
        for pair in rest.iter().skip(1) {
            let (property, value) = property(pair)?;
            properties.entry(property).or_insert(value);
        }
        let who = self.who(who);
        self.said.push(Said {
            line,
            number: self.said.len() + 1,
            decision,
            who,
            action,
            object,
            properties,
        });
        Ok(())
    }

    fn who(&self, name: &str) -> Who {
        match (name, self.groups.get(name)) {
            (ALL, _) => Who::All,
            (_, Some(group)) => Who::Users(group.clone()),
            (user, None) => Who::Users(Arc::new(BTreeSet::from([user.to_owned()]))),
        }
    }

    fn quota(&mut self, words: &[&str]) -> Result<(), String> {
        let [noun, count, users @ ..] = words else {
            return Err("Insufficient tokens for quota definition.".to_owned());
        };
        let quotas = match *noun {
            "connections" => &mut self.rules.connections,
            "queues" => &mut self.rules.queues,
            noun => return Err(format!("Quota type \"{noun}\" unrecognized.")),
        };
        let wrong = |_| {
            format!(
                "{noun} quota value \"{count}\" cannot be converted to a 16-bit unsigned integer."
            )
        };
        let quota = u32::from(count.parse::<u16>().map_err(wrong)?);
        if quota > QUOTA_MAX {
            return Err(format!(
                "{noun} quota value \"{count}\" exceeds maximum configuration setting of {QUOTA_MAX}"
            ));
        }
        for user in users {
            match self.groups.get(*user) {
                None => {
                    quotas.insert((*user).to_owned(), quota);
                }
                Some(group) => quotas.extend(group.iter().map(|user| (user.clone(), quota))),
            }
        }
        Ok(())
    }

    /// Puts what was said where it is looked for.
    fn settle(&mut self, file: &str) {
        let said = std::mem::take(&mut self.said);
        let mode = said.iter().rposition(Said::is_mode);
        let mut has_mode_for_all_hosts = false;
        for (index, said) in said.into_iter().enumerate() {
            if Some(index) == mode {
                self.rules.mode = said.decision;
                continue;
            }
            if let (Some(action), Some(object)) = (said.action, said.object)
                && let Err(why) = lookups::can_be_met(action, object, &said.properties)
            {
                tracing::warn!(
                    target: "Security",
                    "{file}:{}: ACL rule ignored: {why}",
                    said.line
                );
                continue;
            }
            let line = said.line;
            let placed = match (said.action, said.object) {
                (Some(Action::Create), Some(Object::Connection)) => {
                    self.host_rule(said, &mut has_mode_for_all_hosts)
                }
                _ => self.rule(said),
            };
            if let Err(text) = placed {
                self.fault(line, text);
            }
        }
        if !self.rules.has_publish && !self.rules.mode.is_allowed() {
            tracing::warn!(
                target: "Security",
                "{file}: no ACL rule speaks of publish, so messages are not looked at: everybody may \
                 publish to every exchange"
            );
        }
    }

    fn rule(&mut self, said: Said) -> Result<(), String> {
        check_values(&said.properties)?;
        let rule = Rule {
            decision: said.decision,
            who: said.who,
            properties: Arc::new(said.properties),
        };
        for action in Action::ALL {
            if said.action.is_some_and(|only| only != action) {
                continue;
            }
            self.rules.has_publish |= action == Action::Publish;
            for object in Object::ALL {
                let is_meant = said.object.is_none_or(|only| only == object);
                if is_meant && lookups::can_be_met(action, object, &rule.properties).is_ok() {
                    let rules = self.rules.rules.entry((action, object)).or_default();
                    rules.push(rule.clone());
                }
            }
        }
        Ok(())
    }

    fn host_rule(&mut self, said: Said, has_mode: &mut bool) -> Result<(), String> {
        let number = said.number;
        if said.properties.contains_key(&RuleProperty::NAME) {
            return Err(format!(
                "ACL: CREATE CONNECTION rule {number} must not have a 'name' property"
            ));
        }
        let Some(hosts) = said.properties.get(&RuleProperty::HOST) else {
            return Err(format!(
                "ACL: CREATE CONNECTION rule {number} has no 'host' property"
            ));
        };
        let rule = HostRule {
            decision: said.decision,
            hosts: Hosts::parse(hosts)?,
        };
        let rules = &mut self.rules.hosts;
        match &said.who {
            Who::All if rule.hosts.is_all() && *has_mode => {
                return Err(
                    "ACL: only one CREATE CONNECTION rule for user=all and host=all allowed"
                        .to_owned(),
                );
            }
            Who::All if rule.hosts.is_all() => {
                *has_mode = true;
                rules.mode = rule.decision;
            }
            Who::All => rules.global.push(rule),
            Who::Users(users) => {
                for user in users.iter() {
                    let of_user = rules.of_users.entry(user.clone()).or_default();
                    of_user.push(rule.clone());
                }
            }
        }
        Ok(())
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

fn is_group_name(name: &str) -> bool {
    name.chars().all(is_name_char)
}

fn check_user_name(name: &str) -> Result<(), String> {
    if name
        .split_once('@')
        .is_none_or(|(_, realm)| realm.is_empty())
    {
        return Err(format!("Username '{name}' must contain a realm"));
    }
    let is_known = |c: char| is_name_char(c) || matches!(c, '@' | '.' | '/');
    match name.chars().all(is_known) {
        true => Ok(()),
        false => Err(format!("Username \"{name}\" contains illegal characters.")),
    }
}

fn property(pair: &str) -> Result<(RuleProperty, String), String> {
    let (name, value) = match pair.split_once('=') {
        Some((name, value)) if !value.is_empty() => (name, value),
        _ => {
            return Err(format!(
                "Badly formed property name-value pair \"{pair}\". (Must be name=value)"
            ));
        }
    };
    match RuleProperty::in_file(name) {
        Some(property) => Ok((property, value.to_owned())),
        None => Err(format!("Unknown property \"{name}\".")),
    }
}

/// What qpidd takes for a queue's policy here.
const POLICY_TYPES: [&str; 3] = ["ring", "self-destruct", "reject"];

fn check_values(properties: &BTreeMap<RuleProperty, String>) -> Result<(), String> {
    for (property, value) in properties {
        let allowed = match property.of() {
            (_, Some(_))
                if value
                    .parse()
                    .is_ok_and(|number: i64| (0..i64::MAX).contains(&number)) =>
            {
                continue;
            }
            (_, Some(_)) => format!("values should be between 0 and {}", i64::MAX),
            (Property::PolicyType, None) => {
                if POLICY_TYPES.contains(&value.as_str()) {
                    continue;
                }
                let mut text = "possible values are one of { ".to_owned();
                for policy in POLICY_TYPES {
                    let _ = write!(text, "'{policy}' ");
                }
                text + "}"
            }
            _ => continue,
        };
        return Err(format!(
            "{value} is not a valid value for '{property}', {allowed}"
        ));
    }
    Ok(())
}
