//! The `ferrymq` binary.

fn main() {}
