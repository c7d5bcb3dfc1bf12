//! The topic exchange: routing key matching a pattern of words.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::direct::keys_of;
use super::in_order::InOrder;
use super::limits::{FOUND_SEARCHED_MAX, KEY_WORDS_MAX, TOPIC_NODES_MAX};
use super::pattern::{self, HASH, STAR};
use super::positions::{Positions, RoutingKey};
use super::{Behind, BindError, Binding};
use crate::broker::ids::QueueId;
use crate::wire::{Map, Text};

/// The patterns as a tree by word, so that what patterns begin with in common is matched once.
///
/// A message is routed by one walk over the tree. With each node goes the set of all positions in
/// the routing key that the pattern down to it can have come to, so that no node is looked at twice
/// however many ways lead there.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Topic {
    root: Node,
    /// Nodes below the root.
    nodes: usize,
    /// The patterns of each queue.
    by_queue: BTreeSet<(QueueId, Text)>,
}

#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct Node {
    /// What is bound by the pattern that ends here. Boxed, for most nodes lie on the way to others.
    bound: Option<Box<InOrder<QueueId, Binding>>>,
    hash: Option<Box<Node>>,
    star: Option<Box<Node>>,
    words: BTreeMap<Text, Box<Node>>,
}

impl Topic {
    /// Gives whether the binding is new.
    ///
    /// # Errors
    /// When the tree is full.
    pub fn bind(&mut self, queue: QueueId, key: &str, arguments: &Map) -> Result<bool, BindError> {
        let pattern = pattern::normal(key);
        if self.by_queue.contains(&(queue, pattern.clone())) {
            return Ok(false);
        }
        let (known, words) = (self.root.depth_known(&pattern), words_of(&pattern));
        if words > KEY_WORDS_MAX || self.nodes + (words - known) > TOPIC_NODES_MAX {
            return Err(BindError::TreeFull);
        }
        self.nodes += words - known;
        let node = pattern::words(&pattern).fold(&mut self.root, Node::child_or_new);
        let binding = Binding::new(queue, pattern.clone(), arguments);
        node.bound.get_or_insert_default().add(queue, binding);
        self.by_queue.insert((queue, pattern));
        Ok(true)
    }

    /// Whether these patterns fit into the tree if they have nothing in common with others.
    pub fn has_room_for(&self, keys: &[&str]) -> bool {
        let words = keys.iter().map(|key| words_of(&pattern::normal(key)));
        self.nodes + words.sum::<usize>() <= TOPIC_NODES_MAX
    }

    pub(super) fn binding_mut(&mut self, queue: QueueId, key: &str) -> Option<&mut Binding> {
        let pattern = pattern::normal(key);
        let node = pattern::words(&pattern).try_fold(&mut self.root, Node::child_mut)?;
        node.bound.as_mut()?.get_mut(&queue)
    }

    /// The bindings of a key.
    pub(super) fn of_key(&self, key: &str) -> Vec<&Binding> {
        let pattern = pattern::normal(key);
        let node = pattern::words(&pattern).try_fold(&self.root, Node::child);
        let bound = node.and_then(|node| node.bound.as_deref());
        let all = bound.map(|bound| bound.starting_at(0).map(|(_, binding)| binding).collect());
        all.unwrap_or_default()
    }

    /// Gives whether the queue was bound so.
    pub fn unbind(&mut self, queue: QueueId, key: &str) -> bool {
        let bound = (queue, pattern::normal(key));
        if !self.by_queue.remove(&bound) {
            return false;
        }
        self.nodes -= self.root.unbind(queue, &mut pattern::words(&bound.1));
        true
    }

    /// Gives the keys that the queue was bound with.
    pub fn unbind_queue(&mut self, queue: QueueId) -> Vec<Text> {
        let patterns: Vec<Text> = keys_of(&self.by_queue, queue).cloned().collect();
        for pattern in &patterns {
            self.unbind(queue, pattern);
        }
        patterns
    }

    /// Adds the queues that the key matches a pattern of, each once, in the order of `bindings`. A
    /// queue counts at the first of its patterns. Gives how many nodes of the tree were looked at
    /// or for.
    pub fn route(&mut self, key: &str, matched: &mut Vec<QueueId>) -> usize {
        let Some(key) = RoutingKey::of(key) else {
            return 0;
        };
        let mut walk = Walk {
            key,
            found: matched,
            seen: BTreeSet::new(),
            steps: 0,
        };
        walk.visit(&mut self.root, Positions::at(0));
        walk.steps
    }

