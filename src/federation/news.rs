//! What links are told, kept until they look.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::broker::links::LinkNews;

/// News that are not read yet, taken together: however many there are, they take as much memory as there
/// are bindings.
///
/// Whoever listens ([`News::listen`]) has its own, and hears of bindings at once: a message that is wanted
/// may be published as soon as somebody has bound.
#[derive(Debug, Default)]
pub struct News {
    unread: Mutex<LinkNews>,
    come: Notify,
    listeners: Mutex<Vec<Weak<News>>>,
}

impl News {
    /// Something has happened. Of links hears the one reader, of bindings all that listen.
    pub fn add(&self, news: LinkNews) {
        let of_bindings = LinkNews {
            are_links: false,
            ..news
        };
        if of_bindings != LinkNews::default() {
            for listener in self.listeners() {
                listener.take_in(of_bindings.clone());
            }
        }
        if news.are_links {
            self.take_in(LinkNews {
                are_links: true,
                ..LinkNews::default()
            });
        }
    }

    /// News of bindings from now on.
    pub fn listen(&self) -> Arc<News> {
        let listener = Arc::<News>::default();
        let mut listeners = self.listeners.lock();
        // Bridges come and go also where nothing is bound, and a place keeps the memory of who had it.
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.push(Arc::downgrade(&listener));
        listener
    }

    /// Those that listen still.
    fn listeners(&self) -> Vec<Arc<News>> {
        let mut found = Vec::new();
        self.listeners.lock().retain(|listener| {
            let listener = listener.upgrade();
            let stays = listener.is_some();
            found.extend(listener);
            stays
        });
        found
    }

    fn take_in(&self, news: LinkNews) {
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
        news.add(of("e", "before"));
        let listener = news.listen();
        news.add(of("e", "a"));
        news.add(of("e", "b"));
        news.add(of("f", "a"));
        let all = listener.next().await;
        let counts: Vec<usize> = all.bindings.values().map(|keys| keys.len()).collect();
        assert_eq!((counts, all.are_links), (vec![2, 1], false));
        drop(listener);
        news.add(of("e", "c"));
        assert!(news.listeners().is_empty());
    }

    #[test]
    fn who_listens_no_more_is_forgotten_though_nothing_is_new() {
        let news = News::default();
        let stays = news.listen();
        for _ in 0..10 {
            drop(news.listen());
        }
        let last = news.listen();
        assert_eq!(news.listeners.lock().len(), 2);
        drop((stays, last));
    }

    #[tokio::test]
    async fn news_of_links_are_the_readers_and_those_of_bindings_are_not() {
        let news = News::default();
        news.add(LinkNews {
            are_links: true,
            ..of("e", "a")
        });
        let read = news.next().await;
        assert!(read.are_links && read.bindings.is_empty());
    }
}
