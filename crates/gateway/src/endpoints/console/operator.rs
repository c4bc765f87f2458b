//! The pages of operators.

mod configuration;
mod ledger;
mod members;
mod overview;
mod providers;

use ::ledger::AccountKind;
use axum::routing::{MethodRouter, get, post};

pub(super) use self::members::by_word as member_by_word;
use super::super::AppState;
use super::{key, keys, usage};

pub(super) fn routes() -> Vec<(&'static str, MethodRouter<AppState>)> {
    vec![
        ("/operator", get(overview::show)),
        (
            "/operator/members",
            get(|context| members::list(context, AccountKind::Member))
                .post(|context, request| members::create(context, AccountKind::Member, request)),
        ),
        ("/operator/members/{id}", get(members::show).post(members::change)),
        ("/operator/members/{id}/post", post(members::transfer)),
        ("/operator/members/{id}/keys", post(members::create_key)),
        (
            "/operator/teams",
            get(|context| members::list(context, AccountKind::Team))
                .post(|context, request| members::create(context, AccountKind::Team, request)),
        ),
        ("/operator/teams/{id}", get(members::show).post(members::change)),
        ("/operator/teams/{id}/post", post(members::transfer)),
        ("/operator/keys", get(keys::list_all)),
        ("/operator/keys/{id}", get(key::show).post(key::change)),
        ("/operator/keys/{id}/rotate", post(key::rotate)),
        ("/operator/keys/{id}/revoke", post(key::revoke)),
        ("/operator/usage", get(usage::show_all)),
        ("/operator/usage.csv", get(usage::csv_of_all)),
        ("/operator/ledger", get(ledger::show).post(ledger::check)),
        ("/operator/audit", get(ledger::audit)),
        ("/operator/alerts", get(ledger::alerts).post(ledger::test_alert)),
        ("/operator/providers", get(providers::list)),
        ("/operator/providers/{id}/test", post(providers::test)),
        ("/operator/providers/{id}/state", post(providers::change)),
        ("/operator/prices", get(providers::prices)),
        ("/operator/configuration", get(configuration::show).post(configuration::reload)),
    ]
}