    /// Whether the queue is bound by this pattern. Of a key alone qpidd says so when it is in the
    /// tree, also as the beginning of other patterns, and looks there without bringing it to
    /// normal form.
    pub fn is_bound(&self, queue: Option<QueueId>, key: Option<&str>) -> bool {
        match (queue, key) {
            (None, None) => !self.by_queue.is_empty(),
            (None, Some(key)) => self.root.depth_known(key) == words_of(key),
            (Some(queue), None) => keys_of(&self.by_queue, queue).next().is_some(),
            (Some(queue), Some(key)) => self.by_queue.contains(&(queue, pattern::normal(key))),
        }
    }

    /// In the order of the tree: of what begins alike the shorter, then `#`, `*` and words by
    /// their text; those of a pattern in the order they were bound.
    pub fn bindings_behind<'a>(
        &'a self,
        behind: Option<&'a Behind>,
    ) -> impl Iterator<Item = (usize, &'a Binding)> {
        let (mut stack, begun) = match behind {
            None => (vec![&self.root], None),
            Some(last) => self.root.nodes_behind(&last.key),
        };
        let left = begun.and_then(|node| node.bound.as_deref()).zip(behind);
        let left = left
            .into_iter()
            .flat_map(|(bound, last)| bound.starting_at(bound.slot_behind(&last.queue, last.slot)));
        let nodes = std::iter::from_fn(move || {
            let node = stack.pop()?;
            node.push_children(&mut stack);
            Some(node)
        });
        let bound = nodes.filter_map(|node| node.bound.as_deref());
        left.chain(bound.flat_map(|bound| bound.starting_at(0)))
    }

    /// How many.
    pub fn binding_count(&self) -> usize {
        self.by_queue.len()
    }

    /// How many nodes the tree has below its root.
    pub fn node_count(&self) -> usize {
        self.nodes
    }
}

fn words_of(key: &str) -> usize {
    pattern::words(key).count()
}

impl Node {
    fn child(&self, word: &str) -> Option<&Node> {
        match word {
            HASH => self.hash.as_deref(),
            STAR => self.star.as_deref(),
            _ => self.words.get(word).map(Box::as_ref),
        }
    }

    fn child_mut(&mut self, word: &str) -> Option<&mut Node> {
        match word {
            HASH => self.hash.as_deref_mut(),
            STAR => self.star.as_deref_mut(),
            _ => self.words.get_mut(word).map(Box::as_mut),
        }
    }

    fn child_or_new(&mut self, word: &str) -> &mut Node {
        match word {
            HASH => self.hash.get_or_insert_default(),
            STAR => self.star.get_or_insert_default(),
            _ => self.words.entry(word.into()).or_default(),
        }
    }

    fn remove_child(&mut self, word: &str) {
        match word {
            HASH => self.hash = None,
            STAR => self.star = None,
            _ => _ = self.words.remove(word),
        }
    }

    /// How many of the first words of a pattern have nodes.
    fn depth_known(&self, pattern: &str) -> usize {
        let mut node = Some(self);
        let below = pattern::words(pattern).map_while(|word| {
            node = node.and_then(|node| node.child(word));
            node
        });
        below.count()
    }

