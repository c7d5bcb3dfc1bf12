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
            let at =
                |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX);
            let replaced = at(&last, column).saturating_add((letter != other).into());
            let put_in = at(&last, column + 1).saturating_add(1);
            let taken_out = at(&next, column).saturating_add(1);
            let letters_before = (row.checked_sub(1), column.checked_sub(1));
            let exchanged = match letters_before {
                (Some(row), Some(column))
                    if to.get(column) == Some(letter) && from.get(row) == Some(other) =>
                {
                    at(&before, column).saturating_add(1)
                }
                _ => usize::MAX,
            };
            next.push(replaced.min(put_in).min(taken_out).min(exchanged));
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or_default()
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
