//! Every row of the tool tables, and the edges between them.

use super::*;

#[test]
fn category_name_is_a_toolset() {
    for expected in ToolCategory::ALL {
        assert_eq!(category(Some(expected.text())), *expected);
    }
}

#[test]
fn toolsets_have_categories() {
    let rows = [
        ("clarify", ToolCategory::Planning),
        ("kanban", ToolCategory::Planning),
        ("todo", ToolCategory::Planning),
        ("session_search", ToolCategory::Memory),
        ("cronjob", ToolCategory::Scheduler),
        ("skills", ToolCategory::Skill),
        ("x_search", ToolCategory::Web),
        ("mcp-github", ToolCategory::Mcp),
        ("mcp_anything", ToolCategory::Mcp),
        ("browser-use", ToolCategory::Browser),
        ("image_gen", ToolCategory::Media),
        ("tts", ToolCategory::Media),
        ("video_gen", ToolCategory::Media),
        ("vision", ToolCategory::Media),
        ("homeassistant", ToolCategory::HomeAutomation),
        ("discord_admin", ToolCategory::Communication),
        ("email", ToolCategory::Communication),
        ("feishu_doc", ToolCategory::Communication),
        ("agent-yuanbao", ToolCategory::Communication),
        ("slack", ToolCategory::Communication),
        ("sms", ToolCategory::Communication),
        (" Terminal ", ToolCategory::Terminal),
    ];
    for (toolset, expected) in rows {
        assert_eq!(category(Some(toolset)), expected, "{toolset}");
    }
}

#[test]
fn unlisted_toolset_is_other_and_missing_is_unknown() {
    for toolset in ["debugging", "todos", "my-mcp", "x_searching", "skillset", "webby"] {
        assert_eq!(category(Some(toolset)), ToolCategory::Other, "{toolset}");
    }
    for toolset in [None, Some(""), Some(" ")] {
        assert_eq!(category(toolset), ToolCategory::Unknown, "{toolset:?}");
    }
}

#[test]
fn no_prefix_shadows_another() {
    for (at, (prefix, _)) in TOOLSET_PREFIXES.iter().enumerate() {
        let others = TOOLSET_PREFIXES.iter().enumerate().filter(|(other, _)| *other != at);
        for (_, (other, _)) in others {
            assert!(!other.starts_with(prefix), "{prefix} {other}");
        }
    }
}

#[test]
fn status_maps_to_an_outcome() {
    let rows = [
        ("ok", ToolOutcome::Success),
        ("success", ToolOutcome::Success),
        ("error", ToolOutcome::Failed),
        ("failed", ToolOutcome::Failed),
        ("blocked", ToolOutcome::Blocked),
        ("cancelled", ToolOutcome::Cancelled),
        ("timeout", ToolOutcome::TimedOut),
        ("timed_out", ToolOutcome::TimedOut),
        (" OK ", ToolOutcome::Success),
        ("unknown", ToolOutcome::Unknown),
        ("canceled", ToolOutcome::Unknown),
        ("", ToolOutcome::Unknown),
    ];
    for (status, expected) in rows {
        assert_eq!(outcome(Some(status)), expected, "{status:?}");
    }
    assert_eq!(outcome(None), ToolOutcome::Unknown);
}

#[test]
fn open_tool_ends_like_its_task() {
    let rows = [
        (TaskOutcome::Cancelled, ToolOutcome::Cancelled),
        (TaskOutcome::TimedOut, ToolOutcome::TimedOut),
        (TaskOutcome::Failed, ToolOutcome::Failed),
        (TaskOutcome::Success, ToolOutcome::Failed),
        (TaskOutcome::Unknown, ToolOutcome::Failed),
    ];
    assert_eq!(rows.len(), TaskOutcome::ALL.len());
    for (task, expected) in rows {
        assert_eq!(outcome_at_task_end(task), expected, "{task}");
    }
}

#[test]
fn choice_is_approval_denial_or_neither() {
    let rows = [
        ("always", ApprovalOutcome::Approved),
        ("approve", ApprovalOutcome::Approved),
        ("approved", ApprovalOutcome::Approved),
        ("once", ApprovalOutcome::Approved),
        ("session", ApprovalOutcome::Approved),
        ("smart_approve", ApprovalOutcome::Approved),
        ("deny", ApprovalOutcome::Denied),
        ("denied", ApprovalOutcome::Denied),
        ("smart_deny", ApprovalOutcome::Denied),
        ("timeout", ApprovalOutcome::TimedOut),
        ("timed_out", ApprovalOutcome::TimedOut),
        (" Once ", ApprovalOutcome::Approved),
        ("yes", ApprovalOutcome::Unknown),
        ("unknown", ApprovalOutcome::Unknown),
        ("", ApprovalOutcome::Unknown),
    ];
    for (choice, expected) in rows {
        assert_eq!(approval(Some(choice)), expected, "{choice:?}");
    }
    assert_eq!(approval(None), ApprovalOutcome::Unknown);
}

#[test]
fn call_without_a_choice_required_no_approval() {
    assert_eq!(call_approval(None), CallApproval::NotRequired);
    for answer in ApprovalOutcome::ALL {
        assert_eq!(call_approval(Some(*answer)).text(), answer.text());
    }
}

#[test]
fn choice_applies_only_to_a_unique_match() {
    assert_eq!(attribution(0), Attribution::Unattributed);
    assert_eq!(attribution(1), Attribution::ToolCall);
    assert_eq!(attribution(2), Attribution::Unattributed);
    assert_eq!(attribution(usize::MAX), Attribution::Unattributed);
}
