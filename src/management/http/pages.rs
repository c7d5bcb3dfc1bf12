//! Lists in pages, filtered by name and sorted.

use std::cmp::Ordering;

use serde_json::{Value as Json, json};

use super::limits::{ITEMS_MAX, PAGE_SIZE};
use super::problem::Problem;

/// What a list is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Which page, the first is 1; None for all items without pages.
    pub page: Option<usize>,
    /// Items on a page.
    pub page_size: usize,
    /// The items' label has this text in it, whatever its case.
    pub name: Option<String>,
    /// The field that items are sorted by; without one they come by name.
    pub sort: Option<String>,
    /// Whether the last comes first.
    pub is_reverse: bool,
}

impl Wish {
    /// Of the parameters of a request, which were looked at as their operation describes them: numbers
    /// are some, and within their bounds.
    ///
    /// # Errors
    /// There is no such field to sort by.
    pub fn of(query: &[(String, String)], fields: &[&str]) -> Result<Wish, Problem> {
        let mut wish = Wish {
            page_size: PAGE_SIZE,
            ..Wish::default()
        };
        for (name, value) in query {
            match name.as_str() {
                "page" => wish.page = value.parse().ok(),
                "page_size" => {
                    wish.page_size = value.parse().unwrap_or(PAGE_SIZE);
                    wish.page.get_or_insert(1);
                }
                "name" => wish.name = Some(value.to_lowercase()).filter(|name| !name.is_empty()),
                "sort" if fields.contains(&value.as_str()) => wish.sort = Some(value.clone()),
                "sort" => {
                    let text = format!(
                        "sort: no field of that name; there are {}",
                        fields.join(", ")
                    );
                    return Err(Problem::bad(text));
                }
                "sort_reverse" => wish.is_reverse = value == "true",
                _ => {}
            }
        }
        Ok(wish)
    }

    /// Whether an item with that label is wanted.
    pub fn wants(&self, label: &str) -> bool {
        let name = self.name.as_deref();
        name.is_none_or(|name| label.to_lowercase().contains(name))
    }

    /// Items from the first one to the last one on the page.
    fn end(&self) -> usize {
        match self.page {
            Some(page) => page.saturating_mul(self.page_size),
            None => ITEMS_MAX + 1,
        }
    }
}

/// Items kept beyond what a page needs before they are sorted and cut.
const SLACK: usize = 1_024;

/// Takes items as they are found and keeps those that a page may need.
#[derive(Debug)]
pub struct Pages {
    wish: Wish,
    /// Items that there are, and those that the filter lets through.
    total: usize,
    wanted: usize,
    kept: Vec<(Json, Json)>,
}

impl Pages {
    /// For a wish.
    pub fn new(wish: Wish) -> Pages {
        Pages {
            wish,
            total: 0,
            wanted: 0,
            kept: Vec::new(),
        }
    }

    /// Takes one item, if its label is wanted: `make` makes it and what it is sorted by.
    pub fn add(&mut self, label: &str, make: impl FnOnce(Option<&str>) -> (Json, Json)) {
        self.total += 1;
        if !self.wish.wants(label) {
            return;
        }
        self.wanted += 1;
        let is_ordered = self.wish.sort.is_none() && !self.wish.is_reverse;
        if is_ordered && self.kept.len() >= self.wish.end() {
            return;
        }
        self.kept.push(make(self.wish.sort.as_deref()));
        if self.kept.len() >= self.wish.end().saturating_mul(2).saturating_add(SLACK) {
            self.order();
        }
    }

    fn order(&mut self) {
        let is_reverse = self.wish.is_reverse;
        if self.wish.sort.is_some() || is_reverse {
            self.kept.sort_by(|one, other| match is_reverse {
                true => compare(&other.0, &one.0),
                false => compare(&one.0, &other.0),
            });
        }
        self.kept.truncate(self.wish.end());
    }

