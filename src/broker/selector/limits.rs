//! The bounds of a selector. A peer writes the selector and the message that it is held against.

/// Bytes of selector text. A `str16` cannot carry more; a longer one would only come from
/// management or from options.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Nesting of brackets, `NOT` and signs. Parsing, evaluation and dropping recurse once a level: at
/// the bound that takes about 200 KiB of stack optimised and 700 KiB unoptimised, of the 2 MiB that
/// a thread has. Chains of `AND`, `OR`, `+` and `*` and lists are flat and do not count.
pub const DEPTH_MAX: usize = 64;

/// Different identifiers in one selector. Each is looked up once a message, and a look-up may walk
/// all headers of the message.
pub const IDENTIFIERS_MAX: usize = 256;

/// Work that one evaluation may spend on text: a character of a `LIKE`, or
/// [`BYTES_A_STEP`] bytes of an equality, is a step. A `LIKE` over a header of 64 KiB costs
/// about 64 Ki steps; only selectors written to be slow pass the bound. What passes it does not
/// match, on every member alike.
pub const STEPS_MAX: u32 = 1 << 20;

/// Bytes of two equally long texts compared in one step.
pub const BYTES_A_STEP: usize = 16;
