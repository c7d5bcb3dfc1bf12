//! What somebody meant who wrote something else.

/// Changes that a mistake may have: a letter in three, and two at least.
fn changes_max(word: &str) -> usize {
    (word.chars().count() / 3).max(2)
}

/// The one of `known` that is the fewest changes away from `word`, if they are few. The first of
/// those that are equally near.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let with_changes = known.map(|name| (changes(word, name), name));
    let (changes, name) = with_changes.min_by_key(|(changes, _)| *changes)?;
    (changes <= changes_max(word)).then_some(name)
}

/// How many letters have to be put in, taken out, replaced, or exchanged with the next, to make one
/// word of the other. Time is the product of the lengths.
fn changes(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    // The last two lines of the table of changes between the beginnings of both words, and the next.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != other);
            let mut least = replaced.min(last[column + 1] + 1).min(next[column] + 1);
            let is_exchange =
                row > 0 && column > 0 && *letter == to[column - 1] && from[row - 1] == *other;
            if is_exchange {
                least = least.min(before[column - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted() {
        for (from, to, count) in [
            ("", "", 0),
            ("", "ab", 2),
            ("port", "port", 0),
            ("prot", "port", 1),
            ("pot", "port", 1),
            ("ports", "port", 1),
            ("porf", "port", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(changes(from, to), count, "{from} {to}");
            assert_eq!(changes(to, from), count, "{to} {from}");
        }
    }

    #[test]
    fn what_is_far_away_is_not_meant() {
        let known = ["port", "auth", "max-connections"];
        let nearest = |word| nearest(word, known.iter().copied());
        assert_eq!(nearest("prot"), Some("port"));
        assert_eq!(nearest("max-conections"), Some("max-connections"));
        assert_eq!(nearest("something-else"), None);
    }
}
