//! The facts that every page needs: title, assets, navigation, account.

use crate::{Html, icon};

/// The frame of a page: field `frame` of every template.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// The title of the page.
    pub title: String,
    /// The name of the site.
    pub site: String,
    /// The path of the assets: [`crate::AssetSet::path`].
    pub assets: String,
    /// The links of the navigation. A page without them has no header.
    pub nav: Vec<NavItem>,
    /// The signed-in account.
    pub account: Option<Account>,
    /// A message above the content.
    pub notice: Option<Notice>,
}

/// A message: `kind` is `good`, `warn` or `bad`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Its colour and icon.
    pub kind: &'static str,
    /// What it says.
    pub text: String,
}

impl Notice {
    /// The icon.
    pub fn image(&self) -> Html {
        icon(if self.kind == "good" { "check" } else { "warn" })
    }

    /// Bad news interrupts a screen reader, good news wait.
    pub fn role(&self) -> &'static str {
        if self.kind == "good" { "status" } else { "alert" }
    }
}

/// A link of the navigation.
#[derive(Debug, Clone)]
pub struct NavItem {
    /// The heading above it, if it begins a group.
    pub group: &'static str,
    /// Its text.
    pub name: &'static str,
    /// Its address.
    pub path: &'static str,
    /// The name of its icon.
    pub icon: &'static str,
    /// Whether it leads to the page itself.
    pub is_current: bool,
}

/// The signed-in account.
#[derive(Debug, Clone)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// What it signed in with.
    pub detail: String,
    /// The token of its forms.
    pub csrf: String,
}

impl NavItem {
    /// The icon.
    pub fn image(&self) -> Html {
        icon(self.icon)
    }
}
