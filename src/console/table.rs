//! Tables for people.

use serde_json::Value as Json;

/// A value as it stands in a table. What would move the cursor is written out.
pub fn cell(value: Option<&Json>) -> String {
    match value {
        None | Some(Json::Null) => "-".to_owned(),
        Some(Json::String(text)) if text.is_empty() => "''".to_owned(),
        Some(Json::String(text)) => text
            .chars()
            .map(|c| match c.is_control() {
                true => c.escape_default().to_string(),
                false => c.to_string(),
            })
            .collect(),
        Some(Json::Bool(true)) => "yes".to_owned(),
        Some(Json::Bool(false)) => "no".to_owned(),
        Some(other) => other.to_string(),
    }
}

/// Lines with a title, columns one below the other. Numbers stand at the right.
pub fn lines(titles: &[&str], rows: &[Vec<String>]) -> String {
    let width = |(at, title): (usize, &&str)| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        let widths = cells.map(|cell| cell.chars().count());
        widths.chain([title.len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = titles.iter().enumerate().map(width).collect();
    let titles: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&titles).chain(rows) {
        let cells = row.iter().zip(&widths).map(|(cell, width)| {
            let is_number = cell
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.');
            match is_number {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A table of some fields of items.
pub fn of(fields: &[&str], items: &[Json]) -> String {
    let row = |item: &Json| fields.iter().map(|field| cell(item.get(*field))).collect();
    let rows: Vec<Vec<String>> = items.iter().map(row).collect();
    let titles: Vec<String> = fields.iter().map(|field| field.to_uppercase()).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    lines(&titles, &rows)
}

/// Names and values of one thing.
pub fn one(item: &Json) -> String {
    let mut text = String::new();
    for (name, value) in item.as_object().into_iter().flatten() {
        text.push_str(&format!("{name}: {}\n", cell(Some(value))));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_stand_at_the_right_and_nothing_moves_the_cursor() {
        let items = [
            json!({"name": "a\u{1b}[2J", "messages": 5}),
            json!({"name": "b", "messages": 12345, "durable": true}),
        ];
        let text = of(&["name", "messages"], &items);
        let wanted = "NAME        MESSAGES\na\\u{1b}[2J         5\nb              12345\n";
        assert_eq!(text, wanted);
    }
}
