//! Binding keys of topic exchanges in their normal form.

use crate::wire::Text;

/// Any one word.
pub const STAR: &str = "*";

/// Any number of words, none too.
pub const HASH: &str = "#";

/// The words of a key. An empty key is one empty word, as in qpidd, and so is the space between two
/// dots.
pub fn words(key: &str) -> impl Iterator<Item = &str> {
    key.split('.')
}

/// The one of all patterns that match the same keys which qpidd keeps and shows: in each run of
/// wildcards all `*` come first, and of several `#` one is left.
pub fn normal(pattern: &str) -> Text {
    let mut normal = Text::with_capacity(pattern.len() + 1);
    let mut has_hash = false;
    for word in words(pattern) {
        match word {
            HASH => has_hash = true,
            STAR => push(&mut normal, STAR),
            _ => {
                if std::mem::take(&mut has_hash) {
                    push(&mut normal, HASH);
                }
                push(&mut normal, word);
            }
        }
    }
    if has_hash {
        push(&mut normal, HASH);
    }
    // Each word was put with a dot before it.
    normal.remove(0);
    normal
}

fn push(to: &mut Text, word: &str) {
    to.push('.');
    to.push_str(word);
}
