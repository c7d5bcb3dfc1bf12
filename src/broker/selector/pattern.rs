//! The pattern of a `LIKE`.

use super::expression::Steps;

/// One place of a pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Exactly this character.
    Character(char),
    /// `_`: any one character.
    AnyOne,
    /// `%`: any characters, or none.
    AnyMany,
}

/// A compiled pattern: it covers the whole text or does not match.
#[derive(Debug)]
pub(super) struct Pattern {
    places: Box<[Place]>,
}

impl Pattern {
    /// Compiles `text`, in which `escape` makes a plain character of the next one.
    ///
    /// As in qpidd, an escape before another escape vanishes with it (`'a\\b'` matches `ab`),
    /// and so does one at the end.
    pub(super) fn compile(text: &str, escape: Option<char>) -> Self {
        let mut places = Vec::with_capacity(text.len());
        let mut is_escaped = false;
        for character in text.chars() {
            if Some(character) == escape {
                is_escaped = true;
                continue;
            }
            match character {
                '%' if !is_escaped => {
                    if places.last() != Some(&Place::AnyMany) {
                        places.push(Place::AnyMany);
                    }
                }
                '_' if !is_escaped => places.push(Place::AnyOne),
                plain => places.push(Place::Character(plain)),
            }
            is_escaped = false;
        }
        Self {
            places: places.into_boxed_slice(),
        }
    }

    /// Whether the pattern covers `text`; `None` when `steps` run out first.
    ///
    /// Goes forward greedily and falls back to the last `%` only: what an earlier one could give
    /// up, the last one can take.
    pub(super) fn matches(&self, text: &str, steps: &Steps) -> Option<bool> {
        let mut rest = text.chars();
        let mut at = 0;
        let mut fallback = None;
        loop {
            steps.spend(1)?;
            let place = self.places.get(at).copied();
            if place == Some(Place::AnyMany) {
                at += 1;
                if at == self.places.len() {
                    return Some(true);
                }
                fallback = Some((at, rest.clone()));
                continue;
            }
            let character = rest.next();
            let fits = match (place, character) {
                (None, None) => return Some(true),
                (Some(Place::Character(wanted)), Some(found)) => wanted == found,
                (Some(Place::AnyOne), Some(_)) => true,
                _ => false,
            };
            if fits {
                at += 1;
                continue;
            }
            // The text is used up, and a fallback would only start later in it.
            if character.is_none() {
                return Some(false);
            }
            match &mut fallback {
                None => return Some(false),
                Some((after, from)) => {
                    from.next();
                    at = *after;
                    rest = from.clone();
                }
            }
        }
    }
}
