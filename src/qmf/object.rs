//! Objects of the model and their names.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::datum::{Datum, octets};
use super::limits::OBJECT_NAME_BYTES_MAX;
use super::schema::{Class, classes};
use super::status::{Fault, Status};
use crate::wire::{Map, Text};

/// What the property is called that is no part of names: there is one virtual host.
const VHOST_REF: &str = "vhostRef";

/// Names in the map that refers to an object.
const OBJECT_NAME: &str = "_object_name";
const AGENT_EPOCH: &str = "_agent_epoch";

/// The name of an object: `package:class:key`. The key is made of the index properties with commas
/// between them, in which references are names again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName(Text);

impl ObjectName {
    /// Of an object of `class` with `key`.
    pub fn new(class: &Class, key: &str) -> Self {
        let mut name = Text::with_capacity(class.package.len() + class.name.len() + key.len() + 2);
        for part in [class.package, ":", class.name, ":", key] {
            name.push_str(part);
        }
        ObjectName(name)
    }

    /// What a peer calls an object.
    ///
    /// # Errors
    /// [`Status::InvalidParameter`] if it is longer than any name.
    pub fn parse(name: &str) -> Result<Self, Fault> {
        match name.len() {
            length if length > OBJECT_NAME_BYTES_MAX => {
                let text = format!("an object's name of {length} octets");
                Err(Fault::new(Status::InvalidParameter, text))
            }
            _ => Ok(ObjectName(name.into())),
        }
    }

    /// The whole of it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The class, if there is one of that package and name.
    pub fn class(&self) -> Option<&'static Class> {
        let mut parts = self.0.splitn(3, ':');
        let (package, class) = (parts.next()?, parts.next()?);
        parts.next()?;
        classes(Some(package), class).next()
    }

    /// What comes behind package and class; empty if there is no class in front.
    pub fn key(&self) -> &str {
        self.0.splitn(3, ':').nth(2).unwrap_or_default()
    }

    /// The one object of this kind: the broker.
    pub fn broker() -> Self {
        ObjectName::new(&super::broker::BROKER, BROKER_NAME)
    }

    /// The virtual host, of which there is one.
    pub fn vhost() -> Self {
        let key = format!("{},{VHOST_NAME}", ObjectName::broker());
        ObjectName::new(&super::broker::VHOST, &key)
    }

    /// Of a queue.
    pub fn queue(name: &str) -> Self {
        ObjectName::new(&super::broker::QUEUE, name)
    }

    /// Of an exchange; the default one has no name.
    pub fn exchange(name: &str) -> Self {
        ObjectName::new(&super::broker::EXCHANGE, name)
    }

    /// Of a connection, by its address.
    pub fn connection(address: &str) -> Self {
        ObjectName::new(&super::broker::CONNECTION, address)
    }

    /// Of a link to another broker.
    pub fn link(name: &str) -> Self {
        ObjectName::new(&super::broker::LINK, name)
    }

    /// Of a session, by its name with that of its user.
    pub fn session(name: &str) -> Self {
        ObjectName::new(&super::broker::SESSION, name)
    }

    /// The map that refers to it. `epoch` counts the starts of the agent; 0 is left out.
    pub fn to_map(&self, epoch: u64) -> Map {
        let mut map = Map::new();
        map.insert(OBJECT_NAME, octets(&self.0));
        if epoch != 0 {
            map.insert(AGENT_EPOCH, epoch);
        }
        map
    }

    /// What a map refers to.
    ///
    /// # Errors
    /// [`Status::Exception`] without a name in it, with qpidd's text; as [`parse`](Self::parse).
    pub fn from_map(map: &Map) -> Result<Self, Fault> {
        let name = map.get(OBJECT_NAME).and_then(|name| name.as_str());
        let name = name.ok_or_else(|| Fault::exception("Required _object_name field missing."))?;
        ObjectName::parse(name)
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What tools call the broker itself.
pub const BROKER_NAME: &str = "amqp-broker";

/// What tools call the one virtual host.
pub const VHOST_NAME: &str = "/";

/// The values of an object, in the schema's order.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// Its class.
    pub class: &'static Class,
    /// One for each property of the class; None for an optional one that is absent.
    pub properties: Vec<Option<Datum>>,
    /// One for each statistic of the class.
    pub statistics: Vec<Datum>,
}

impl Hash for Values {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.class.package, self.class.name).hash(state);
        (&self.properties, &self.statistics).hash(state);
    }
}

impl Values {
    /// The key of the object's name.
    fn key(&self) -> String {
        let is_part =
            |property: &super::schema::Property| property.is_index && property.name != VHOST_REF;
        let mut key = String::new();
        let pairs = self.class.properties.iter().zip(&self.properties);
        for (index, (_, value)) in pairs.filter(|pair| is_part(pair.0)).enumerate() {
            if index > 0 {
                key.push(',');
            }
            if let Some(value) = value {
                push_key(&mut key, value);
            }
        }
        key
    }
}

fn push_key(key: &mut String, value: &Datum) {
    match value {
        Datum::Reference(name) => key.push_str(name.as_str()),
        Datum::ShortText(text) | Datum::LongText(text) => key.push_str(text),
        other => key.push_str(&other.clone().into_value(0).text().unwrap_or_default()),
    }
}

/// When an object came, when it last changed and when it went, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// When it came.
    pub created: u64,
    /// When it last changed.
    pub updated: u64,
    /// When it went; 0 while it is there.
    pub deleted: u64,
}

/// An object of the model at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its name.
    pub name: ObjectName,
    /// When it came, changed and went.
    pub times: Times,
    /// What it is.
    pub values: Values,
}

impl Object {
    /// With the name that follows from its values.
    pub fn new(values: Values, times: Times) -> Self {
        Object {
            name: ObjectName::new(values.class, &values.key()),
            times,
            values,
        }
    }

    /// Its class.
    pub fn class(&self) -> &'static Class {
        self.values.class
    }

    /// The value of the property or statistic called `name`.
    pub fn value(&self, name: &str) -> Option<&Datum> {
        let class = self.values.class;
        let property = class.properties.iter().position(|p| p.name == name);
        if let Some(index) = property {
            return self.values.properties.get(index)?.as_ref();
        }
        let index = class.statistics.iter().position(|s| s.value_name == name)?;
        self.values.statistics.get(index)
    }
}
