//! Tests of `research`.

use super::*;

#[test]
fn a_job_id_corresponds_to_its_hold_id() {
    let id = HoldId::new(5, 7);
    assert_eq!(parse_id(&job_id(id)), Some(id));
    assert!(job_id(id).starts_with("job_") && job_id(id).len() == 36);
    for wrong in ["", "job_", "job_5", "req_5", &id.to_string(), "job_req_5"] {
        assert_eq!(parse_id(wrong), None, "{wrong}");
    }
}
