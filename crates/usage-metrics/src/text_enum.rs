//! Enums whose variants have texts, as packages and reports write them.

/// Declares an enum with a text for each variant.
macro_rules! text_enum {
    (
        $(#[$attribute:meta])*
        pub enum $kind:ident {
            $($(#[$of_variant:meta])* $variant:ident = $text:literal,)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize,
            serde::Deserialize,
        )]
        #[repr(u8)]
        pub enum $kind { $($(#[$of_variant])* #[serde(rename = $text)] $variant,)+ }

        impl $kind {
            pub const ALL: &'static [$kind] = &[$($kind::$variant),+];
            pub const TEXTS: &'static [&'static str] = &[$($text),+];

            pub const fn text(self) -> &'static str {
                Self::TEXTS[self as usize]
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::TEXTS.iter().position(|known| *known == text).map(|at| Self::ALL[at])
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(self.text())
            }
        }
    };
}

pub(crate) use text_enum;
