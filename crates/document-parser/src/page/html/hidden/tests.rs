//! Tests of `hidden`.

use super::*;

#[test]
fn hiding_styles_are_detected() {
    for style in [
        "display:none", "DISPLAY : NONE !important", "color:red;visibility:hidden", "opacity:0",
        "opacity: 0.001", "font-size:0px", "font-size: 0", "height:0;overflow:hidden",
        "position:absolute;left:-9999px", "top:-10000em; position:fixed", "text-indent:-9999px",
        "clip:rect(0 0 0 0)", "clip-path: inset(50%)", "color:transparent",
        "color: rgba(0, 0, 0, 0)", "transform:scale(0)", "width:1px",
    ] {
        assert!(is_hiding(style), "{style}");
    }
    for style in [
        "", "display:block", "opacity:1", "opacity:0.5", "font-size:12px", "left:-9999px",
        "position:absolute;left:-10px", "height:100px", "color:#000", "color:rgba(0,0,0,.8)",
        "text-indent:-1em", "margin:0", "nonsense",
    ] {
        assert!(!is_hiding(style), "{style}");
    }
}
