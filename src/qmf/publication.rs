//! A message that management has to say.

use crate::wire::{DeliveryProperties, MessageProperties, Text};

/// A message to be published.
#[derive(Clone, Debug, PartialEq)]
pub struct Publication {
    /// To which exchange. If there is none of that name, nobody is told.
    pub exchange: Text,
    /// With this routing key.
    pub routing_key: Text,
    /// Milliseconds until nobody wants to know any more.
    pub ttl: Option<u64>,
    /// The message properties.
    pub properties: MessageProperties,
    /// The body.
    pub body: Vec<u8>,
}

impl Publication {
    /// With the properties that every message has.
    pub fn new(exchange: impl Into<Text>, routing_key: impl Into<Text>, body: Vec<u8>) -> Self {
        Publication {
            exchange: exchange.into(),
            routing_key: routing_key.into(),
            ttl: None,
            properties: MessageProperties {
                content_length: Some(body.len() as u64),
                ..MessageProperties::default()
            },
            body,
        }
    }

    /// The header segment: delivery properties, then message properties.
    pub fn header(&self) -> Vec<u8> {
        let delivery = DeliveryProperties {
            routing_key: Some(self.routing_key.clone()),
            exchange: Some(self.exchange.clone()),
            ttl: self.ttl,
            ..DeliveryProperties::default()
        };
        let mut properties = Vec::new();
        crate::wire::header::encode_properties(&self.properties, &mut properties);
        let mut header = Vec::new();
        crate::wire::header::encode(&Some(delivery), &properties, &mut header);
        header
    }
}
