//! Data of the page from the store, which is opened anew for each request.
//!
//! Shows the content of the packages: the created ones, and the drafts of the next ones.
//! Counts are added up by day, over all resources and installation ids.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Value, json};
use usage_metrics::catalogue::{DimensionSpec, Domain, KINDS, Kind, KindSpec};
use usage_metrics::clock::{Clock, Day, Timestamp};
use usage_metrics::package::{Counter, Package};
use usage_metrics::store::{self, ErrorKind, PackageScope, Store, StoreContents, StoreFolder};
use usage_metrics::validate::parse_date_time;
use uuid::Uuid;

use crate::diagnostic::Diagnostic;
use crate::metrics_recorder::store_problem;

#[derive(Debug)]
pub(super) struct Reading {
    pub(super) folder: StoreFolder,
    pub(super) clock: Arc<dyn Clock>,
}

/// Why there is no data, as text for the page.
#[derive(Debug)]
pub(super) struct ReadError {
    pub(super) status: StatusCode,
    diagnostic: Diagnostic,
}

type Totals = BTreeMap<(Day, Counter), u64>;

impl Reading {
    pub(super) fn next(&self) -> Result<Vec<u8>, ReadError> {
        let missing = Diagnostic::failed("nothing was counted since the last package");
        let first = self.drafts()?.into_iter().next().ok_or(ReadError::absent(missing))?;
        Ok(first.to_bytes())
    }

    pub(super) fn draft(&self, id: &str) -> Result<Vec<u8>, ReadError> {
        let missing = Diagnostic::failed("no such pending package")
            .hint("it may have been created meanwhile; check the list of packages again");
        let found = self.drafts()?.into_iter().find(|draft| draft.package_id == id);
        Ok(found.ok_or(ReadError::absent(missing))?.to_bytes())
    }

    pub(super) fn package(&self, id: &str) -> Result<Vec<u8>, ReadError> {
        let missing = Diagnostic::failed("no package with this id")
            .hint("packages are removed after a while; check the list again");
        let made = self.store()?.packages().map_err(|error| self.problem(&error))?;
        let found = made.into_iter().find(|package| package.package_id == id);
        Ok(found.ok_or(ReadError::absent(missing))?.bytes)
    }

    pub(super) fn data(&self) -> Result<Vec<u8>, ReadError> {
        let now = self.clock.now();
        let store = self.store()?;
        let StoreContents { made, next } =
            store.contents().map_err(|error| self.problem(&error))?;

        let mut totals = Totals::new();
        let mut packages = Vec::with_capacity(next.len() + made.len());
        for draft in next {
            packages.push(json!({
                "id": draft.package_id,
                "state": "next",
                "day": day_of(&draft).to_string(),
                "created": null,
                "bytes": draft.to_bytes().len(),
                "entries": draft.metrics.len(),
                "file": format!("next/{}.json", draft.package_id),
            }));
            add(&mut totals, draft);
        }
        for stored in made.iter().rev() {
            let package = Package::read(&stored.bytes).ok();
            packages.push(json!({
                "id": stored.package_id,
                "state": "made",
                "day": stored.day.to_string(),
                "created": stored.created.to_string(),
                "bytes": stored.bytes.len(),
                // `None` if it is unreadable.
                "entries": package.as_ref().map(|package| package.metrics.len()),
                "file": format!("packages/{}.json", stored.package_id),
            }));
            if let Some(package) = package {
                add(&mut totals, package);
            }
        }
        let data = json!({
            "install_id": store.install_id().map_err(|error| self.problem(&error))?,
            "folder": self.folder.root().display().to_string(),
            "outbox": self.folder.outbox().display().to_string(),
            "read_at": now.to_string(),
            "today": now.day().to_string(),
            "kinds": KINDS.iter().map(kind).collect::<Vec<_>>(),
            "days": by_kind(&totals),
            "entries": totals.into_iter().map(entry).collect::<Vec<_>>(),
            "packages": packages,
        });
        Ok(data.to_string().into_bytes())
    }

