//! The broker core: what a message meets between the session that sent it and the one that takes it.

pub mod selector;
