//! Codes of the types that can stand in maps, lists and arrays.

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

/// `bin8`: 1 octet.
pub const BIN8: u8 = 0x00;
/// `int8`: 1 octet.
pub const INT8: u8 = 0x01;
/// `uint8`: 1 octet.
pub const UINT8: u8 = 0x02;
/// `char`: 1 octet.
pub const CHAR: u8 = 0x04;
/// `boolean`: 1 octet.
pub const BOOLEAN: u8 = 0x08;
/// `bin16`: 2 octets.
pub const BIN16: u8 = 0x10;
/// `int16`: 2 octets.
pub const INT16: u8 = 0x11;
/// `uint16`: 2 octets.
pub const UINT16: u8 = 0x12;
/// `bin32`: 4 octets.
pub const BIN32: u8 = 0x20;
/// `int32`: 4 octets.
pub const INT32: u8 = 0x21;
/// `uint32`: 4 octets.
pub const UINT32: u8 = 0x22;
/// `float`: 4 octets.
pub const FLOAT: u8 = 0x23;
/// `char-utf32`: 4 octets.
pub const CHAR_UTF32: u8 = 0x27;
/// `bin64`: 8 octets.
pub const BIN64: u8 = 0x30;
/// `int64`: 8 octets.
pub const INT64: u8 = 0x31;
/// `uint64`: 8 octets.
pub const UINT64: u8 = 0x32;
/// `double`: 8 octets.
pub const DOUBLE: u8 = 0x33;
/// `datetime`: 8 octets.
pub const DATETIME: u8 = 0x38;
/// `bin128`: 16 octets.
pub const BIN128: u8 = 0x40;
/// `uuid`: 16 octets.
pub const UUID: u8 = 0x48;
/// `bin256`: 32 octets.
pub const BIN256: u8 = 0x50;
/// `bin512`: 64 octets.
pub const BIN512: u8 = 0x60;
/// `bin1024`: 128 octets.
pub const BIN1024: u8 = 0x70;
/// `vbin8`: octets behind a count of 1.
pub const VBIN8: u8 = 0x80;
/// `str8-latin`: octets behind a count of 1.
pub const STR8_LATIN: u8 = 0x84;
/// `str8`: octets behind a count of 1.
pub const STR8: u8 = 0x85;
/// `str8-utf16`: octets behind a count of 1.
pub const STR8_UTF16: u8 = 0x86;
/// `vbin16`: octets behind a count of 2.
pub const VBIN16: u8 = 0x90;
/// `str16-latin`: octets behind a count of 2.
pub const STR16_LATIN: u8 = 0x94;
/// `str16`: octets behind a count of 2.
pub const STR16: u8 = 0x95;
/// `str16-utf16`: octets behind a count of 2.
pub const STR16_UTF16: u8 = 0x96;
/// `vbin32`: octets behind a count of 4.
pub const VBIN32: u8 = 0xa0;
/// `map`: octets behind a count of 4.
pub const MAP: u8 = 0xa8;
/// `list`: octets behind a count of 4.
pub const LIST: u8 = 0xa9;
/// `array`: octets behind a count of 4.
pub const ARRAY: u8 = 0xaa;
/// `struct32`: octets behind a count of 4.
pub const STRUCT32: u8 = 0xab;
/// `bin40`: 5 octets.
pub const BIN40: u8 = 0xc0;
/// `dec32`: 5 octets.
pub const DEC32: u8 = 0xc8;
/// `bin72`: 9 octets.
pub const BIN72: u8 = 0xd0;
/// `dec64`: 9 octets.
pub const DEC64: u8 = 0xd8;
/// `void`: 0 octets.
pub const VOID: u8 = 0xf0;
/// `bit`: 0 octets.
pub const BIT: u8 = 0xf1;

/// The name of the type with this code.
pub fn name(code: u8) -> Option<&'static str> {
    Some(match code {
        BIN8 => "bin8",
        INT8 => "int8",
        UINT8 => "uint8",
        CHAR => "char",
        BOOLEAN => "boolean",
        BIN16 => "bin16",
        INT16 => "int16",
        UINT16 => "uint16",
        BIN32 => "bin32",
        INT32 => "int32",
        UINT32 => "uint32",
        FLOAT => "float",
        CHAR_UTF32 => "char-utf32",
        BIN64 => "bin64",
        INT64 => "int64",
        UINT64 => "uint64",
        DOUBLE => "double",
        DATETIME => "datetime",
        BIN128 => "bin128",
        UUID => "uuid",
        BIN256 => "bin256",
        BIN512 => "bin512",
        BIN1024 => "bin1024",
        VBIN8 => "vbin8",
        STR8_LATIN => "str8-latin",
        STR8 => "str8",
        STR8_UTF16 => "str8-utf16",
        VBIN16 => "vbin16",
        STR16_LATIN => "str16-latin",
        STR16 => "str16",
        STR16_UTF16 => "str16-utf16",
        VBIN32 => "vbin32",
        MAP => "map",
        LIST => "list",
        ARRAY => "array",
        STRUCT32 => "struct32",
        BIN40 => "bin40",
        DEC32 => "dec32",
        BIN72 => "bin72",
        DEC64 => "dec64",
        VOID => "void",
        BIT => "bit",
        _ => return None,
    })
}