    /// Puts all children onto a stack, so that they come off it in order.
    fn push_children<'a>(&'a self, stack: &mut Vec<&'a Node>) {
        stack.extend(self.words.values().rev().map(Box::as_ref));
        stack.extend(self.star.as_deref());
        stack.extend(self.hash.as_deref());
    }

    /// Puts those children onto a stack that come behind the one of `word`.
    fn push_children_behind<'a>(&'a self, word: &str, stack: &mut Vec<&'a Node>) {
        let words = match word {
            HASH | STAR => self.words.range::<str, _>(..),
            _ => {
                let behind = (Bound::Excluded(word), Bound::Unbounded);
                self.words.range::<str, _>(behind)
            }
        };
        stack.extend(words.rev().map(|(_, node)| &**node));
        if word == HASH {
            stack.extend(self.star.as_deref());
        }
    }

    /// The nodes that come behind a pattern's, each before all below it, on a stack; and the pattern's own
    /// node, if there is one, whose children are on the stack, too.
    fn nodes_behind<'a>(&'a self, pattern: &str) -> (Vec<&'a Node>, Option<&'a Node>) {
        let mut stack = Vec::new();
        let mut node = self;
        for word in pattern::words(pattern) {
            node.push_children_behind(word, &mut stack);
            match node.child(word) {
                Some(child) => node = child,
                None => return (stack, None),
            }
        }
        node.push_children(&mut stack);
        (stack, Some(node))
    }

    fn is_unused(&self) -> bool {
        self.bound.is_none() && self.hash.is_none() && self.star.is_none() && self.words.is_empty()
    }

    /// Takes the queue from the pattern that goes on with `words`. Gives how many nodes that
    /// nothing needs any more went.
    fn unbind<'a>(&mut self, queue: QueueId, words: &mut impl Iterator<Item = &'a str>) -> usize {
        let Some(word) = words.next() else {
            if let Some(bound) = &mut self.bound {
                bound.remove(&queue);
                self.bound.take_if(|bound| bound.is_empty());
            }
            return 0;
        };
        let Some(child) = self.child_mut(word) else {
            return 0;
        };
        let gone = child.unbind(queue, words);
        if !child.is_unused() {
            return gone;
        }
        self.remove_child(word);
        gone + 1
    }
}

/// One routing of one message.
struct Walk<'k, 'f> {
    key: RoutingKey<'k>,
    found: &'f mut Vec<QueueId>,
    /// What was found, when that is too much to be searched.
    seen: BTreeSet<QueueId>,
    steps: usize,
}

impl Walk<'_, '_> {
    /// Goes through the tree from a node that matching came to with the key at `positions`. The
    /// depth is that of the tree, at most [`KEY_WORDS_MAX`].
    fn visit(&mut self, node: &mut Node, positions: Positions) {
        self.steps += 1;
        let last = self.key.last();
        if let Some(bound) = &mut node.bound
            && positions.contains(last)
        {
            self.take(bound);
        }
        if let Some(hash) = &mut node.hash {
            self.visit(hash, positions.onward(last));
        }
        if let Some(star) = &mut node.star {
            let next = positions.a_word_on(last);
            if !next.is_empty() {
                self.visit(star, next);
            }
        }
        if !node.words.is_empty() {
            self.visit_words(&mut node.words, positions);
        }
    }

    /// Goes on below the words that stand at one of the positions. Asks for the words of the key
    /// or for the words below the node, whichever are fewer.
    fn visit_words(&mut self, words: &mut BTreeMap<Text, Box<Node>>, positions: Positions) {
        let last = self.key.last();
        if let Some(position) = positions.only() {
            self.steps += 1;
            let word = self.key.word(position);
            if let Some(node) = word.and_then(|word| words.get_mut(word)) {
                self.visit(node, Positions::at(position + 1));
            }
            return;
        }
        if words.len() <= self.key.places().len() {
            for (word, node) in words {
                self.steps += 1;
                let at = self.key.places_of(word).and(&positions);
                if !at.is_empty() {
                    self.visit(node, at.a_word_on(last));
                }
            }
            return;
        }
        for index in 0..self.key.places().len() {
            self.steps += 1;
            let Some(&(word, places)) = self.key.places().get(index) else {
                break;
            };
            let at = places.and(&positions);
            if !at.is_empty()
                && let Some(node) = words.get_mut(word)
            {
                self.visit(node, at.a_word_on(last));
            }
        }
    }

    fn take(&mut self, bound: &mut InOrder<QueueId, Binding>) {
        // A queue is bound once by a pattern: only what other patterns found can be the same.
        let others = self.found.len();
        for binding in bound.values_mut() {
            if !self.is_found(binding.queue, others) {
                binding.matched += 1;
                self.found.push(binding.queue);
            }
        }
    }

    /// Whether a queue is among the first `others` that were found.
    fn is_found(&mut self, queue: QueueId, others: usize) -> bool {
        if others <= FOUND_SEARCHED_MAX {
            return self.found.iter().take(others).any(|found| *found == queue);
        }
        let unseen = self.found.get(self.seen.len()..others);
        self.seen.extend(unseen.unwrap_or_default());
        self.seen.contains(&queue)
    }
}
