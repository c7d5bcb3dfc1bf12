//! How texts of rules meet texts of acts: wildcards, topic patterns, names of users put in.

/// The keywords that stand for who asks, in the order in which they are looked for: one is not found
/// within another.
const KEYWORDS: [&str; 3] = ["${userdomain}", "${user}", "${domain}"];

/// A user as the keywords name it. Since `@` and `.` have a meaning in routing keys, they become `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitutes {
    /// For each of [`KEYWORDS`].
    values: [String; 3],
}

impl Substitutes {
    /// Those of `user`, which may have a domain behind an `@`.
    pub fn of(user: &str) -> Substitutes {
        let normal = |text: &str| text.replace(['@', '.'], "_");
        let (name, domain) = user.split_once('@').unwrap_or((user, ""));
        Substitutes {
            values: [normal(user), normal(name), normal(domain)],
        }
    }

    /// A rule's text with the user put in for the keywords.
    pub fn put_into(&self, text: &str) -> String {
        let mut put = text.to_owned();
        for (keyword, value) in KEYWORDS.iter().zip(&self.values) {
            put = put.replace(keyword, value);
        }
        put
    }

    /// A routing key with keywords put in for the user, as qpidd compares it with the pattern of a
    /// rule that has keywords: so `${user}_${domain}` in a pattern is never met, `${userdomain}` is.
    pub fn taken_out_of(&self, key: &str) -> String {
        let mut taken = String::with_capacity(key.len());
        let mut rest = key;
        let mut characters = key.chars();
        while let Some(first) = characters.next() {
            let found = KEYWORDS
                .iter()
                .zip(&self.values)
                .find_map(|(keyword, value)| {
                    let behind = rest.strip_prefix(value.as_str());
                    behind
                        .filter(|_| !value.is_empty())
                        .map(|behind| (keyword, behind))
                });
            match found {
                Some((keyword, behind)) => {
                    taken.push_str(keyword);
                    characters = behind.chars();
                }
                None => taken.push(first),
            }
            rest = characters.as_str();
        }
        taken
    }
}

/// Whether a text has a keyword in it.
pub fn has_keyword(text: &str) -> bool {
    KEYWORDS.iter().any(|keyword| text.contains(keyword))
}

/// Whether a rule's text, which may end with `*`, matches.
pub fn is_matched(rule: &str, text: &str) -> bool {
    match rule.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => rule == text,
    }
}

/// Whether a routing key matches a pattern of words between dots: `*` is any one word, `#` any number
/// of them. The steps are at most the words of one times those of the other.
pub fn is_topic_matched(pattern: &str, key: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('.').collect();
    let key: Vec<&str> = key.split('.').collect();
    let (mut at, mut word) = (0, 0);
    // Where to go on when what follows a `#` does not match: with one word more for it.
    let mut again: Option<(usize, usize)> = None;
    while let Some(said) = key.get(word) {
        match pattern.get(at) {
            Some(&"#") => {
                again = Some((at, word));
                at += 1;
            }
            Some(wanted) if *wanted == "*" || wanted == said => {
                at += 1;
                word += 1;
            }
            _ => {
                let Some((hash, taken)) = again else {
                    return false;
                };
                again = Some((hash, taken + 1));
                at = hash + 1;
                word = taken + 1;
            }
        }
    }
    pattern.iter().skip(at).all(|word| *word == "#")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_at_the_end_stands_for_any_text() {
        assert!(is_matched("a*", "abc") && is_matched("a*", "a") && is_matched("*", ""));
        assert!(!is_matched("a*", "b") && !is_matched("a*c", "abc") && is_matched("a", "a"));
    }

    #[test]
    fn names_of_users_are_put_in_for_keywords() {
        let of = |user: &str, text: &str| Substitutes::of(user).put_into(text);
        assert_eq!(of("bob@QPID", "tmp-${userdomain}"), "tmp-bob_QPID");
        assert_eq!(of("c.e.r@BIG.COM", "${user}/${domain}"), "c_e_r/BIG_COM");
        assert_eq!(of("c@", "${userdomain}"), "c_");
        assert_eq!(of("someuser", "${userdomain}${domain}"), "someuser");
    }

    #[test]
    fn keywords_are_put_into_keys_for_names() {
        let of = |user: &str, key: &str| Substitutes::of(user).taken_out_of(key);
        assert_eq!(of("u@CO", "u_CO.cd"), "${userdomain}.cd");
        assert_eq!(of("u1@CO", "u1.CO.x"), "${user}.${domain}.x");
        assert_eq!(of("user", "user.x"), "${userdomain}.x");
        assert_eq!(of("", "x"), "x");
        assert_eq!(of("é@ü", "é.ü.ö"), "${user}.${domain}.ö");
    }

    #[test]
    fn patterns_match_whole_words() {
        for (pattern, key) in [
            ("ab.cd.e", "ab.cd.e"),
            (".", "."),
            ("a.*.b", "a.xx.b"),
            ("*.x", ".x"),
            ("a.#.b", "a.b"),
            ("a.#.b", "a..x.y.zz.b"),
            ("a.#", "a"),
            ("#.a", "x.y.a"),
            ("a.#.b.#.c", "a.x.x.b.y.y.c"),
            ("*.x.#.y", "a.x.p.qq.y"),
            ("a.#.b.*", "a.x.b.x.b.x"),
            ("*.*.*.#", "x.y.z"),
            ("#", ""),
        ] {
            assert!(is_topic_matched(pattern, key), "{pattern} {key}");
        }
        for (pattern, key) in [
            ("ab.cd.e", "ab.cd.e."),
            ("a.*.b", "a.b"),
            ("*.x", "x"),
            ("a.#.b", "a.b."),
            ("a.#.b", "q.x.b"),
            ("*.x.#.y", "a.a.x.y"),
            ("*.*.*.#", "x.y"),
        ] {
            assert!(!is_topic_matched(pattern, key), "{pattern} {key}");
        }
    }
}
