//! Tests of `tool_table`.

use proptest::prelude::*;

use super::*;

#[test]
fn valid_tool_names_are_unchanged() {
    let mut table = ToolTable::default();
    let look = Tool::new(ToolKind::Function, None, "look");
    assert_eq!(table.add(look.clone()).as_deref(), Some("look"));
    assert_eq!(table.add(look.clone()), None);
    let grouped = Tool::new(ToolKind::Function, Some("mcp__birds"), "look");
    assert_eq!(table.add(grouped.clone()).as_deref(), Some("mcp__birds__look"));
    let clash = Tool::new(ToolKind::Function, Some("mcp"), "birds__look");
    let clash_name = table.add(clash.clone()).unwrap();
    assert!(clash_name.starts_with("mcp__birds__look_"), "{clash_name}");
    for tool in [look, grouped, clash] {
        assert_eq!(table.tool(&table.function(&tool)), tool);
    }
    assert_eq!(table.tool("invented").name, "invented");
}

proptest! {
    #[test]
    fn every_tool_gets_a_unique_valid_name(
        tools in proptest::collection::vec((proptest::option::of("[a-z._é]{0,70}"), "[a-z._ ]{0,80}"), 0..12)
    ) {
        let mut table = ToolTable::default();
        let tools: Vec<Tool> = tools.iter()
            .map(|(namespace, name)| Tool::new(ToolKind::Function, namespace.as_deref(), name))
            .collect();
        for tool in &tools {
            table.add(tool.clone());
        }
        for tool in &tools {
            let name = table.function(tool);
            prop_assert!(name.len() <= MAX_FUNCTION_NAME_BYTES);
            prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)));
            prop_assert_eq!(&table.tool(&name), tool);
        }
    }
}
