//! Maps from names to values.

use super::Text;
use super::cursor::Cursor;
use super::decode_error::{DecodeError, Problem};
use super::encode;
use super::value::Value;
use super::value_code;

/// Names and values in the order they came (`map`), so that they go out as they came in.
///
/// A peer may repeat a name; then the last value counts.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Map {
    entries: Vec<(Text, Value)>,
}

/// Memory that an entry takes, without what name and value hold outside.
const ENTRY_BYTES: usize = size_of::<(Text, Value)>();

impl Map {
    /// The empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value named `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries
            .iter()
            .rev()
            .find(|entry| entry.0 == key)
            .map(|entry| &entry.1)
    }

    /// Whether a value is named `key`.
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Names `value` `key` (at most 255 octets go out), in the place of the value that had the name.
    /// Returns that value.
    pub fn insert(&mut self, key: impl Into<Text>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match self.entries.iter_mut().rev().find(|entry| entry.0 == key) {
            Some(entry) => Some(std::mem::replace(&mut entry.1, value)),
            None => {
                self.entries.push((key, value));
                None
            }
        }
    }

    /// A map of entries whose names differ from each other, which is not checked: a name that comes
    /// twice goes out twice.
    pub(crate) fn of_distinct(entries: impl Iterator<Item = (Text, Value)>) -> Self {
        Map {
            entries: entries.collect(),
        }
    }

    /// Takes every value named `key` out and returns the one that counted.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let mut last = None;
        while let Some(index) = self.entries.iter().position(|entry| entry.0 == key) {
            last = Some(self.entries.remove(index).1);
        }
        last
    }

    /// Every entry in order, repeated names too.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Value)> + ExactSizeIterator {
        self.entries
            .iter()
            .map(|(key, value)| (key.as_str(), value))
    }

    /// How many entries there are, repeated names counted each time.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Reads size, count and entries. A size of 0 without a count is taken as the empty map, as
    /// qpidd does.
    pub(crate) fn decode(cursor: &mut Cursor<'_>) -> Result<Map, DecodeError> {
        let length = cursor.u32()? as usize;
        if length == 0 {
            return Ok(Map::new());
        }
        cursor.nested(length, "map", |cursor| {
            let count = entry_count(cursor)?;
            let mut entries = Vec::with_capacity(count);
            for _ in 0..count {
                let key = cursor.str8()?;
                entries.push((key, Value::decode(cursor)?));
            }
            Ok(Map { entries })
        })
    }

    /// Passes over a map, with all checks and charges of [`decode`](Self::decode).
    pub(crate) fn walk(cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
        let length = cursor.u32()? as usize;
        if length == 0 {
            return Ok(());
        }
        cursor.nested(length, "map", |cursor| {
            for _ in 0..entry_count(cursor)? {
                cursor.walk_text(1, "str8")?;
                value_code::walk(cursor)?;
            }
            Ok(())
        })
    }

    /// Appends size, count and entries.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        encode::sized32(out, |out| {
            encode::u32(out, self.entries.len() as u32);
            for (key, value) in &self.entries {
                encode::str8(out, key);
                value.encode(out);
            }
        });
    }
}

/// Reads and charges the count of a map: every entry takes at least the count of its name and the
/// type code of its value.
fn entry_count(cursor: &mut Cursor<'_>) -> Result<usize, DecodeError> {
    let count = cursor.u32()? as usize;
    if count > cursor.remaining() / 2 {
        return Err(cursor.error(Problem::RunsPastEnd("map")));
    }
    cursor.charge(count * ENTRY_BYTES)?;
    Ok(count)
}

impl<K: Into<Text>, V: Into<Value>> FromIterator<(K, V)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Map::new();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = &'a (Text, Value);
    type IntoIter = std::slice::Iter<'a, (Text, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}

impl IntoIterator for Map {
    type Item = (Text, Value);
    type IntoIter = std::vec::IntoIter<(Text, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}
