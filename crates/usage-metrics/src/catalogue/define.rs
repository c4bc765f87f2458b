//! The macro that generates types and data from the table.
//!
//! From one listing it generates an enum per value set, a struct per closed kind, the
//! [`Kind`](super::Kind) enum, and the static descriptions that the validator, the schema and the
//! pages read.

/// Defines the catalogue; used once, in `table.rs`.
macro_rules! catalogue {
    (
        resource { $( $field:ident : $field_type:ident, )+ }
        values { $(
            #[doc = $set_doc:literal]
            $set:ident { $( $variant:ident = $text:literal ),+ $(,)? }
        )+ }
        kinds { $(
            #[doc = $kind_doc:literal]
            $class:ident $kind:ident = $name:literal { $($dimensions:tt)* }
        )+ }
    ) => {
        $(
            crate::text_enum::text_enum! {
                #[doc = $set_doc]
                pub enum $set { $( #[doc = concat!("`", $text, "`")] $variant = $text, )+ }
            }

            impl $set {
                pub const SUMMARY: &'static str = $set_doc.trim_ascii_start();
            }
        )+

        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Kind { $( #[doc = $kind_doc] $kind, )+ }

        impl Kind {
            pub const ALL: &'static [Kind] = &[ $( Kind::$kind ),+ ];
        }

        /// The description of every kind, indexed by `Kind as usize`.
        pub static KINDS: [super::KindSpec; Kind::ALL.len()] = [ $( super::KindSpec {
            kind: Kind::$kind,
            name: $name,
            summary: $kind_doc.trim_ascii_start(),
            keys: catalogue!(@keys $class { $($dimensions)* }),
            dimensions: catalogue!(@dimensions $class { $($dimensions)* }),
        } ),+ ];

        pub static NAMES: &[&str] = &[ $( $name ),+ ];

        /// The listed fields of the resource block.
        pub static RESOURCE: &[super::DimensionSpec] = &[ $( super::DimensionSpec {
            key: stringify!($field),
            summary: $field_type::SUMMARY,
            domain: super::Domain::Listed($field_type::TEXTS),
        } ),+ ];

        /// The keys of the resource block, sorted.
        pub static RESOURCE_KEYS: &[&str] = &["agent_version", $( stringify!($field) ),+];

        $( catalogue!(@event $class $kind_doc $kind { $($dimensions)* }); )+
    };

    (@keys closed { $( $key:ident : $set:ident, )* }) => { &[ $( stringify!($key) ),* ] };
    (@keys open { $( #[doc = $doc:literal] $key:ident : $max:literal, )+ }) => {
        &[ $( stringify!($key) ),+ ]
    };

    (@dimensions closed { $( $key:ident : $set:ident, )* }) => {
        &[ $( super::DimensionSpec {
            key: stringify!($key),
            summary: $set::SUMMARY,
            domain: super::Domain::Listed($set::TEXTS),
        } ),* ]
    };
    (@dimensions open { $( #[doc = $doc:literal] $key:ident : $max:literal, )+ }) => {
        &[ $( super::DimensionSpec {
            key: stringify!($key),
            summary: $doc.trim_ascii_start(),
            domain: super::Domain::Identifier { max_chars: $max },
        } ),+ ]
    };

    (@event closed $doc:literal $kind:ident { $( $key:ident : $set:ident, )* }) => {
        #[doc = $doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $kind { $( #[doc = concat!("The `", stringify!($key), "` dimension.")] pub $key: $set, )* }

        impl super::Event for $kind {
            const KIND: Kind = Kind::$kind;

            #[inline]
            fn index(&self) -> u32 {
                let index = 0;
                $( let index = index * super::cell::radix($set::TEXTS) + self.$key as u32; )*
                index
            }
        }
    };
    (@event open $doc:literal $kind:ident $dimensions:tt) => {};
}

pub(super) use catalogue;
