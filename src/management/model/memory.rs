//! The memory of the process.

use super::World;
use crate::qmf::broker as schema;
use crate::qmf::object::{BROKER_NAME, Object};

/// What is known of it. What the allocator alone knows, it does not say: that stays absent.
pub(super) fn object(world: World<'_>) -> Object {
    let values = schema::Memory {
        name: BROKER_NAME.into(),
        malloc_arena: world.setting.heap_bytes,
        ..schema::Memory::default()
    };
    Object::new(values.into_values(), world.setting.of_the_start())
}