    fn store(&self) -> Result<Store, ReadError> {
        Store::existing(&self.folder, Uuid::new_v4)
            .map_err(|error| self.problem(&error))?
            .ok_or_else(|| self.problem(&store::Error::Gone))
    }

    fn drafts(&self) -> Result<Vec<Package>, ReadError> {
        self.store()?.drafts(PackageScope::All).map_err(|error| self.problem(&error))
    }

    fn problem(&self, error: &store::Error) -> ReadError {
        let status = match error.kind() {
            ErrorKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Gone => StatusCode::NOT_FOUND,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let diagnostic = store_problem(&self.folder, error);
        ReadError { status, diagnostic }
    }
}

impl ReadError {
    /// The task was aborted. This is our fault.
    pub(super) fn unfinished(error: &dyn StdError) -> Self {
        ReadError {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            diagnostic: Diagnostic::failed("cannot prepare the metrics").because(error),
        }
    }

    fn absent(diagnostic: Diagnostic) -> Self {
        ReadError { status: StatusCode::NOT_FOUND, diagnostic }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.diagnostic.to_json().to_string().into_bytes()
    }
}

fn add(totals: &mut Totals, package: Package) {
    let day = day_of(&package);
    for metric in package.metrics {
        let is_active = metric.counter.kind() == Kind::ClientActive;
        let total = totals.entry((day, metric.counter)).or_default();
        // A client counts as active once a day, whatever the number of packages.
        *total = if is_active { 1 } else { total.saturating_add(metric.value) };
    }
}

/// The day a package covers. Ours start at midnight; those of others are valid packages but
/// may start at any second.
fn day_of(package: &Package) -> Day {
    let start = parse_date_time(&package.period_start).map_or(0, |moment| moment.seconds);
    Timestamp::from_ms(start.saturating_mul(1000)).day()
}

fn by_kind(totals: &Totals) -> Vec<Value> {
    let mut sums: BTreeMap<(Day, &'static str), u64> = BTreeMap::new();
    for ((day, counter), value) in totals {
        let sum = sums.entry((*day, counter.kind().name())).or_default();
        *sum = sum.saturating_add(*value);
    }
    let day = |((day, kind), value): ((Day, _), _)| json!({ "day": day.to_string(), "kind": kind, "value": value });
    sums.into_iter().map(day).collect()
}

fn kind(spec: &KindSpec) -> Value {
    let dimension = |spec: &DimensionSpec| {
        // The possible values, in catalogue order; `None` for arbitrary identifiers.
        let values = match spec.domain {
            Domain::Listed(values) => Some(values),
            Domain::Identifier { .. } => None,
        };
        json!({ "key": spec.key, "summary": spec.summary, "values": values })
    };
    json!({
        "name": spec.name,
        "title": title(spec.kind),
        "summary": spec.summary,
        "dimensions": spec.dimensions.iter().map(dimension).collect::<Vec<_>>(),
    })
}

fn entry(((day, counter), value): ((Day, Counter), u64)) -> Value {
    let dimensions: BTreeMap<_, _> = counter.dimensions().into_iter().collect();
    json!({
        "day": day.to_string(),
        "kind": counter.kind().name(),
        "dimensions": dimensions,
        "value": value,
    })
}

/// A kind in plain words: the meaning of its total.
fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::ClientActive => "Days in use",
        Kind::ModelCall => "Model calls",
        Kind::ModelRoute => "Model routes",
        Kind::TaskStarted => "Tasks started",
        Kind::TaskFinished => "Tasks finished",
        Kind::ToolCall => "Tool calls",
        Kind::ToolApproval => "Approval answers",
        Kind::SkillLifecycle => "Skill changes",
        Kind::SkillLoad => "Skills loaded",
    }
}
