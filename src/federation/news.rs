//! What links are told, kept until they look.

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::broker::links::LinkNews;

/// News that are not read yet, taken together: however many there are, they take as much memory as there
/// are bindings.
#[derive(Debug, Default)]
pub struct News {
    unread: Mutex<LinkNews>,
    come: Notify,
}

impl News {
    /// Something has happened.
    pub fn add(&self, news: LinkNews) {
        let mut unread = self.unread.lock();
        unread.are_links |= news.are_links;
        for (exchange, keys) in news.bindings {
            unread.bindings.entry(exchange).or_default().extend(keys);
        }
        unread.again.extend(news.again);
        drop(unread);
        self.come.notify_one();
    }

    /// Waits until something has happened, and gives all of it. For one reader; safe to give up on.
    pub async fn next(&self) -> LinkNews {
        loop {
            let news = std::mem::take(&mut *self.unread.lock());
            if news != LinkNews::default() {
                return news;
            }
            self.come.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(exchange: &str, key: &str) -> LinkNews {
        let mut news = LinkNews::default();
        let keys = news.bindings.entry(exchange.into()).or_default();
        keys.insert(key.into());
        news
    }

    #[tokio::test]
    async fn what_comes_before_anybody_looks_is_taken_together() {
        let news = News::default();
        news.add(of("e", "a"));
        news.add(of("e", "b"));
        news.add(of("f", "a"));
        let all = news.next().await;
        let counts: Vec<usize> = all.bindings.values().map(|keys| keys.len()).collect();
        assert_eq!((counts, all.are_links), (vec![2, 1], false));
    }
}
