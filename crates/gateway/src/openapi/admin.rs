//! Operations of the admin API.

use schemars::{Schema, SchemaGenerator, json_schema};
use wire::admin::{
    Adjustment, AlertView, AuditView, IssuedKey, KeyPatch, KeyRecordView, LedgerCheckView,
    MemberPatch, MemberReceipt, MemberView, NewKeyBody, NewMember, NewTeam, OfferedModel, Page,
    PostingView, ProviderView, ReloadView, Rotation, StatementView, TeamPatch, TeamView, TopUp,
};
use wire::error::Code;
use wire::usage::UsageList;

use super::member::{BY, FROM, LINES, REQUEST_ID, TO};
use super::{
    Access, Body, Header, JSON, Operation, Parameter, ParameterLocation, SuccessResponse, Verb,
    answer, json_body, of, text,
};

/// The default and the largest length of a page.
pub(crate) const DEFAULT_LIMIT: u32 = 50;
pub(crate) const MAX_LIMIT: u32 = 200;

/// The defaults of all operations of this file.
const PLAIN: Operation = Operation { access: Access::Admin, ..super::PLAIN };

macro_rules! answers {
    ($status:literal, $description:literal, $type:ty) => {
        &[answer($status, $description, &[(JSON, of::<$type>)], &[])]
    };
}

/// Failures of requests with a body and an id.
const WRONG_BODY_OR_ID: &[Code] = &[
    Code::InvalidJson,
    Code::InvalidRequest,
    Code::NotFound,
    Code::BodyTimeout,
    Code::BodyTooLarge,
];
const WRONG_BODY_OR_CONFLICT: &[Code] = &[
    Code::InvalidJson,
    Code::InvalidRequest,
    Code::NotFound,
    Code::BodyTimeout,
    Code::Conflict,
    Code::BodyTooLarge,
];

const PATH_ID: Parameter = Parameter {
    location: ParameterLocation::Path,
    name: "id",
    description: "Id of a member.",
    schema: member_id,
    example: "mem_1",
};
static MEMBER_ID: Parameter = PATH_ID;
static ACCOUNT_ID: Parameter = Parameter { description: "Id of a member or a team.", ..PATH_ID };
static TEAM_ID: Parameter = Parameter { description: "Id of a team.", ..PATH_ID };
static KEY_ID: Parameter = Parameter {
    location: ParameterLocation::Path,
    name: "id",
    description: "Public part of a key: the text between its first two underscores.",
    schema: key_id,
    example: "0123456789ab",
};
static LIMIT: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "limit",
    description: "Maximum number of entries to return.",
    schema: limit,
    example: "",
};
static AFTER_MEMBER: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "after",
    description: "Last id of the previous page.",
    schema: member_id,
    example: "",
};
static AFTER_KEY: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "after",
    description: "Last id of the previous page.",
    schema: key_id,
    example: "",
};
static BEFORE: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "before",
    description: "Last id of the previous page. Entries are listed newest first.",
    schema: entry,
    example: "",
};

fn member_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^mem_[1-9][0-9]{0,17}$" })
}

fn key_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[0-9A-Za-z]{12}$" })
}

fn limit(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT,
    })
}

fn entry(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 1, "maximum": i64::MAX })
}

/// `GET /admin/v1/members`.
pub(crate) static LIST_MEMBERS: Operation = Operation {
    path: "/admin/v1/members",
    id: "listMembers",
    summary: "List members",
    description: "Lists members in the order of their creation.",
    parameters: &[&LIMIT, &AFTER_MEMBER],
    answers: answers!(200, "The members.", Page<MemberView>),
    failures: &[Code::InvalidRequest],
    ..PLAIN
};

