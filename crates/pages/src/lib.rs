//! Parts of the web pages: layout, stylesheet, components, icons, charts and response headers.
//!
//! Pages are rendered on the server. A page is an askama template in the crate that serves it. It extends
//! `layout.html` (navigation and account) or `bare.html` (one column) of this crate and has a field
//! `frame` of the type [`Frame`]. Everything that a browser loads is an [`Asset`] of the program.
#![expect(missing_docs, reason = "the names of most items explain them")]

mod asset;
mod chart;
mod form;
mod format;
mod frame;
mod html;
mod icon;
mod markdown;
mod response;
mod token;

pub use asset::{Asset, AssetSet, BASE_STYLE};
pub use chart::{BarChart, Series};
pub use form::{CSRF_HEADER, Fields, is_for_this_machine, is_same_site};
pub use format::{bytes, count, credits, duration, exact_time, moment};
pub use frame::{Account, Frame, NavItem, Notice};
pub use html::{Html, escape, tag};
pub use icon::icon;
pub use markdown::markdown;
pub use response::{html, redirect, secure};
pub use token::{Token, remove_cookie};
