//! Every row of the approval table.

use super::*;

#[test]
fn call_without_a_choice_required_no_approval() {
    assert_eq!(call_approval(None), CallApproval::NotRequired);
    for answer in ApprovalOutcome::ALL {
        assert_eq!(call_approval(Some(*answer)).text(), answer.text());
    }
}
