//! Usage of members: answered requests, their tokens and charges, by day, key, operation and model.
//!
//! The table `usage` follows from the receipts; `usage_totals` is its sum over all members. Both are
//! written in the transaction that ends a hold. SQLite may write them later, with the rows that
//! follow from the same posting: see `sqlite::deferred_rows`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use ledger::{ChargeRule, HoldOutcome, LineageId, MemberId, Micros, Receipt, TokenCounts};

pub const MAX_USAGE_LINES: u32 = 10_000;
/// Maximum tokens counted per request, so that upstream reports cannot overflow sums.
const MAX_TOKENS: i64 = 1_000_000_000;

ledger::named_enum! {
    pub enum UsageDimension {
        Day = "day",
        Member = "member",
        /// The team that paid.
        Team = "team",
        /// The lineage of a key.
        Key = "key",
        Operation = "operation",
        Model = "model",
        /// The first part of the model's id.
        Provider = "provider",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuery {
    /// One member, or all.
    pub member: Option<MemberId>,
    /// What one team paid, or any account.
    pub team: Option<MemberId>,
    /// The first day, in days since 1970, UTC.
    pub from_day: i32,
    pub to_day: i32,
    pub by: Vec<UsageDimension>,
    pub limit: u32,
}

/// Usage of one combination of dimensions; dimensions that are not requested are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageLine {
    pub day: Option<i32>,
    pub member: Option<MemberId>,
    /// The team that paid; 0 if the member paid.
    pub team: Option<MemberId>,
    pub lineage: Option<LineageId>,
    pub operation: Option<String>,
    /// Empty if no model answered.
    pub model: Option<String>,
    /// Empty if no model answered, or only its alias is known.
    pub provider: Option<String>,
    pub counts: UsageCounts,
}

/// Sums over answered requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageCounts {
    pub requests: i64,
    /// As far as the upstreams reported them.
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub charged: Micros,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct UsageKey {
    pub(crate) day: i32,
    pub(crate) member: MemberId,
    pub(crate) lineage: LineageId,
    pub(crate) operation: Cow<'static, str>,
    pub(crate) model: Option<Arc<str>>,
    /// The team that paid, 0 if the member paid.
    pub(crate) team: MemberId,
}

#[derive(Debug, Default)]
pub(crate) struct UsageRollup(HashMap<UsageKey, UsageCounts, RandomState>);

impl UsageRollup {
    pub(crate) fn of<'a>(receipts: impl IntoIterator<Item = &'a Receipt>) -> Self {
        let mut rollup = Self::default();
        receipts.into_iter().for_each(|receipt| rollup.add(receipt));
        rollup
    }

    /// Adds a receipt, unless its hold was released.
    pub(crate) fn add(&mut self, receipt: &Receipt) {
        if receipt.rule.outcome() != HoldOutcome::Settled {
            return;
        }
        let key = UsageKey {
            day: receipt.at.day(),
            member: receipt.member,
            lineage: receipt.lineage,
            operation: receipt.operation.clone(),
            model: receipt.model.clone(),
            team: if receipt.payer == receipt.member { MemberId(0) } else { receipt.payer },
        };
        let TokenCounts { input, output } = receipt.tokens;
        let bounded = |tokens: Option<i64>| tokens.unwrap_or(0).clamp(0, MAX_TOKENS);
        self.0.entry(key).or_default().add(UsageCounts {
            requests: 1,
            input_tokens: bounded(input),
            output_tokens: bounded(output),
            charged: receipt.charged,
        });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (&UsageKey, &UsageCounts)> {
        self.0.iter()
    }

    /// The sums over all members, by day, operation and model.
    pub(crate) fn totals(&self) -> HashMap<(i32, &str, &str), UsageCounts, RandomState> {
        let mut totals: HashMap<_, UsageCounts, _> = HashMap::default();
        for (key, counts) in &self.0 {
            totals.entry((key.day, &*key.operation, key.model())).or_default().add(*counts);
        }
        totals
    }
}

impl UsageKey {
    pub(crate) fn model(&self) -> &str {
        self.model.as_deref().unwrap_or_default()
    }
}

impl UsageCounts {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.charged = self.charged.plus(other.charged).unwrap_or(Micros::MAX);
    }
}

/// Least and greatest of two numbers, and the position of a text in another, in both databases.
const LEAST: &str = "{least|min}";
const GREATEST: &str = "{greatest|max}";
const POSITION: &str = "{strpos|instr}";

impl UsageDimension {
    fn expression(self) -> String {
        match self {
            Self::Key => "u.lineage".to_owned(),
            Self::Provider => format!(
                "CASE WHEN {POSITION}(u.model, '/') = 0 THEN '' \
                 ELSE substr(u.model, 1, {POSITION}(u.model, '/') - 1) END"
            ),
            other => format!("u.{}", other.as_str()),
        }
    }
}

