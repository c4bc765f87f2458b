//! Operations of the admin API.

use schemars::{Schema, SchemaGenerator, json_schema};
use wire::admin::{
    Adjustment, AlertView, AuditView, IssuedKey, KeyBody, KeyRecordView, LedgerCheckView,
    MemberPatch, MemberReceipt, MemberView, NewMember, NewTeam, OfferedModel, Page, PostingView,
    ProviderView, ReloadView, Rotation, StatementView, TeamPatch, TeamView, TopUp,
};
use wire::error::Code;
use wire::usage::UsageList;

use super::Verb::{Delete, Get, Patch, Post};
use super::member::{BY, FROM, LINES, REQUEST_ID, TO};
use super::{
    Access, Body, Header, JSON, Operation, Parameter, SuccessResponse, Verb, of, returning, text,
};

pub(crate) const DEFAULT_LIMIT: u32 = 50;
pub(crate) const MAX_LIMIT: u32 = 200;

const MISSING_OR_CONFLICT: &[Code] = &[Code::NotFound, Code::Conflict];

const fn admin(verb: Verb, path: &'static str, id: &'static str) -> Operation {
    Operation::new(Access::Admin, verb, path, id)
}

const ID: Parameter = Parameter::path("id", "Id of a member.", member_id).example("mem_1");
static MEMBER_ID: Parameter = ID;
static ACCOUNT_ID: Parameter = Parameter { description: "Id of a member or a team.", ..ID };
static TEAM_ID: Parameter = Parameter { description: "Id of a team.", ..ID };
static KEY_ID: Parameter = Parameter::path(
    "id",
    "Public part of a key: the text between its first two underscores.",
    key_id,
)
.example("0123456789ab");
static LIMIT: Parameter = Parameter::query("limit", "Maximum number of entries to return.", |_| {
    json_schema!({
        "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT,
    })
});
static AFTER_MEMBER: Parameter =
    Parameter::query("after", "Last id of the previous page.", member_id);
static AFTER_KEY: Parameter = Parameter::query("after", "Last id of the previous page.", key_id);
static BEFORE: Parameter = Parameter::query(
    "before",
    "Last id of the previous page. Entries are listed newest first.",
    |_| json_schema!({ "type": "integer", "minimum": 1, "maximum": i64::MAX }),
);

fn member_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^mem_[1-9][0-9]{0,17}$" })
}

fn key_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[0-9A-Za-z]{12}$" })
}

pub(crate) static LIST_MEMBERS: Operation = admin(Get, "/admin/v1/members", "listMembers")
    .describe("List members", "Lists members in the order of their creation.")
    .parameters(&[&LIMIT, &AFTER_MEMBER])
    .answers(&[returning::<Page<MemberView>>(200, "The members.", &[])])
    .failures(&[Code::InvalidRequest]);

