//! What things of the schema are called in Rust.

/// `someName` as the words of it: a run of capitals is one word.
fn words(name: &str) -> Vec<String> {
    let name = name.replace("IDs", "Ids").replace("ID", "Id");
    let letters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (index, &letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| letters[index]);
        let after = letters.get(index + 1);
        let begins = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                !before.is_ascii_uppercase() || after.is_some_and(char::is_ascii_lowercase)
            });
        if (begins || letter == '_') && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter != '_' {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.push(word);
    words
}

/// `someName` as `some_name`.
pub fn snake(name: &str) -> String {
    match words(name).join("_").as_str() {
        "type" => "r#type".to_owned(),
        other => other.to_owned(),
    }
}

/// `someName` as `SomeName`.
pub fn camel(name: &str) -> String {
    let capital = |word: String| word[..1].to_uppercase() + &word[1..];
    words(name).into_iter().map(capital).collect()
}

/// `someName` as `SOME_NAME`.
pub fn constant(name: &str) -> String {
    words(name).join("_").to_uppercase()
}

/// `org.apache.qpid.broker` as `broker`.
pub fn module(package: &str) -> &str {
    package.rsplit('.').next().unwrap_or(package)
}
