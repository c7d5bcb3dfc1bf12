//! What a connection is told at its start.

use crate::wire::{Map, Text};

use super::limits;

/// What both roles bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of one incoming message, header and body. Above it the command is refused with 506.
    pub assembly_bytes_max: usize,
    /// Bytes of all half-received messages of the connection. Above it likewise 506.
    pub assemblies_bytes_max: usize,
    /// Sessions attached at one moment.
    pub sessions_max: usize,
    /// Milliseconds from the start to `connection.open`.
    pub negotiate_milliseconds: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            assembly_bytes_max: limits::ASSEMBLY_BYTES_MAX,
            assemblies_bytes_max: limits::ASSEMBLIES_BYTES_MAX,
            sessions_max: limits::SESSIONS_MAX,
            negotiate_milliseconds: limits::NEGOTIATE_MILLISECONDS,
        }
    }
}

/// The broker's side of a connection.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// `connection.start.server-properties`.
    pub server_properties: Map,
    /// SASL mechanisms offered, one name each.
    pub mechanisms: Vec<Text>,
    /// Locales offered.
    pub locales: Vec<Text>,
    /// Highest channel number offered.
    pub channel_max: u16,
    /// Largest whole frame offered, in bytes; at least 4096.
    pub max_frame_size: u16,
    /// Shortest heartbeat interval offered, in seconds.
    pub heartbeat_min: u16,
    /// Longest heartbeat interval offered, in seconds.
    pub heartbeat_max: u16,
    /// What the peer may make this connection hold.
    pub bounds: Bounds,
}

impl Default for BrokerConfig {
    /// The values that qpidd offers, with no properties and no mechanism.
    fn default() -> Self {
        BrokerConfig {
            server_properties: Map::new(),
            mechanisms: Vec::new(),
            locales: vec![Text::from("en_US")],
            channel_max: limits::CHANNEL_MAX,
            max_frame_size: limits::MAX_FRAME_SIZE,
            heartbeat_min: 0,
            heartbeat_max: limits::HEARTBEAT_MAX_SECONDS,
            bounds: Bounds::default(),
        }
    }
}

/// The client's side of a connection.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// `connection.start-ok.client-properties`.
    pub client_properties: Map,
    /// `connection.open.virtual-host`.
    pub virtual_host: Text,
    /// Highest channel number wanted; the broker's offer bounds it.
    pub channel_max: u16,
    /// Largest whole frame wanted, in bytes; the broker's offer bounds it.
    pub max_frame_size: u16,
    /// Heartbeat interval wanted, in seconds; 0 for none. The broker's offer bounds it.
    pub heartbeat: u16,
    /// What the peer may make this connection hold.
    pub bounds: Bounds,
}

impl Default for ClientConfig {
    fn default() -> Self {
        ClientConfig {
            client_properties: Map::new(),
            virtual_host: Text::from(""),
            channel_max: limits::CHANNEL_MAX,
            max_frame_size: limits::MAX_FRAME_SIZE,
            heartbeat: 0,
            bounds: Bounds::default(),
        }
    }
}