pub(crate) static CREATE_MEMBER: Operation = admin(Post, "/admin/v1/members", "createMember")
    .describe("Create a member", "Creates a member with a zero balance and no keys.")
    .body(of::<NewMember>, r#"{"name": "ada"}"#)
    .answers(&[returning::<MemberView>(201, "The member.", &[])])
    .failures(&[Code::Conflict]);

pub(crate) static SHOW_MEMBER: Operation = admin(Get, "/admin/v1/members/{id}", "showMember")
    .describe("Get a member", "Returns a member with its balance.")
    .parameters(&[&MEMBER_ID])
    .answers(&[returning::<MemberView>(200, "The member.", &[])])
    .failures(&[Code::NotFound]);

pub(crate) static CHANGE_MEMBER: Operation = admin(Patch, "/admin/v1/members/{id}", "changeMember")
    .describe(
        "Change a member",
        "Renames, blocks or unblocks a member, sets its budget or its role, or moves it to another \
         team. Keys of a blocked member are rejected from the next request on. A new budget counts \
         requests that begin from now on. A team pays for requests that begin after the member \
         joined; the balance of the member stays its own.",
    )
    .parameters(&[&MEMBER_ID])
    .body(of::<MemberPatch>, r#"{"blocked": true}"#)
    .answers(&[returning::<MemberView>(200, "The member.", &[])])
    .failures(MISSING_OR_CONFLICT);

pub(crate) static LIST_TEAMS: Operation = admin(Get, "/admin/v1/teams", "listTeams")
    .describe("List teams", "Lists teams in the order of their creation.")
    .parameters(&[&LIMIT, &AFTER_MEMBER])
    .answers(&[returning::<Page<TeamView>>(200, "The teams.", &[])])
    .failures(&[Code::InvalidRequest]);

pub(crate) static CREATE_TEAM: Operation = admin(Post, "/admin/v1/teams", "createTeam")
    .describe(
        "Create a team",
        "Creates a team with a zero balance and no members. A team pays for the requests of its \
         members. Top-ups, adjustments and statements of a team use the paths of members with the \
         id of the team; members join with `PATCH /admin/v1/members/{id}`.",
    )
    .body(of::<NewTeam>, r#"{"name": "research"}"#)
    .answers(&[returning::<TeamView>(201, "The team.", &[])])
    .failures(&[Code::Conflict]);

pub(crate) static SHOW_TEAM: Operation = admin(Get, "/admin/v1/teams/{id}", "showTeam")
    .describe("Get a team", "Returns a team with its balance and budget.")
    .parameters(&[&TEAM_ID])
    .answers(&[returning::<TeamView>(200, "The team.", &[])])
    .failures(&[Code::NotFound]);

pub(crate) static CHANGE_TEAM: Operation = admin(Patch, "/admin/v1/teams/{id}", "changeTeam")
    .describe(
        "Change a team",
        "Renames, blocks or unblocks a team, or sets its budget. Requests of members of a blocked \
         team are rejected.",
    )
    .parameters(&[&TEAM_ID])
    .body(of::<TeamPatch>, r#"{"budget": {"amount_micros": 50000000, "period": "month"}}"#)
    .answers(&[returning::<TeamView>(200, "The team.", &[])])
    .failures(MISSING_OR_CONFLICT);

pub(crate) static REMOVE_TEAM: Operation = admin(Delete, "/admin/v1/teams/{id}", "removeTeam")
    .describe(
        "Remove a team",
        "A team that has members, a balance or running requests is a conflict. Its name becomes \
         free; its postings and receipts remain.",
    )
    .parameters(&[&TEAM_ID])
    .answers(&[returning::<TeamView>(200, "The removed team.", &[])])
    .failures(MISSING_OR_CONFLICT);

pub(crate) static LIST_TEAM_MEMBERS: Operation =
    admin(Get, "/admin/v1/teams/{id}/members", "listTeamMembers")
        .describe("List the members of a team", "Lists members in the order of their creation.")
        .parameters(&[&TEAM_ID, &LIMIT, &AFTER_MEMBER])
        .answers(&[returning::<Page<MemberView>>(200, "The members.", &[])])
        .failures(&[Code::InvalidRequest, Code::NotFound]);

static MOVED: &[SuccessResponse] = &[
    returning::<PostingView>(201, "The posting.", &[]),
    returning::<PostingView>(
        200,
        "The earlier posting with the same `reference`; nothing was changed.",
        &[&REPLAYED],
    ),
];

static REPLAYED: Header =
    Header::new("idempotent-replayed", "`true` if this response repeats an earlier one.", text);

pub(crate) static TOP_UP: Operation = admin(Post, "/admin/v1/members/{id}/top-ups", "topUp")
    .describe(
        "Top up a balance",
        "With a `reference`, repeated requests top up once; the same reference with a different \
         amount or reason is a conflict. Without a reference, each request tops up again.",
    )
    .parameters(&[&ACCOUNT_ID])
    .body(
        of::<TopUp>,
        r#"{"amount_micros": 5000000, "reason": "invoice 17", "reference": "invoice-17"}"#,
    )
    .answers(MOVED)
    .failures(MISSING_OR_CONFLICT);

pub(crate) static ADJUST: Operation = admin(Post, "/admin/v1/members/{id}/adjustments", "adjust")
    .describe(
        "Adjust a balance",
        "Cannot take more than the available balance; money reserved for requests is not touched. \
         `reference` works as for top-ups and shares one namespace with them.",
    )
    .parameters(&[&ACCOUNT_ID])
    .body(of::<Adjustment>, r#"{"amount_micros": -1000, "reason": "paid twice"}"#)
    .answers(MOVED)
    .failures(MISSING_OR_CONFLICT);

pub(crate) static STATEMENT: Operation =
    admin(Get, "/admin/v1/members/{id}/statement", "showStatement")
        .describe("Get the statement of a member or a team", "All postings, newest first.")
        .parameters(&[&ACCOUNT_ID, &LIMIT, &BEFORE])
        .answers(&[returning::<Page<StatementView>>(200, "The postings.", &[])])
        .failures(&[Code::InvalidRequest, Code::NotFound]);

pub(crate) static LIST_KEYS: Operation = admin(Get, "/admin/v1/members/{id}/keys", "listKeys")
    .describe("List a member's keys", "Includes revoked and expired keys, oldest first.")
    .parameters(&[&MEMBER_ID, &LIMIT, &AFTER_KEY])
    .answers(&[returning::<Page<KeyRecordView>>(200, "The keys, without their secrets.", &[])])
    .failures(&[Code::InvalidRequest, Code::NotFound]);

pub(crate) static CREATE_KEY: Operation = admin(Post, "/admin/v1/members/{id}/keys", "createKey")
    .describe("Create a key", "Only this response contains the complete key; it is not stored.")
    .parameters(&[&MEMBER_ID])
    .body(of::<KeyBody>, r#"{"name": "laptop", "scopes": ["models", "chat"]}"#)
    .answers(&[returning::<IssuedKey>(201, "The key.", &[])])
    .failures(MISSING_OR_CONFLICT);

pub(crate) static SHOW_KEY: Operation = admin(Get, "/admin/v1/keys/{id}", "showKey")
    .describe("Get a key", "The secret part is not stored and not returned.")
    .parameters(&[&KEY_ID])
    .answers(&[returning::<KeyRecordView>(200, "The key.", &[])])
    .failures(&[Code::NotFound]);

pub(crate) static CHANGE_KEY: Operation = admin(Patch, "/admin/v1/keys/{id}", "changeKey")
    .describe("Change a key", "Changes apply from the next request on.")
    .parameters(&[&KEY_ID])
    .body(of::<KeyBody>, r#"{"spend_limit_micros": 1000000}"#)
    .answers(&[returning::<KeyRecordView>(200, "The key.", &[])])
    .failures(&[Code::NotFound]);

pub(crate) static ROTATE_KEY: Operation = admin(Post, "/admin/v1/keys/{id}/rotate", "rotateKey")
    .describe(
        "Replace a key",
        "The new key takes over the spend and the limits of the old one. The old key expires after \
         the overlap, by default at once.",
    )
    .parameters(&[&KEY_ID])
    .with_body(Body {
        is_required: false,
        media_type: JSON,
        schema: of::<Rotation>,
        example: r#"{"overlap_seconds": 3600}"#,
    })
    .answers(&[returning::<IssuedKey>(201, "The new key.", &[])])
    .failures(MISSING_OR_CONFLICT);

pub(crate) static REVOKE_KEY: Operation = admin(Post, "/admin/v1/keys/{id}/revoke", "revokeKey")
    .describe(
        "Revoke a key",
        "The key is rejected from the next request on. This cannot be undone.",
    )
    .parameters(&[&KEY_ID])
    .answers(&[returning::<KeyRecordView>(200, "The key.", &[])])
    .failures(&[Code::NotFound]);

pub(crate) static SHOW_RECEIPT: Operation = admin(Get, "/admin/v1/receipts/{id}", "showAnyReceipt")
    .describe("Get a receipt", "Receipts of all members.")
    .parameters(&[&REQUEST_ID])
    .answers(&[returning::<MemberReceipt>(200, "The receipt.", &[])])
    .failures(&[Code::NotFound]);

pub(crate) static AUDIT: Operation = admin(Get, "/admin/v1/audit", "listAudit")
    .describe(
        "Get the audit log",
        "All changes made by operators, newest first. Each entry contains the digest of the \
         previous one.",
    )
    .parameters(&[&LIMIT, &BEFORE])
    .answers(&[returning::<Page<AuditView>>(200, "The entries.", &[])])
    .failures(&[Code::InvalidRequest]);

pub(crate) static CHECK_LEDGER: Operation = admin(Get, "/admin/v1/ledger/check", "checkLedger")
    .describe(
        "Check the ledger",
        "Recomputes all balances from postings and holds, and compares them with the stored ones.",
    )
    .answers(&[returning::<LedgerCheckView>(200, "The findings.", &[])]);

static USAGE_MEMBER: Parameter = Parameter::query("member", "Only this member.", member_id);
static USAGE_TEAM: Parameter = Parameter::query("team", "Only what this team paid.", member_id);

pub(crate) static USAGE: Operation = admin(Get, "/admin/v1/usage", "listUsageOfMembers")
    .describe(
        "What was used",
        "Answered requests of one member or of all, their tokens and charges, summed up by day, \
         member, team, key, operation, model, provider or several of these.",
    )
    .parameters(&[&FROM, &TO, &BY, &USAGE_MEMBER, &USAGE_TEAM, &LINES])
    .answers(&[returning::<UsageList>(200, "The sums.", &[])])
    .failures(&[Code::InvalidRequest]);

pub(crate) static REBUILD_USAGE: Operation =
    admin(Post, "/admin/v1/ledger/repair-usage", "repairUsage")
        .describe(
            "Rebuild usage",
            "Sums up usage again from the receipts, then checks the ledger. No request can end \
             meanwhile.",
        )
        .answers(&[returning::<LedgerCheckView>(200, "What was found.", &[])]);

pub(crate) static LIST_PROVIDERS: Operation = admin(Get, "/admin/v1/providers", "listProviders")
    .describe(
        "List providers",
        "Lists providers with their state and models, without URLs and keys.",
    )
    .answers(&[returning::<Page<ProviderView>>(200, "The providers.", &[])]);

pub(crate) static LIST_OFFERED: Operation = admin(Get, "/admin/v1/models", "listOfferedModels")
    .describe("List all models", "Lists models with their prices and providers.")
    .answers(&[returning::<Page<OfferedModel>>(200, "The models.", &[])]);

pub(crate) static RELOAD: Operation = admin(Post, "/admin/v1/reload", "reloadConfiguration")
    .describe(
        "Reload the configuration",
        "Reads the configuration file again, checks it whole, and uses it for new requests; \
         running requests finish with the old configuration. Other processes on the same database \
         follow within seconds, each with its own file. A file with an error, or with a changed key \
         that needs a restart, is a conflict that lists all problems with line and column; nothing \
         is changed.",
    )
    .answers(&[returning::<ReloadView>(200, "The reload.", &[])])
    .failures(&[Code::Conflict]);

pub(crate) static LIST_ALERTS: Operation = admin(Get, "/admin/v1/alerts", "listAlerts")
    .describe("List alerts", "Lists alerts of the last 90 days with their deliveries.")
    .parameters(&[&LIMIT, &BEFORE])
    .answers(&[returning::<Page<AlertView>>(200, "The alerts.", &[])])
    .failures(&[Code::InvalidRequest]);

pub(crate) static TEST_ALERT: Operation = admin(Post, "/admin/v1/alerts/test", "testAlerts")
    .describe(
        "Send a test alert",
        "Stores an alert that is delivered through all configured channels. List alerts to see the \
         result. Without a configured channel this is a conflict.",
    )
    .answers(&[returning::<AlertView>(201, "The alert.", &[])])
    .failures(&[Code::Conflict]);

static PROVIDER_NAME: Parameter =
    Parameter::path("id", "Name of a provider.", text).example("openai");

pub(crate) static DRAIN_PROVIDER: Operation =
    admin(Post, "/admin/v1/providers/{id}/drain", "drainProvider")
        .describe(
            "Drain a provider",
            "Stops new requests to a provider on all processes; running requests finish. It stays \
             drained, also after a restart, until it is enabled.",
        )
        .parameters(&[&PROVIDER_NAME])
        .answers(&[returning::<ProviderView>(200, "The provider.", &[])])
        .failures(&[Code::NotFound]);

pub(crate) static ENABLE_PROVIDER: Operation =
    admin(Post, "/admin/v1/providers/{id}/enable", "enableProvider")
        .describe(
            "Enable a drained provider",
            "Allows new requests to a provider again, on all processes.",
        )
        .parameters(&[&PROVIDER_NAME])
        .answers(&[returning::<ProviderView>(200, "The provider.", &[])])
        .failures(&[Code::NotFound]);
