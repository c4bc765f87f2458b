//! Tests of `bench`.

use super::*;

#[test]
fn area_is_selected_by_name_and_other_arguments_are_passed_on() {
    let arguments = ["metrics".to_owned(), "--quick".to_owned()];
    let (areas, extra) = select(&arguments).unwrap();
    assert_eq!(areas.len(), 1);
    assert_eq!(areas[0].name, "metrics");
    assert_eq!(extra, ["--quick"]);
}

#[test]
fn all_areas_are_the_default() {
    let arguments = ["--quick".to_owned()];
    let (areas, extra) = select(&arguments).unwrap();
    assert_eq!(areas.len(), AREAS.len());
    assert_eq!(extra, ["--quick"]);
}

#[test]
fn unknown_area_error_lists_all_areas() {
    let text = select(&["everything".to_owned()]).err().unwrap().to_string();
    assert!(
        text.contains("`everything`") && text.contains("metrics, mcp, gateway, services"),
        "{text}"
    );
}
