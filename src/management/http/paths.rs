//! Names in paths.

/// What the default exchange, which has no name, is called in paths: as in RabbitMQ.
pub const DEFAULT_EXCHANGE: &str = "amq.default";

/// A binding key in a path. The empty one is `~`; one of nothing but `~` has one more.
pub fn of_key(key: &str) -> String {
    match key.bytes().all(|byte| byte == b'~') {
        true => format!("{key}~"),
        false => key.to_owned(),
    }
}

/// The binding key that a path means.
pub fn to_key(part: &str) -> &str {
    match part.strip_prefix('~') {
        Some(key) if key.bytes().all(|byte| byte == b'~') => key,
        _ => part,
    }
}

/// The exchange that a path means.
pub fn to_exchange(part: &str) -> &str {
    match part {
        DEFAULT_EXCHANGE => "",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_binding_key_has_a_path_of_its_own() {
        for key in ["", "~", "~~", "a.~", "#", "a/b"] {
            assert!(!of_key(key).is_empty());
            assert_eq!(to_key(&of_key(key)), key);
        }
    }
}