impl UsageQuery {
    /// The query, for both databases: all dimensions, which are null unless requested, then the
    /// counts. It contains only numbers and known words, and needs no parameters.
    pub(crate) fn sql(&self) -> String {
        let (from, to) = (self.from_day, self.to_day);
        // SQLite uses the partial index of teams only if the query repeats its condition.
        let team = self
            .team
            .map_or(String::new(), |team| format!(" AND u.team = {} AND u.team <> 0", team.0));
        let (days, table) = if let Some(MemberId(member)) = self.member {
            // One look-up per day with usage, however many members there are.
            let days = format!(
                "WITH RECURSIVE days(day) AS (SELECT min(day) FROM usage WHERE day >= {from} \
                 UNION ALL SELECT (SELECT min(day) FROM usage WHERE day > days.day) FROM days \
                 WHERE day < {to}) "
            );
            let table = format!(
                "days CROSS JOIN usage u \
                 WHERE days.day <= {to} AND u.day = days.day AND u.member = {member}{team}"
            );
            (days, table)
        } else {
            use UsageDimension::{Key, Member, Team};
            let is_of_member = |by: &UsageDimension| matches!(by, Member | Team | Key);
            let is_total = self.team.is_none() && !self.by.iter().any(is_of_member);
            let table = if is_total { "usage_totals" } else { "usage" };
            (String::new(), format!("{table} u WHERE u.day BETWEEN {from} AND {to}{team}"))
        };
        let dimensions: String = UsageDimension::ALL
            .iter()
            .map(|it| if self.by.contains(it) { it.expression() } else { "NULL".to_owned() } + ", ")
            .collect();
        let place = |it: &UsageDimension| 1 + *it as usize;
        let places: Vec<String> = self.by.iter().map(|by| place(by).to_string()).collect();
        let group = match places.as_slice() {
            [] => String::new(),
            places => format!(" GROUP BY {}", places.join(", ")),
        };
        let day = self.by.iter().find(|by| **by == UsageDimension::Day);
        let mut order: Vec<String> = day.map(|day| place(day).to_string()).into_iter().collect();
        order.push("sum(u.charged) DESC".to_owned());
        order.push("sum(u.requests) DESC".to_owned());
        order.extend(places);
        format!(
            "{days}SELECT {dimensions}CAST(sum(u.requests) AS bigint), \
             CAST(sum(u.input_tokens) AS bigint), CAST(sum(u.output_tokens) AS bigint), \
             CAST(sum(u.charged) AS bigint) FROM {table}{group} HAVING sum(u.requests) > 0 \
             ORDER BY {} LIMIT {}",
            order.join(", "),
            self.limit.min(MAX_USAGE_LINES),
        )
    }
}

/// The rules by which a request is charged, for a list in SQL.
pub(crate) fn settled_rules() -> String {
    let settled = ChargeRule::ALL.iter().filter(|it| it.outcome() == HoldOutcome::Settled);
    settled.map(|rule| format!("'{}'", rule.as_str())).collect::<Vec<_>>().join(", ")
}

fn receipts_as_usage() -> String {
    let bounded = |column| format!("{LEAST}({GREATEST}(coalesce({column}, 0), 0), {MAX_TOKENS})");
    format!(
        "SELECT at / 86400000000 AS day, member, lineage, operation, coalesce(model, '') AS model, \
         coalesce(payer, 0) AS team, 1 AS requests, {} AS input_tokens, {} AS output_tokens, \
         charged FROM receipts WHERE rule IN ({})",
        bounded("input_tokens"),
        bounded("output_tokens"),
        settled_rules(),
    )
}

/// Queries for rows of `usage` and `usage_totals` that do not match: `what, stored, added_up`. A
/// condition restricts the receipts.
pub(crate) fn wrong_usage(condition: &str) -> [String; 2] {
    let receipts = receipts_as_usage();
    [
        comparison(
            "day, member, lineage, operation, model, team",
            "' of day ' || day || ', member ' || member || ', key lineage ' || lineage",
            "usage",
            &format!("{receipts} {condition}"),
        ),
        comparison(
            "day, operation, model",
            "' of day ' || day || ', all members'",
            "usage_totals",
            "SELECT * FROM usage",
        ),
    ]
}

fn comparison(keys: &str, what: &str, stored: &str, expected: &str) -> String {
    let figures = ["requests", "input_tokens", "output_tokens", "charged"];
    let differs = figures.map(|it| format!("sum({it}) <> sum(due_{it})"));
    // The first figure that differs.
    let first = |value: fn(&str) -> String| {
        let cases = figures.iter().zip(&differs);
        let cases: Vec<String> =
            cases.map(|(it, differs)| format!("WHEN {differs} THEN {}", value(it))).collect();
        format!("CASE {} END", cases.join(" "))
    };
    format!(
        "SELECT {} || {what} AS what, CAST({} AS bigint) AS stored, CAST({} AS bigint) AS added_up \
         FROM (SELECT {keys}, requests, input_tokens, output_tokens, charged, 0 AS due_requests, \
         0 AS due_input_tokens, 0 AS due_output_tokens, 0 AS due_charged FROM {stored} \
         UNION ALL SELECT {keys}, 0, 0, 0, 0, requests, input_tokens, output_tokens, charged \
         FROM ({expected}) AS expected) AS compared GROUP BY {keys} HAVING {}",
        first(|it| format!("'{it}'")),
        first(|it| format!("sum({it})")),
        first(|it| format!("sum(due_{it})")),
        differs.join(" OR "),
    )
}

/// Statements that rebuild both tables from the receipts. In PostgreSQL each row of the totals has a
/// shard.
pub(crate) fn rebuild() -> String {
    let sums = "CAST(sum(requests) AS bigint), CAST(sum(input_tokens) AS bigint), \
                CAST(sum(output_tokens) AS bigint), CAST(sum(charged) AS bigint)";
    format!(
        "DELETE FROM usage; DELETE FROM usage_totals; \
         INSERT INTO usage (day, member, lineage, operation, model, team, requests, input_tokens, \
         output_tokens, charged) SELECT day, member, lineage, operation, model, team, {sums} \
         FROM ({}) AS receipt GROUP BY day, member, lineage, operation, model, team; \
         INSERT INTO usage_totals SELECT day, operation, model{{, 0|}}, {sums} \
         FROM usage GROUP BY day, operation, model",
        receipts_as_usage()
    )
}
