//! What all the tests here need: exchanges made in one line, and numbers from a seed.

use ferrymq::broker::exchange::Kind;
use ferrymq::broker::ids::QueueId;
use ferrymq::wire::{Map, Value};

/// An exchange without bindings.
pub fn exchange(name: &str) -> Kind {
    Kind::of_type(name).expect("a type that every broker has")
}

/// An exchange with bindings of queue and key.
pub fn bound(name: &str, bindings: &[(u32, &str)]) -> Kind {
    let mut exchange = exchange(name);
    for (queue, key) in bindings {
        assert!(bind(&mut exchange, *queue, key), "{queue} by {key:?}");
    }
    exchange
}

/// Binds without arguments. Gives whether the binding is new.
pub fn bind(exchange: &mut Kind, queue: u32, key: &str) -> bool {
    exchange
        .bind(QueueId(queue), key, &Map::new())
        .expect("it can be bound")
}

/// Where a message with this routing key goes, in order.
pub fn route(exchange: &mut Kind, key: &str) -> Vec<u32> {
    let mut headers = || panic!("only a headers exchange asks for headers");
    let mut matched = Vec::new();
    exchange.route(key, &mut headers, &mut matched);
    matched.into_iter().map(|queue| queue.0).collect()
}

/// Where a message with these application headers goes, in order.
pub fn route_headers(exchange: &mut Kind, headers: Option<&Map>) -> Vec<u32> {
    let mut matched = Vec::new();
    exchange.route("any.key", &mut || headers.cloned(), &mut matched);
    matched.into_iter().map(|queue| queue.0).collect()
}

/// Queue, key and count of each binding, in order.
pub fn listed(exchange: &Kind) -> Vec<(u32, String, u64)> {
    let entries = exchange.bindings();
    entries
        .map(|binding| (binding.queue.0, binding.key.to_string(), binding.matched))
        .collect()
}

/// A map of these entries; void where there is no value.
pub fn map(entries: &[(&str, Value)]) -> Map {
    let entries = entries.iter().cloned();
    entries.collect()
}

/// Numbers that look random and are the same for a seed.
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    /// One of the items.
    pub fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A key of up to `longest` words.
    pub fn key(&mut self, words: &[&str], longest: usize) -> String {
        let length = 1 + self.below(longest);
        let key: Vec<&str> = (0..length).map(|_| *self.of(words)).collect();
        key.join(".")
    }
}
