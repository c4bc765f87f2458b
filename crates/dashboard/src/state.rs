//! State shared by all pages.

use std::sync::Arc;

use pages::AssetSet;

use crate::access::{Access, Links};
use crate::jobs::Jobs;
use crate::live_chat::LiveChats;
use crate::program::Program;
use crate::server_watch::ServerWatch;

#[derive(Debug)]
pub(crate) struct App {
    pub(crate) program: Program,
    pub(crate) access: Access,
    pub(crate) assets: AssetSet,
    pub(crate) servers: ServerWatch,
    pub(crate) chats: LiveChats,
    pub(crate) jobs: Jobs,
    pub(crate) links: Links,
}

pub(crate) type Shared = axum::extract::State<Arc<App>>;
