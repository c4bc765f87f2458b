//! Enums whose variants have names, as databases and the API write them.

/// Declares an enum with named variants.
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        pub enum $kind:ident {
            $($(#[$of_variant:meta])* $variant:ident = $name:literal,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $kind {
            $($(#[$of_variant])* $variant,)*
        }

        impl $kind {
            pub const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.as_str() == text)
            }
        }
    };
}
