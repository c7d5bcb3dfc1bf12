//! The eight octets that open a connection in each direction.

/// `AMQP`, class 1 instance 1, version 0-10. A peer that asks for anything else is answered with
/// these octets and closed.
pub const BYTES: [u8; 8] = *b"AMQP\x01\x01\x00\x0a";
