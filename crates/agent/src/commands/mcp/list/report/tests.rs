//! Tests of `report`.

use super::*;

#[test]
fn ages_use_the_largest_fitting_unit() {
    let told = [0, 119, 120, 7199, 7200, 172_799, 172_800]
        .map(|seconds| ago(Duration::from_secs(seconds)));
    assert_eq!(told, ["0 s", "119 s", "2 min", "119 min", "2 h", "47 h", "2 d"]);
}
