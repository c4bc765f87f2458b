//! Calls of a streamed completion as items of a response.

use bytes::BytesMut;
use serde_json::json;

use super::super::super::Malformed;
use super::super::super::chunk::CallDelta;
use super::super::super::tool_table::ToolKind;
use super::super::output::{DeltaEvent, Item, Kind, SearchItem, call_id_prefix};
use super::super::tools::free_form_input;
use super::Stream;

impl Stream {
    /// Appends to a call, which begins with its name.
    pub(super) fn call(
        &mut self,
        delta: &CallDelta<'_>,
        out: &mut BytesMut,
    ) -> Result<(), Malformed> {
        let fragment = delta.arguments();
        self.round.grow(fragment)?;
        let n = match self.round.calls.find(delta) {
            Some(n) => n,
            None => self.begin_call(delta, out)?,
        };
        let Item { id, kind } = &mut self.items[n];
        match kind {
            Kind::Call { tool, arguments, .. } => {
                arguments.push_str(fragment);
                // Other calls have no events for JSON arguments.
                if tool.kind == ToolKind::Function && !fragment.is_empty() {
                    let default = DeltaEvent::default();
                    let delta =
                        DeltaEvent { item_id: id, output_index: n, delta: fragment, ..default };
                    self.events.write(out, "response.function_call_arguments.delta", &delta);
                }
            }
            Kind::Search(search) => search.arguments.push_str(fragment),
            Kind::Parts { .. } => {}
        }
        Ok(())
    }

    fn begin_call(
        &mut self,
        delta: &CallDelta<'_>,
        out: &mut BytesMut,
    ) -> Result<usize, Malformed> {
        let function = delta.name().ok_or(Malformed::Missing("name of a call"))?;
        self.close_speech("completed", out);
        let call_id = delta.id().map(str::to_owned);
        let call_id = call_id.unwrap_or_else(|| (self.round.ids)("call"));
        self.round.calls.add(delta.index, &call_id, self.items.len());
        let tool = self.round.tools.tool(function);
        let id = (self.round.ids)(call_id_prefix(tool.kind));
        let is_search = tool.kind == ToolKind::WebSearch;
        let arguments = String::new();
        let kind = if is_search {
            let function = function.to_owned();
            Kind::Search(SearchItem { call_id, function, arguments, result: None })
        } else {
            Kind::Call { call_id, tool, arguments }
        };
        let n = self.add(Item { id, kind }, out);
        if is_search {
            self.search_event(n, "response.web_search_call.in_progress", out);
        }
        Ok(n)
    }

    pub(super) fn close_call(&mut self, n: usize, status: &str, out: &mut BytesMut) {
        let Item { id, kind } = &self.items[n];
        match kind {
            Kind::Call { tool, arguments, .. } => match tool.kind {
                ToolKind::Custom => {
                    let input = free_form_input(arguments);
                    let default = DeltaEvent::default();
                    let delta =
                        DeltaEvent { item_id: id, output_index: n, delta: &input, ..default };
                    self.events.write(out, "response.custom_tool_call_input.delta", &delta);
                    let done = json!({ "item_id": id, "output_index": n, "input": input });
                    self.events.write(out, "response.custom_tool_call_input.done", &done);
                }
                ToolKind::Function => {
                    let done = json!({
                        "item_id": id, "output_index": n, "name": tool.name, "arguments": arguments,
                    });
                    self.events.write(out, "response.function_call_arguments.done", &done);
                }
                ToolKind::ToolSearch | ToolKind::WebSearch => {}
            },
            // A search with a result is closed already.
            Kind::Search(search) if search.result.is_some() => return,
            Kind::Search(_) | Kind::Parts { .. } => {}
        }
        self.close_item(n, status, out);
    }
}
