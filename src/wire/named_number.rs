//! Numbers on the wire of which some have a name.

/// Defines a newtype over a number with named values. A value without a name is as good as one
/// with: it is kept, compared and printed, never refused by accident.
macro_rules! named_number {
    (
        $(#[$about:meta])*
        pub struct $name:ident($base:ident) {
            $($(#[$value_about:meta])* $value:ident = $number:literal, $text:literal;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $base);

        impl $name {
            $($(#[$value_about])* pub const $value: Self = Self($number);)*

            /// The name of the value, if it has one.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$value => Some($text),)*
                    _ => None,
                }
            }

            /// Reads a value.
            #[allow(dead_code, reason = "not every number is a field of its own")]
            pub(crate) fn decode(
                cursor: &mut $crate::wire::Cursor<'_>,
            ) -> Result<Self, $crate::wire::DecodeError> {
                cursor.$base().map(Self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{}", self.0),
                }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => write!(f, "{} {name}", self.0),
                    None => write!(f, "{}", self.0),
                }
            }
        }
    };
}

pub(crate) use named_number;
