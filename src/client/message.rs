//! Messages to send and messages received.

use bytes::Bytes;

use crate::protocol::Body;
use crate::wire::{
    CommandId, DeliveryProperties, Map, MessageProperties, MessageTransfer, Struct, Value, header,
};

use super::error::Error;

/// The content of a message to send.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// Read by the broker: routing key, durability, time to live, priority.
    pub delivery: DeliveryProperties,
    /// For the receiver: content type, reply-to, ids, application headers.
    pub properties: MessageProperties,
    /// The body, in pieces.
    pub body: Body,
}

impl Message {
    /// A message with this body.
    pub fn new(body: impl Into<Bytes>) -> Message {
        let mut message = Message::default();
        let body = body.into();
        if !body.is_empty() {
            message.body.push(body);
        }
        message
    }

    /// With a routing key: for the default exchange the name of a queue.
    #[must_use]
    pub fn routing_key(mut self, key: &str) -> Message {
        self.delivery.routing_key = Some(key.into());
        self
    }

    /// With one more application header.
    #[must_use]
    pub fn application_header(mut self, key: &str, value: impl Into<Value>) -> Message {
        let headers = self
            .properties
            .application_headers
            .get_or_insert_with(Map::new);
        headers.insert(key, value);
        self
    }

    /// The header segment. The content length is always that of the body.
    pub(super) fn header(&self) -> Vec<u8> {
        let mut properties = self.properties.clone();
        properties.content_length = Some(self.body.iter().map(|piece| piece.len() as u64).sum());
        let mut rest = Vec::new();
        properties.encode(&mut rest);
        let mut header = Vec::new();
        header::encode(&Some(self.delivery.clone()), &rest, &mut header);
        header
    }
}

/// A message received. Until it is accepted, rejected or released, in explicit accept mode, the
/// broker keeps it for this session.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// Its id within the session: what accept, reject, release and acquire name.
    pub id: CommandId,
    /// Destination and modes.
    pub transfer: MessageTransfer,
    /// The header segment as it came.
    pub header: Option<Bytes>,
    /// The body segment as it came.
    pub body: Option<Body>,
}

impl Delivery {
    /// The body as one slice; copied only when it came in several pieces.
    pub fn body_bytes(&self) -> Bytes {
        match self.body.as_deref() {
            None | Some([]) => Bytes::new(),
            Some([whole]) => whole.clone(),
            Some(pieces) => Bytes::from(pieces.concat()),
        }
    }

    /// The delivery properties, default when there are none.
    ///
    /// # Errors
    /// The header cannot be read.
    pub fn delivery_properties(&self) -> Result<DeliveryProperties, Error> {
        Ok(header::split(self.header_bytes())?
            .delivery
            .unwrap_or_default())
    }

    /// The message properties, default when there are none.
    ///
    /// # Errors
    /// The header cannot be read.
    pub fn message_properties(&self) -> Result<MessageProperties, Error> {
        let parts = header::split(self.header_bytes())?;
        let range = parts.message_properties;
        match range.and_then(|range| parts.rest.get(range)) {
            Some(properties) => Ok(header::message_properties(properties)?),
            None => Ok(MessageProperties::default()),
        }
    }

    fn header_bytes(&self) -> &[u8] {
        self.header.as_deref().unwrap_or_default()
    }
}
