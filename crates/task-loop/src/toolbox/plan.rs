//! The plan of a task: steps that the model updates and a person sees.

use std::sync::Arc;

use mcp_client::host::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use usage_metrics::catalogue::ToolCategory;

use super::Definition;
use super::OwnTool;

pub const NAME: &str = "update_plan";
const MAX_STEPS: usize = 50;
const TOKENS: u32 = 110;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Plan {
    #[serde(rename = "plan")]
    pub steps: Vec<PlanStep>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PlanStep {
    pub step: String,
    pub status: StepState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    Pending,
    InProgress,
    Completed,
}

impl Plan {
    pub fn parse(arguments: &Value) -> Result<Self, String> {
        let plan: Self = serde_json::from_value(arguments.clone()).map_err(|e| e.to_string())?;
        if plan.steps.len() > MAX_STEPS {
            return Err(format!("the plan has more than {MAX_STEPS} steps"));
        }
        Ok(plan)
    }
}

/// The plan stays in the conversation and is shown with each call: nothing is stored here.
#[derive(Debug, Clone, Copy)]
pub struct UpdatePlan;

impl OwnTool for UpdatePlan {
    fn definition(&self) -> Definition {
        Definition {
            name: Arc::from(NAME),
            description: Arc::from(
                "Shows the user your plan for a task of several steps. Call it again with all \
                 steps whenever one is started or completed. Not for simple tasks.",
            ),
            parameters: Arc::new(json!({
                "type": "object",
                "properties": {"plan": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "step": {"type": "string"},
                        "status": {
                            "type": "string",
                            "enum": ["pending", "in_progress", "completed"],
                        },
                    },
                    "required": ["step", "status"],
                    "additionalProperties": false,
                }}},
                "required": ["plan"],
                "additionalProperties": false,
            })),
            tokens: TOKENS,
        }
    }

    fn category(&self) -> ToolCategory {
        ToolCategory::Other
    }

    fn call(&self, arguments: Value) -> BoxFuture<Result<String, String>> {
        let done = Plan::parse(&arguments).map(|_| "the plan is shown to the user".to_owned());
        Box::pin(std::future::ready(done))
    }
}
