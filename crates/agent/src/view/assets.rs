//! The files of the page. They are part of the program: nothing is loaded from anywhere else.

use pages::{Asset, BASE_STYLE};

macro_rules! asset {
    ($name:literal, $media_type:literal) => {
        Asset {
            name: $name,
            media_type: concat!($media_type, "; charset=utf-8"),
            text: include_str!(concat!("../../assets/", $name)),
        }
    };
}

const ASSETS: [Asset; 12] = [
    BASE_STYLE,
    asset!("metrics.css", "text/css"),
    asset!("metrics.js", "text/javascript"),
    asset!("chart.js", "text/javascript"),
    asset!("data.js", "text/javascript"),
    asset!("detail.js", "text/javascript"),
    asset!("dom.js", "text/javascript"),
    asset!("overview.js", "text/javascript"),
    asset!("packages.js", "text/javascript"),
    asset!("route.js", "text/javascript"),
    asset!("table.js", "text/javascript"),
    asset!("words.js", "text/javascript"),
];

pub(super) fn find(name: &str) -> Option<Asset> {
    ASSETS.into_iter().find(|asset| asset.name == name)
}
