//! Usage of members, for the member API, the admin API and the commands.

use std::collections::HashMap;

use gateway_store::{Store, UsageCounts, UsageDimension, UsageLine, UsageQuery};
use ledger::{LineageId, MemberId, Time, Usage};
use time::format_description::well_known::Iso8601;
use time::{Date, Duration, OffsetDateTime};
use wire::usage::{
    DEFAULT_USAGE_LINES, MAX_USAGE_LINES, UsageEntry, UsageList, UsageOwner, UsageSums,
};

use crate::operator::Error;

const EPOCH: Date = OffsetDateTime::UNIX_EPOCH.date();

/// Default number of days.
const DEFAULT_DAYS: i32 = 30;

/// A usage query with the parameters of a client.
#[derive(Debug, Clone, Default)]
pub struct UsageOrder {
    pub member: Option<MemberId>,
    /// What one team paid, or any account.
    pub team: Option<MemberId>,
    /// The first day, `YYYY-MM-DD`.
    pub from: Option<String>,
    pub to: Option<String>,
    /// Dimensions, separated by commas.
    pub by: Option<String>,
    pub limit: Option<u32>,
}

impl UsageOrder {
    /// Aggregates usage; the range ends today by default.
    pub async fn answer(&self, store: &Store, now: Time) -> Result<UsageList, Error> {
        let query = self.query(now)?;
        let mut lines = store.usage(&query).await?;
        let shown = usize::try_from(query.limit - 1).unwrap_or(usize::MAX);
        let has_more = lines.len() > shown;
        lines.truncate(shown);
        let total = UsageQuery { by: Vec::new(), limit: 1, ..query.clone() };
        let total = store.usage(&total).await?.first().map(|line| line.counts);
        let names = Names::load(store, &lines).await?;
        Ok(UsageList {
            object: "usage".to_owned(),
            from: day_text(query.from_day),
            to: day_text(query.to_day),
            by: query.by.iter().map(|by| by.as_str().to_owned()).collect(),
            data: lines.into_iter().map(|line| names.entry(line)).collect(),
            has_more,
            total: sums(total.unwrap_or_default()),
        })
    }

    /// The query, for one row more than is shown.
    fn query(&self, now: Time) -> Result<UsageQuery, Error> {
        let to_day = self.to.as_deref().map_or(Ok(now.day()), |text| day("to", text))?;
        let first = to_day.saturating_sub(DEFAULT_DAYS - 1);
        let from_day = self.from.as_deref().map_or(Ok(first), |text| day("from", text))?;
        let limit = self.limit.unwrap_or(DEFAULT_USAGE_LINES);
        if !(1..MAX_USAGE_LINES).contains(&limit) {
            let wanted = format!("a whole number from 1 to {}", MAX_USAGE_LINES - 1);
            return Err(invalid("limit", &wanted));
        }
        let (member, team, limit) = (self.member, self.team, limit + 1);
        Ok(UsageQuery { member, team, from_day, to_day, by: self.dimensions()?, limit })
    }

    fn dimensions(&self) -> Result<Vec<UsageDimension>, Error> {
        let Some(text) = self.by.as_deref() else { return Ok(vec![UsageDimension::Day]) };
        let mut dimensions = Vec::new();
        for word in text.split(',').map(str::trim) {
            let dimension = UsageDimension::parse(word).ok_or_else(|| {
                let all = UsageDimension::ALL.map(|by| format!("`{}`", by.as_str())).join(", ");
                invalid("by", &format!("words of {all}, separated by commas"))
            })?;
            if !dimensions.contains(&dimension) {
                dimensions.push(dimension);
            }
        }
        Ok(dimensions)
    }
}

/// Answered requests of a member today and in this month, also those that a team paid.
pub(crate) async fn current(
    store: &Store,
    member: MemberId,
    now: Time,
) -> Result<Usage, gateway_store::Error> {
    let date = EPOCH.checked_add(Duration::days(now.day().into())).unwrap_or(EPOCH);
    let first_of_month = now.day() - i32::from(date.day()) + 1;
    let mut usage = Usage::default();
    for (period, from_day) in [(&mut usage.day, now.day()), (&mut usage.month, first_of_month)] {
        let (member, to_day) = (Some(member), now.day());
        let query = UsageQuery { member, team: None, from_day, to_day, by: Vec::new(), limit: 1 };
        if let Some(line) = store.usage(&query).await?.first() {
            (period.requests, period.charged) = (line.counts.requests, line.counts.charged);
        }
    }
    Ok(usage)
}

#[derive(Default)]
struct Names {
    members: HashMap<MemberId, String>,
    /// Public part and name.
    keys: HashMap<LineageId, (String, String)>,
}

impl Names {
    async fn load(store: &Store, lines: &[UsageLine]) -> Result<Self, Error> {
        let mut names = Self::default();
        let members = lines.iter().flat_map(|line| line.member.into_iter().chain(line.team));
        let members: Vec<MemberId> = members.collect();
        if !members.is_empty() {
            names.members = store.member_names(&members).await?;
        }
        let keys: Vec<LineageId> = lines.iter().filter_map(|line| line.lineage).collect();
        if !keys.is_empty() {
            names.keys = store.key_names(&keys).await?;
        }
        Ok(names)
    }

    fn entry(&self, line: UsageLine) -> UsageEntry {
        let member = |id: MemberId| {
            let name = self.members.get(&id).cloned().unwrap_or_default();
            UsageOwner { id: id.to_string(), name }
        };
        let key = |id: &LineageId| {
            let (id, name) = self.keys.get(id).cloned()?;
            Some(UsageOwner { id, name })
        };
        UsageEntry {
            day: line.day.map(day_text),
            member: line.member.map(member),
            team: line.team.filter(|team| *team != MemberId(0)).map(member),
            key: line.lineage.as_ref().and_then(key),
            operation: line.operation,
            model: line.model,
            provider: line.provider,
            sums: sums(line.counts),
        }
    }
}

fn sums(counts: UsageCounts) -> UsageSums {
    UsageSums {
        requests: counts.requests,
        input_tokens: counts.input_tokens,
        output_tokens: counts.output_tokens,
        charged_micros: counts.charged.get(),
    }
}

fn invalid(field: &'static str, wanted: &str) -> Error {
    Error::Invalid { field, wanted: wanted.to_owned() }
}

/// Parses `YYYY-MM-DD` to days since 1970.
pub(crate) fn day(field: &'static str, text: &str) -> Result<i32, Error> {
    let is_plain = |(index, byte): (usize, u8)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    let date = text.bytes().enumerate().all(is_plain).then(|| Date::parse(text, &Iso8601::DATE));
    let days = date.and_then(Result::ok).map(|date| (date - EPOCH).whole_days());
    let days = days.and_then(|days| i32::try_from(days).ok());
    days.ok_or_else(|| invalid(field, "a day such as `2026-01-31`"))
}

pub(crate) fn day_text(day: i32) -> String {
    let date = EPOCH.checked_add(Duration::days(day.into()));
    date.and_then(|date| date.format(&Iso8601::DATE).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