    /// The answer: a list, or an object with the items of one page, as in RabbitMQ.
    ///
    /// # Errors
    /// Without pages there are too many.
    pub fn answer(mut self) -> Result<Json, Problem> {
        self.order();
        let Some(page) = self.wish.page else {
            if self.wanted > ITEMS_MAX {
                let text = format!(
                    "{} items are too many for one answer: ask for pages (page, page_size)",
                    self.wanted
                );
                return Err(Problem::bad(text));
            }
            let items = self.kept.into_iter().map(|(_, item)| item);
            return Ok(Json::Array(items.collect()));
        };
        let size = self.wish.page_size;
        let items = self.kept.into_iter().skip((page - 1).saturating_mul(size));
        let items: Vec<Json> = items.take(size).map(|(_, item)| item).collect();
        Ok(json!({
            "page": page,
            "page_size": size,
            "page_count": self.wanted.div_ceil(size),
            "total_count": self.total,
            "filtered_count": self.wanted,
            "item_count": items.len(),
            "items": items,
        }))
    }
}

/// Null, truths, numbers, texts, and the rest, which has no order.
fn compare(one: &Json, other: &Json) -> Ordering {
    let rank = |json: &Json| match json {
        Json::Null => 0,
        Json::Bool(_) => 1,
        Json::Number(_) => 2,
        Json::String(_) => 3,
        Json::Array(_) | Json::Object(_) => 4,
    };
    match (one, other) {
        (Json::Bool(one), Json::Bool(other)) => one.cmp(other),
        (Json::String(one), Json::String(other)) => one.cmp(other),
        (Json::Number(one), Json::Number(other)) => match (one.as_u64(), other.as_u64()) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => {
                let float = |number: &serde_json::Number| number.as_f64().unwrap_or(0.0);
                float(one).total_cmp(&float(other))
            }
        },
        _ => rank(one).cmp(&rank(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(query: &[(&str, &str)]) -> Vec<(String, String)> {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        query.iter().map(pair).collect()
    }

    fn listed(query: &[(&str, &str)], count: u64) -> Result<Json, Problem> {
        let wish = Wish::of(&pairs(query), &["rest"])?;
        let mut pages = Pages::new(wish);
        for number in 0..count {
            pages.add(&format!("n{number:05}"), |_| {
                (json!(number % 7), json!(number))
            });
        }
        pages.answer()
    }

    #[test]
    fn without_pages_all_items_come_in_their_order() {
        assert_eq!(listed(&[], 3).expect("few"), json!([0, 1, 2]));
    }

    #[test]
    fn without_pages_too_many_items_are_refused() {
        let max = ITEMS_MAX as u64;
        assert!(listed(&[], max).is_ok());
        assert!(listed(&[], max + 1).is_err());
    }

    #[test]
    fn a_page_has_its_items_and_says_how_many_there_are() {
        let page = listed(&[("page", "2"), ("page_size", "2")], 5).expect("a page");
        assert_eq!(page["items"], json!([2, 3]));
        assert_eq!(page["page_count"], 3);
        assert_eq!(page["total_count"], 5);
    }

    #[test]
    fn sorting_is_of_all_items_and_not_of_those_that_came_first() {
        let query = [("page", "1"), ("page_size", "3"), ("sort", "rest")];
        let page = listed(&query, 9_000).expect("a page");
        assert_eq!(page["items"], json!([0, 7, 14]));
        let mut query = query.to_vec();
        query.push(("sort_reverse", "true"));
        let page = listed(&query, 9_000).expect("a page");
        assert_eq!(page["items"], json!([6, 13, 20]));
    }

    #[test]
    fn names_are_filtered_whatever_their_case() {
        let page = listed(&[("name", "N00001"), ("page", "1")], 12).expect("a page");
        assert_eq!(page["items"], json!([1]));
        assert_eq!(page["filtered_count"], 1);
    }

    #[test]
    fn a_list_is_not_sorted_by_a_field_that_its_items_do_not_have() {
        assert!(listed(&[("sort", "nothing")], 1).is_err());
    }
}
