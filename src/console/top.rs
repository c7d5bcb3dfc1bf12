//! What the queues do, again and again.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::client::Client;
use super::{Failure, print, table};

/// What a queue had counted at the last look.
#[derive(Clone, Copy, Default)]
struct Counted {
    enqueued: u64,
    dequeued: u64,
}

/// Looks so many times, 0 without end.
pub fn run(
    client: &Client,
    (interval, count, queues): (u64, u32, u16),
    is_json: bool,
) -> Result<(), Failure> {
    let path = format!("/api/queues?page=1&page_size={queues}&sort=messages&sort_reverse=true");
    let mut before: HashMap<String, Counted> = HashMap::new();
    let mut last: Option<Instant> = None;
    let mut looks = 0;
    loop {
        let page = client.get(&path)?;
        let now = Instant::now();
        let seconds = last.map(|last| (now - last).as_secs_f64());
        let items = page.get("items").and_then(Json::as_array).cloned();
        let mut now_counted = HashMap::new();
        let mut shown = Vec::new();
        for item in items.unwrap_or_default() {
            let name = item.get("name").and_then(Json::as_str).unwrap_or_default();
            let counted = counted(&item);
            let rate = before.get(name).zip(seconds).map(|(before, seconds)| {
                let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
                (
                    rate(counted.enqueued, before.enqueued),
                    rate(counted.dequeued, before.dequeued),
                )
            });
            let field = |name: &str| item.get(name).cloned().unwrap_or(Json::Null);
            shown.push(json!({
                "name": name,
                "messages": field("messages"),
                "message_bytes": field("message_bytes"),
                "consumers": field("consumers"),
                "in_per_second": rate.map(|rate| rate.0.round() as u64),
                "out_per_second": rate.map(|rate| rate.1.round() as u64),
            }));
            now_counted.insert(name.to_owned(), counted);
        }
        show(&shown, is_json)?;
        (before, last) = (now_counted, Some(now));
        looks += 1;
        if looks == count {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(interval));
    }
}

fn counted(item: &Json) -> Counted {
    let statistic = |name: &str| {
        let found = item.get("statistics").and_then(|all| all.get(name));
        found.and_then(Json::as_u64).unwrap_or(0)
    };
    Counted {
        enqueued: statistic("msgTotalEnqueues"),
        dequeued: statistic("msgTotalDequeues"),
    }
}

fn show(shown: &[Json], is_json: bool) -> Result<(), Failure> {
    let text = match is_json {
        true => format!("{}\n", Json::Array(shown.to_vec())),
        false => {
            let clear = match std::io::stdout().is_terminal() {
                true => "\u{1b}[2J\u{1b}[H",
                false => "",
            };
            let fields = [
                "name",
                "messages",
                "message_bytes",
                "consumers",
                "in_per_second",
                "out_per_second",
            ];
            format!("{clear}{}", table::of(&fields, shown))
        }
    };
    print(&text)
}
