//! The table: every kind of counter, every dimension, every value that can be recorded.
//!
//! This is the only listing. The doc comments are data: the catalogue page and the schema
//! descriptions contain them.

use super::define::catalogue;

catalogue! {
    resource {
        architecture: Architecture,
        install_method: InstallMethod,
        os_family: OsFamily,
    }

    values {
        /// Processor architecture the client runs on.
        Architecture {
            Arm = "arm", Arm64 = "arm64", Unknown = "unknown", X86 = "x86", X86_64 = "x86_64",
        }
        /// How the client was installed.
        InstallMethod {
            Apt = "apt", Docker = "docker", Git = "git", HomeManager = "home-manager",
            Homebrew = "homebrew", Nixos = "nixos", Pip = "pip", Unknown = "unknown",
        }
        /// Operating system family.
        OsFamily {
            Linux = "linux", Macos = "macos", Unknown = "unknown", Windows = "windows",
        }
        /// What the model call was for.
        CallRole { Primary = "primary" }
        /// Whether the model ran on this machine or network, or elsewhere.
        Locality { Local = "local", Remote = "remote", Unknown = "unknown" }
        /// Model family, derived from the model name.
        ModelFamily {
            Claude = "claude", Deepseek = "deepseek", Gemini = "gemini", Gemma = "gemma",
            Glm = "glm", Gpt = "gpt", Grok = "grok", Kimi = "kimi", Llama = "llama",
            Minimax = "minimax", Mimo = "mimo", Mistral = "mistral", Nemotron = "nemotron",
            Nova = "nova", O1 = "o1", O3 = "o3", O4 = "o4", Qwen = "qwen", Step = "step",
            Trinity = "trinity", Unknown = "unknown",
        }
        /// How the model call ended.
        ModelCallOutcome { Cancelled = "cancelled", Failed = "failed", Success = "success" }
        /// Kind of provider that served the model.
        ProviderFamily {
            Aggregator = "aggregator", Custom = "custom", Direct = "direct", Local = "local",
            Unknown = "unknown",
        }
        /// What started the task.
        Entrypoint {
            Api = "api", Background = "background", Batch = "batch", Delegated = "delegated",
            GatewayMessage = "gateway_message", Interactive = "interactive", Other = "other",
            Python = "python", ScheduledTask = "scheduled_task", Unknown = "unknown",
        }
        /// Where the task ran.
        ExecutionSurface {
            Api = "api", Batch = "batch", Cli = "cli", Desktop = "desktop", Gateway = "gateway",
            Other = "other", Python = "python", ScheduledTask = "scheduled_task", Tui = "tui",
            Unknown = "unknown",
        }
        /// How long the task took; upper bounds are exclusive.
        DurationBucket {
            Lt1s = "lt_1s", From1sTo5s = "1s_to_5s", From5sTo30s = "5s_to_30s",
            From30sTo2m = "30s_to_2m", From2mTo10m = "2m_to_10m", Gte10m = "gte_10m",
        }
        /// Why the task ended.
        EndReason {
            ApprovalDenied = "approval_denied", Completed = "completed", Failed = "failed",
            GuardrailBlocked = "guardrail_blocked", IterationLimit = "iteration_limit",
            SystemAborted = "system_aborted", TimedOut = "timed_out", Unknown = "unknown",
            UserCancelled = "user_cancelled",
        }
        /// How the task ended.
        TaskOutcome {
            Cancelled = "cancelled", Failed = "failed", Success = "success",
            TimedOut = "timed_out", Unknown = "unknown",
        }
        /// What ended the task early.
        Termination {
            None = "none", SystemAborted = "system_aborted", TimedOut = "timed_out",
            Unknown = "unknown", UserCancelled = "user_cancelled",
        }
        /// A count in six buckets.
        CountBucket {
            Zero = "0", One = "1", Two = "2", From3To5 = "3_to_5", From6To10 = "6_to_10",
            Gte11 = "gte_11",
        }
        /// Retries reported with the call, in buckets.
        RetryBucket {
            Zero = "0", One = "1", Two = "2", From3To5 = "3_to_5", From6To10 = "6_to_10",
            Gte11 = "gte_11", Unknown = "unknown",
        }
        /// Decision of the user or a policy about the call.
        CallApproval {
            Approved = "approved", Denied = "denied", NotRequired = "not_required",
            TimedOut = "timed_out", Unknown = "unknown",
        }
        /// How long the call took; upper bounds are exclusive.
        LatencyBucket {
            Lt100ms = "lt_100ms", From100msTo250ms = "100ms_to_250ms",
            From250msTo500ms = "250ms_to_500ms", From500msTo1s = "500ms_to_1s",
            From1sTo2s = "1s_to_2s", From2sTo5s = "2s_to_5s", From5sTo10s = "5s_to_10s",
            From10sTo30s = "10s_to_30s", Gte30s = "gte_30s", Unknown = "unknown",
        }
        /// How the tool call ended.
        ToolOutcome {
            Blocked = "blocked", Cancelled = "cancelled", Failed = "failed",
            Success = "success", TimedOut = "timed_out", Unknown = "unknown",
        }
        /// Category of the tool, never its name.
        ToolCategory {
            Browser = "browser", CodeExecution = "code_execution",
            Communication = "communication", ComputerUse = "computer_use",
            Delegation = "delegation", File = "file", HomeAutomation = "home_automation",
            Mcp = "mcp", Media = "media", Memory = "memory", Other = "other",
            Planning = "planning", Project = "project", Scheduler = "scheduler",
            Skill = "skill", Terminal = "terminal", Unknown = "unknown", Web = "web",
        }
        /// Whether the decision belonged to exactly one pending tool call.
        Attribution { ToolCall = "tool_call", Unattributed = "unattributed" }
        /// Decision on the approval request.
        ApprovalOutcome {
            Approved = "approved", Denied = "denied", TimedOut = "timed_out",
            Unknown = "unknown",
        }
        /// What happened to the skill.
        SkillAction {
            Archived = "archived", Created = "created", Edited = "edited",
            Installed = "installed", Patched = "patched", Restored = "restored",
            Stale = "stale",
        }
        /// Where the skill came from.
        Provenance {
            AgentCreated = "agent_created", External = "external", Installed = "installed",
            Local = "local", Unknown = "unknown",
        }
        /// Whether a reused skill had been patched since it was last used.
        PostPatchState {
            NoNewPatch = "no_new_patch", NotApplicable = "not_applicable",
            ReusedAfterPatch = "reused_after_patch",
        }
        /// Whether the skill had been used before.
        ReuseState { FirstUse = "first_use", Reused = "reused" }
    }

    kinds {
        /// The client was in use: at most once in any 24 hours, so its value is always 1.
        closed ClientActive = "agent.client.active" {}

        /// One call of a model, by family and outcome.
        closed ModelCall = "agent.model_call.count" {
            call_role: CallRole,
            locality: Locality,
            model_family: ModelFamily,
            outcome: ModelCallOutcome,
            provider_family: ProviderFamily,
        }

        /// One logical model call, by the identifiers of model and provider.
        open ModelRoute = "agent.model_route.count" {
            /// Identifier of the model, lower case.
            model: 256,
            /// Identifier of the provider, lower case.
            provider: 64,
        }

        /// A task began.
        closed TaskStarted = "agent.task_run.started" {
            entrypoint: Entrypoint,
            execution_surface: ExecutionSurface,
        }

        /// A task ended.
        closed TaskFinished = "agent.task_run.finished" {
            duration_bucket: DurationBucket,
            end_reason: EndReason,
            entrypoint: Entrypoint,
            execution_surface: ExecutionSurface,
            model_call_count_bucket: CountBucket,
            outcome: TaskOutcome,
            retry_count_bucket: CountBucket,
            termination: Termination,
            tool_call_count_bucket: CountBucket,
        }

        /// One call of a tool.
        closed ToolCall = "agent.tool_call.count" {
            approval_outcome: CallApproval,
            latency_bucket: LatencyBucket,
            outcome: ToolOutcome,
            retry_count_bucket: RetryBucket,
            tool_category: ToolCategory,
        }

        /// One answer to a request for approval.
        closed ToolApproval = "agent.tool_approval.count" {
            attribution: Attribution,
            outcome: ApprovalOutcome,
        }

        /// A skill changed its state.
        closed SkillLifecycle = "agent.skill.lifecycle.count" {
            action: SkillAction,
            provenance: Provenance,
        }

        /// A skill was loaded.
        closed SkillLoad = "agent.skill.load.count" {
            post_patch_state: PostPatchState,
            provenance: Provenance,
            reuse_state: ReuseState,
            use_count_bucket: CountBucket,
        }
    }
}
