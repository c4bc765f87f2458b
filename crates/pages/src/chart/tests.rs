//! Tests of `chart`.

use super::*;

#[test]
fn bars_are_stacked_and_scaled_to_a_round_number() {
    let labels = ["<mon>".to_owned(), "tue".to_owned()];
    let series = [
        Series { name: "a&b".to_owned(), values: vec![30, 0] },
        Series { name: "c".to_owned(), values: vec![10, 1] },
    ];
    let chart =
        BarChart { title: "Spend", labels: &labels, series: &series, show: |it| it.to_string() };
    let html = chart.full().to_string();
    assert!(html.contains("<span>40</span><span>20</span><span>0</span>"), "{html}");
    assert!(html.contains("<title>&lt;mon&gt;: 40</title>") && html.contains("a&amp;b"), "{html}");
    assert!(html.contains("y=\"250\" width=\"8\" height=\"750\""), "{html}");
    assert!(!html.contains("style="), "the policy refuses inline styles");
}

#[test]
fn charts_of_any_numbers_are_valid() {
    for value in [i64::MIN, -1, 0, 1, i64::MAX] {
        let labels = ["day".to_owned()];
        let series = [Series { name: "all".to_owned(), values: vec![value] }];
        let show = |it: i64| it.to_string();
        let chart = BarChart { title: "", labels: &labels, series: &series, show };
        assert!(chart.full().to_string().contains("</svg>"));
    }
    let empty = BarChart { title: "", labels: &[], series: &[], show: |it| it.to_string() };
    assert!(empty.full().to_string().contains("</svg>"));
}
