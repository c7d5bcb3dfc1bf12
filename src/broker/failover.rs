//! Where clients find the members of a cluster: what those are told that listen at the exchange
//! `amq.failover`, as the cluster of Qpid C++ told them. Clients of that time go by it: the C++ client's
//! `FailoverUpdates`, `qpid.util.auto_fetch_reconnect_urls` of Python, the failover method of Java.

use super::encoding::record;
use super::limits;
use super::message::Message;
use crate::wire::{self, Array, Map, MessageProperties, Text, Value};

/// The exchange's name, its type, and the header that holds the list.
pub const FAILOVER: &str = "amq.failover";

/// Where each member is found, as URLs in the form of `connection.open-ok`'s known hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Failover {
    urls: Vec<Text>,
}
record!(Failover { urls });

impl Failover {
    /// The URLs, one a member. Empty for a broker that is in no cluster.
    pub fn urls(&self) -> &[Text] {
        &self.urls
    }

    /// Sets them, [`limits::MEMBERS_MAX`] at most. Gives whether that changes them.
    pub fn set(&mut self, mut urls: Vec<Text>) -> bool {
        urls.truncate(limits::MEMBERS_MAX);
        let is_new = urls != self.urls;
        self.urls = urls;
        is_new
    }

    /// The message that says so: no body, and the list as an application header. None when that is
    /// longer than headers can be.
    pub fn message(&self) -> Option<Message> {
        let list = Value::Array(Array::of_str16(self.urls.iter().cloned()));
        let properties = MessageProperties {
            content_length: Some(0),
            application_headers: Some([(FAILOVER, list)].into_iter().collect::<Map>()),
            ..MessageProperties::default()
        };
        let mut header = Vec::new();
        wire::header::encode_properties(&properties, &mut header);
        Message::new(Some(&header), Some(&[]), FAILOVER).ok()
    }
}
