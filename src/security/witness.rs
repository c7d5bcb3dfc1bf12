//! Who is told what management tells of rights.

use std::fmt::Debug;

use crate::broker::event::Event;

/// Is told of what rules decide. It keeps nobody waiting: what is too much for it is lost, and counted.
pub trait Witness: Debug + Send + Sync {
    /// Something has happened.
    fn saw(&self, event: Event);
}