/// `POST /admin/v1/members`.
pub(crate) static CREATE_MEMBER: Operation = Operation {
    verb: Verb::Post,
    path: "/admin/v1/members",
    id: "createMember",
    summary: "Create a member",
    description: "Creates a member with a zero balance and no keys.",
    body: Some(json_body(of::<NewMember>, r#"{"name": "ada"}"#)),
    answers: answers!(201, "The member.", MemberView),
    failures: &[
        Code::InvalidJson,
        Code::InvalidRequest,
        Code::BodyTimeout,
        Code::Conflict,
        Code::BodyTooLarge,
    ],
    ..PLAIN
};

/// `GET /admin/v1/members/{id}`.
pub(crate) static SHOW_MEMBER: Operation = Operation {
    path: "/admin/v1/members/{id}",
    id: "showMember",
    summary: "Get a member",
    description: "Returns a member with its balance.",
    parameters: &[&MEMBER_ID],
    answers: answers!(200, "The member.", MemberView),
    failures: &[Code::NotFound],
    ..PLAIN
};

/// `PATCH /admin/v1/members/{id}`.
pub(crate) static CHANGE_MEMBER: Operation = Operation {
    verb: Verb::Patch,
    path: "/admin/v1/members/{id}",
    id: "changeMember",
    summary: "Change a member",
    description: "Renames, blocks or unblocks a member, sets its budget or its role, or moves it to \
                  another team. Keys of a blocked member are rejected from the next request on. A \
                  new budget counts requests that begin from now on. A team pays for requests that \
                  begin after the member joined; the balance of the member stays its own.",
    parameters: &[&MEMBER_ID],
    body: Some(json_body(of::<MemberPatch>, r#"{"blocked": true}"#)),
    answers: answers!(200, "The member.", MemberView),
    failures: WRONG_BODY_OR_CONFLICT,
    ..PLAIN
};

/// `GET /admin/v1/teams`.
pub(crate) static LIST_TEAMS: Operation = Operation {
    path: "/admin/v1/teams",
    id: "listTeams",
    summary: "List teams",
    description: "Lists teams in the order of their creation.",
    parameters: &[&LIMIT, &AFTER_MEMBER],
    answers: answers!(200, "The teams.", Page<TeamView>),
    failures: &[Code::InvalidRequest],
    ..PLAIN
};

/// `POST /admin/v1/teams`.
pub(crate) static CREATE_TEAM: Operation = Operation {
    verb: Verb::Post,
    path: "/admin/v1/teams",
    id: "createTeam",
    summary: "Create a team",
    description: "Creates a team with a zero balance and no members. A team pays for the requests of \
                  its members. Top-ups, adjustments and statements of a team use the paths of \
                  members with the id of the team; members join with `PATCH /admin/v1/members/{id}`.",
    body: Some(json_body(of::<NewTeam>, r#"{"name": "research"}"#)),
    answers: answers!(201, "The team.", TeamView),
    failures: &[
        Code::InvalidJson,
        Code::InvalidRequest,
        Code::BodyTimeout,
        Code::Conflict,
        Code::BodyTooLarge,
    ],
    ..PLAIN
};

/// `GET /admin/v1/teams/{id}`.
pub(crate) static SHOW_TEAM: Operation = Operation {
    path: "/admin/v1/teams/{id}",
    id: "showTeam",
    summary: "Get a team",
    description: "Returns a team with its balance and budget.",
    parameters: &[&TEAM_ID],
    answers: answers!(200, "The team.", TeamView),
    failures: &[Code::NotFound],
    ..PLAIN
};

/// `PATCH /admin/v1/teams/{id}`.
pub(crate) static CHANGE_TEAM: Operation = Operation {
    verb: Verb::Patch,
    path: "/admin/v1/teams/{id}",
    id: "changeTeam",
    summary: "Change a team",
    description: "Renames, blocks or unblocks a team, or sets its budget. Requests of members of a \
                  blocked team are rejected.",
    parameters: &[&TEAM_ID],
    body: Some(json_body(
        of::<TeamPatch>,
        r#"{"budget": {"amount_micros": 50000000, "period": "month"}}"#,
    )),
    answers: answers!(200, "The team.", TeamView),
    failures: WRONG_BODY_OR_CONFLICT,
    ..PLAIN
};

/// `DELETE /admin/v1/teams/{id}`.
pub(crate) static REMOVE_TEAM: Operation = Operation {
    verb: Verb::Delete,
    path: "/admin/v1/teams/{id}",
    id: "removeTeam",
    summary: "Remove a team",
    description: "A team that has members, a balance or running requests is a conflict. Its name \
                  becomes free; its postings and receipts remain.",
    parameters: &[&TEAM_ID],
    answers: answers!(200, "The removed team.", TeamView),
    failures: &[Code::NotFound, Code::Conflict],
    ..PLAIN
};

/// `GET /admin/v1/teams/{id}/members`.
pub(crate) static LIST_TEAM_MEMBERS: Operation = Operation {
    path: "/admin/v1/teams/{id}/members",
    id: "listTeamMembers",
    summary: "List the members of a team",
    description: "Lists members in the order of their creation.",
    parameters: &[&TEAM_ID, &LIMIT, &AFTER_MEMBER],
    answers: answers!(200, "The members.", Page<MemberView>),
    failures: &[Code::InvalidRequest, Code::NotFound],
    ..PLAIN
};

/// The responses to a transfer.
static MOVED: &[SuccessResponse] = &[
    answer(201, "The posting.", &[(JSON, of::<PostingView>)], &[]),
    answer(
        200,
        "The earlier posting with the same `reference`; nothing was changed.",
        &[(JSON, of::<PostingView>)],
        &[&REPLAYED],
    ),
];

static REPLAYED: Header = Header {
    name: "idempotent-replayed",
    description: "`true` if this response repeats an earlier one.",
    schema: text,
};

/// `POST /admin/v1/members/{id}/top-ups`.
pub(crate) static TOP_UP: Operation = Operation {
    verb: Verb::Post,
    path: "/admin/v1/members/{id}/top-ups",
    id: "topUp",
    summary: "Top up a balance",
    description: "With a `reference`, repeated requests top up once; the same reference with a \
                  different amount or reason is a conflict. Without a reference, each request tops \
                  up again.",
    parameters: &[&ACCOUNT_ID],
    body: Some(json_body(
        of::<TopUp>,
        r#"{"amount_micros": 5000000, "reason": "invoice 17", "reference": "invoice-17"}"#,
    )),
    answers: MOVED,
    failures: WRONG_BODY_OR_CONFLICT,
    ..PLAIN
};

/// `POST /admin/v1/members/{id}/adjustments`.
pub(crate) static ADJUST: Operation = Operation {
    verb: Verb::Post,
    path: "/admin/v1/members/{id}/adjustments",
    id: "adjust",
    summary: "Adjust a balance",
    description: "Cannot take more than the available balance; money reserved for requests is not \
                  touched. `reference` works as for top-ups and shares one namespace with them.",
    parameters: &[&ACCOUNT_ID],
    body: Some(json_body(of::<Adjustment>, r#"{"amount_micros": -1000, "reason": "paid twice"}"#)),
    answers: MOVED,
    failures: WRONG_BODY_OR_CONFLICT,
    ..PLAIN
};

/// `GET /admin/v1/members/{id}/statement`.
pub(crate) static STATEMENT: Operation = Operation {
    path: "/admin/v1/members/{id}/statement",
    id: "showStatement",
    summary: "Get the statement of a member or a team",
    description: "All postings, newest first.",
    parameters: &[&ACCOUNT_ID, &LIMIT, &BEFORE],
    answers: answers!(200, "The postings.", Page<StatementView>),
    failures: &[Code::InvalidRequest, Code::NotFound],
    ..PLAIN
};

/// `GET /admin/v1/members/{id}/keys`.
pub(crate) static LIST_KEYS: Operation = Operation {
    path: "/admin/v1/members/{id}/keys",
    id: "listKeys",
    summary: "List a member's keys",
    description: "Includes revoked and expired keys, oldest first.",
    parameters: &[&MEMBER_ID, &LIMIT, &AFTER_KEY],
    answers: answers!(200, "The keys, without their secrets.", Page<KeyRecordView>),
    failures: &[Code::InvalidRequest, Code::NotFound],
    ..PLAIN
};

/// `POST /admin/v1/members/{id}/keys`.
pub(crate) static CREATE_KEY: Operation = Operation {
    verb: Verb::Post,
    path: "/admin/v1/members/{id}/keys",
    id: "createKey",
    summary: "Create a key",
    description: "Only this response contains the complete key; it is not stored.",
    parameters: &[&MEMBER_ID],
    body: Some(json_body(of::<NewKeyBody>, r#"{"name": "laptop", "scopes": ["models", "chat"]}"#)),
    answers: answers!(201, "The key.", IssuedKey),
    failures: WRONG_BODY_OR_CONFLICT,
    ..PLAIN
};

/// `GET /admin/v1/keys/{id}`.
pub(crate) static SHOW_KEY: Operation = Operation {
    path: "/admin/v1/keys/{id}",
    id: "showKey",
    summary: "Get a key",
    description: "The secret part is not stored and not returned.",
    parameters: &[&KEY_ID],
    answers: answers!(200, "The key.", KeyRecordView),
    failures: &[Code::NotFound],
    ..PLAIN
};

/// `PATCH /admin/v1/keys/{id}`.
pub(crate) static CHANGE_KEY: Operation = Operation {
    verb: Verb::Patch,
    path: "/admin/v1/keys/{id}",
    id: "changeKey",
    summary: "Change a key",
    description: "Changes apply from the next request on.",
    parameters: &[&KEY_ID],
    body: Some(json_body(of::<KeyPatch>, r#"{"spend_limit_micros": 1000000}"#)),
    answers: answers!(200, "The key.", KeyRecordView),
    failures: WRONG_BODY_OR_ID,
    ..PLAIN
};

/// `POST /admin/v1/keys/{id}/rotate`.
pub(crate) static ROTATE_KEY: Operation = Operation {
    verb: Verb::Post,
    path: "/admin/v1/keys/{id}/rotate",
    id: "rotateKey",
    summary: "Replace a key",
    description: "The new key takes over the spend and the limits of the old one. The old key \
                  expires after the overlap, by default at once.",
    parameters: &[&KEY_ID],
    body: Some(Body {
        is_required: false,
        media_type: JSON,
        schema: of::<Rotation>,
        example: r#"{"overlap_seconds": 3600}"#,
    }),
    answers: answers!(201, "The new key.", IssuedKey),
    failures: WRONG_BODY_OR_CONFLICT,
    ..PLAIN
};

/// `POST /admin/v1/keys/{id}/revoke`.
pub(crate) static REVOKE_KEY: Operation = Operation {
    verb: Verb::Post,
    path: "/admin/v1/keys/{id}/revoke",
    id: "revokeKey",
    summary: "Revoke a key",
    description: "The key is rejected from the next request on. This cannot be undone.",
    parameters: &[&KEY_ID],
    answers: answers!(200, "The key.", KeyRecordView),
    failures: &[Code::NotFound],
    ..PLAIN
};

/// `GET /admin/v1/receipts/{id}`.
pub(crate) static SHOW_RECEIPT: Operation = Operation {
    path: "/admin/v1/receipts/{id}",
    id: "showAnyReceipt",
    summary: "Get a receipt",
    description: "Receipts of all members.",
    parameters: &[&REQUEST_ID],
    answers: answers!(200, "The receipt.", MemberReceipt),
    failures: &[Code::NotFound],
    ..PLAIN
};

/// `GET /admin/v1/audit`.
pub(crate) static AUDIT: Operation = Operation {
    path: "/admin/v1/audit",
    id: "listAudit",
    summary: "Get the audit log",
    description: "All changes made by operators, newest first. Each entry contains the digest of \
                  the previous one.",
    parameters: &[&LIMIT, &BEFORE],
    answers: answers!(200, "The entries.", Page<AuditView>),
    failures: &[Code::InvalidRequest],
    ..PLAIN
};

/// `GET /admin/v1/ledger/check`.
pub(crate) static CHECK_LEDGER: Operation = Operation {
    path: "/admin/v1/ledger/check",
    id: "checkLedger",
    summary: "Check the ledger",
    description: "Recomputes all balances from postings and holds, and compares them with the \
                  stored ones.",
    answers: answers!(200, "The findings.", LedgerCheckView),
    ..PLAIN
};

static USAGE_MEMBER: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "member",
    description: "Only this member.",
    schema: member_id,
    example: "",
};
static USAGE_TEAM: Parameter = Parameter {
    description: "Only what this team paid.",
    name: "team",
    location: ParameterLocation::Query,
    schema: member_id,
    example: "",
};

/// `GET /admin/v1/usage`.
pub(crate) static USAGE: Operation = Operation {
    path: "/admin/v1/usage",
    id: "listUsageOfMembers",
    summary: "What was used",
    description: "Answered requests of one member or of all, their tokens and charges, summed up by day, \
                  member, team, key, operation, model, provider or several of these.",
    parameters: &[&FROM, &TO, &BY, &USAGE_MEMBER, &USAGE_TEAM, &LINES],
    answers: answers!(200, "The sums.", UsageList),
    failures: &[Code::InvalidRequest],
    ..PLAIN
};

/// `POST /admin/v1/ledger/repair-usage`.
pub(crate) static REBUILD_USAGE: Operation = Operation {
    verb: Verb::Post,
    path: "/admin/v1/ledger/repair-usage",
    id: "repairUsage",
    summary: "Rebuild usage",
    description: "Sums up usage again from the receipts, then checks the ledger. No request can end \
                  meanwhile.",
    answers: answers!(200, "What was found.", LedgerCheckView),
    ..PLAIN
};

/// `GET /admin/v1/providers`.
pub(crate) static LIST_PROVIDERS: Operation = Operation {
    path: "/admin/v1/providers",
    id: "listProviders",
    summary: "List providers",
    description: "Lists providers with their state and models, without URLs and keys.",
    answers: answers!(200, "The providers.", Page<ProviderView>),
    ..PLAIN
};

/// `GET /admin/v1/models`.
pub(crate) static LIST_OFFERED: Operation = Operation {
    path: "/admin/v1/models",
    id: "listOfferedModels",
    summary: "List all models",
    description: "Lists models with their prices and providers.",
    answers: answers!(200, "The models.", Page<OfferedModel>),
    ..PLAIN
};

/// `POST /admin/v1/reload`.
pub(crate) static RELOAD: Operation = Operation {
    verb: Verb::Post,
    path: "/admin/v1/reload",
    id: "reloadConfiguration",
    summary: "Reload the configuration",
    description: "Reads the configuration file again, checks it whole, and uses it for new \
                  requests; running requests finish with the old configuration. Other processes on \
                  the same database follow within seconds, each with its own file. A file with an \
                  error, or with a changed key that needs a restart, is a conflict that lists all \
                  problems with line and column; nothing is changed.",
    answers: answers!(200, "The reload.", ReloadView),
    failures: &[Code::Conflict],
    ..PLAIN
};

/// `GET /admin/v1/alerts`.
pub(crate) static LIST_ALERTS: Operation = Operation {
    path: "/admin/v1/alerts",
    id: "listAlerts",
    summary: "List alerts",
    description: "Lists alerts of the last 90 days with their deliveries.",
    parameters: &[&LIMIT, &BEFORE],
    answers: answers!(200, "The alerts.", Page<AlertView>),
    failures: &[Code::InvalidRequest],
    ..PLAIN
};

/// `POST /admin/v1/alerts/test`.
pub(crate) static TEST_ALERT: Operation = Operation {
    verb: Verb::Post,
    path: "/admin/v1/alerts/test",
    id: "testAlerts",
    summary: "Send a test alert",
    description: "Stores an alert that is delivered through all configured channels. List alerts to \
                  see the result. Without a configured channel this is a conflict.",
    answers: answers!(201, "The alert.", AlertView),
    failures: &[Code::Conflict],
    ..PLAIN
};

static PROVIDER_NAME: Parameter = Parameter {
    location: ParameterLocation::Path,
    name: "id",
    description: "Name of a provider.",
    schema: text,
    example: "openai",
};

/// `POST /admin/v1/providers/{id}/drain`.
pub(crate) static DRAIN_PROVIDER: Operation = Operation {
    verb: Verb::Post,
    path: "/admin/v1/providers/{id}/drain",
    id: "drainProvider",
    summary: "Drain a provider",
    description: "Stops new requests to a provider on all processes; running requests finish. It \
                  stays drained, also after a restart, until it is enabled.",
    parameters: &[&PROVIDER_NAME],
    answers: answers!(200, "The provider.", ProviderView),
    failures: &[Code::NotFound],
    ..PLAIN
};

/// `POST /admin/v1/providers/{id}/enable`.
pub(crate) static ENABLE_PROVIDER: Operation = Operation {
    verb: Verb::Post,
    path: "/admin/v1/providers/{id}/enable",
    id: "enableProvider",
    summary: "Enable a drained provider",
    description: "Allows new requests to a provider again, on all processes.",
    parameters: &[&PROVIDER_NAME],
    answers: answers!(200, "The provider.", ProviderView),
    failures: &[Code::NotFound],
    ..PLAIN
};
