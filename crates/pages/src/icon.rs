//! Icons: one path each, in the text colour.

use crate::Html;

/// The icon of a name; empty for an unknown one. Icons are decorative: the text says the same.
pub fn icon(name: &str) -> Html {
    let path = match name {
        "home" => "M3 11 12 3l9 8M5 9.5V21h5v-6h4v6h5V9.5",
        "chart" => "M4 20V10M10 20V4M16 20v-8M22 20H2",
        "receipt" => "M6 3h12v18l-3-2-3 2-3-2-3 2zM9 8h6M9 12h6",
        "key" => "M15.5 13.5a5 5 0 1 0-4.6-3L3 18.4V21h3v-2.5h2.5V16H11l1.5-1.5M17 7h.01",
        "cube" => "M12 3 4 7v10l8 4 8-4V7zM4 7l8 4 8-4M12 11v10",
        "chat" => "M4 5h16v11H9l-5 4z",
        "search" => "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM20 20l-4.8-4.8",
        "image" => "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9h.01",
        "plug" => "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
        "people" => {
            "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20a6.5 6.5 0 0 1 13 0M16 4.5a3.5 3.5 0 0 1 0 6M18 14a6.5 6.5 0 0 1 3.5 6"
        }
        "book" => "M5 4h14v16H5zM9 4v16M12 9h4M12 13h4",
        "server" => "M4 4h16v7H4zM4 13h16v7H4zM7.5 7.5h.01M7.5 16.5h.01",
        "tag" => "M4 4h8l8 8-8 8-8-8zM8.5 8.5h.01",
        "list" => "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
        "gear" => {
            "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM12 2.5v3M12 18.5v3M2.5 12h3M18.5 12h3M5.3 5.3l2.1 2.1M16.6 16.6l2.1 2.1M5.3 18.7l2.1-2.1M16.6 7.4l2.1-2.1"
        }
        "menu" => "M4 7h16M4 12h16M4 17h16",
        "copy" => "M9 9h11v11H9zM5 15H4V4h11v1",
        "check" => "M5 13l4.5 4.5L19 7",
        "warn" => "M12 4 2.5 20h19zM12 10v4M12 17h.01",
        "plus" => "M12 5v14M5 12h14",
        "back" => "M14 6l-6 6 6 6",
        "doc" => "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
        _ => return Html::default(),
    };
    Html(format!(
        "<svg class=\"icon\" viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"{path}\"/></svg>"
    ))
}
