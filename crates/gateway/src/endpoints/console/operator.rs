//! The pages of operators.

mod alerts;
mod audit;
mod configuration;
mod ledger;
mod members;
mod overview;
mod prices;
mod providers;

use axum::routing::{MethodRouter, get, post};

pub(super) use self::members::by_word as member_by_word;
use super::super::state::AppState;
use super::context::OperatorContext;
use super::{key, keys, usage};

pub(super) fn routes() -> Vec<(&'static str, MethodRouter<AppState>)> {
    vec![
        ("/operator", get(overview::show)),
        ("/operator/members", get(members::list).post(members::create)),
        ("/operator/members/{id}", get(members::show).post(members::change)),
        ("/operator/members/{id}/post", post(members::transfer)),
        ("/operator/members/{id}/keys", post(members::create_key)),
        ("/operator/teams", get(members::list_teams).post(members::create_team)),
        ("/operator/teams/{id}", get(members::show).post(members::change)),
        ("/operator/teams/{id}/post", post(members::transfer)),
        ("/operator/keys", get(keys::list_all)),
        (
            "/operator/keys/{id}",
            get(key::show::<OperatorContext>).post(key::change::<OperatorContext>),
        ),
        ("/operator/keys/{id}/rotate", post(key::rotate::<OperatorContext>)),
        ("/operator/keys/{id}/revoke", post(key::revoke::<OperatorContext>)),
        ("/operator/usage", get(usage::show_all)),
        ("/operator/usage.csv", get(usage::csv_of_all)),
        ("/operator/ledger", get(ledger::show).post(ledger::check)),
        ("/operator/audit", get(audit::list)),
        ("/operator/alerts", get(alerts::list).post(alerts::test)),
        ("/operator/providers", get(providers::list)),
        ("/operator/providers/{id}/test", post(providers::test)),
        ("/operator/providers/{id}/state", post(providers::change)),
        ("/operator/prices", get(prices::list)),
        ("/operator/configuration", get(configuration::show).post(configuration::reload)),
    ]
}
