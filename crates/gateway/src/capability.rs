//! What the service can do for a caller at this moment, and why not where it cannot.

use gateway_store::{KeyRecord, Scope};
use wire::capability::{Capability as View, CapableModel};
use wire::research::Depth;

use crate::catalogue::Model;
use crate::config::{Capability, Operation};
use crate::identity::may_use;
use crate::media;
use crate::research::desk;
use crate::service::Service;

/// Who reads pages: this program itself.
const READER: &str = "builtin/reader";

/// Every capability, and the scope that a key needs for it.
const ALL: &[(Capability, Scope)] = &[
    (Capability::Chat, Scope::Chat),
    (Capability::Responses, Scope::Responses),
    (Capability::Research, Scope::Research),
    (Capability::Image, Scope::Media),
    (Capability::Speech, Scope::Media),
    (Capability::WebSearch, Scope::Search),
    (Capability::WebFetch, Scope::Fetch),
];

/// All capabilities as this caller has them.
pub(crate) fn list(service: &Service, caller: &KeyRecord) -> Vec<View> {
    ALL.iter().map(|&(capability, scope)| view(service, caller, capability, scope)).collect()
}

fn view(service: &Service, caller: &KeyRecord, capability: Capability, scope: Scope) -> View {
    let models = models(service, caller, capability);
    let reason = if !caller.key.scopes.contains(&scope) {
        Some(format!("this key lacks the scope `{}`", scope.as_str()))
    } else if models.is_empty() {
        Some("nothing is configured for it that this key may use".to_owned())
    } else if models.iter().all(|model| !model.usable) {
        Some("everything that is configured for it fails at the moment".to_owned())
    } else {
        None
    };
    View { id: capability.word().to_owned(), usable: reason.is_none(), reason, models }
}

/// Who has a capability, of those that the caller may use.
fn models(service: &Service, caller: &KeyRecord, capability: Capability) -> Vec<CapableModel> {
    let price = |operation| service.config.prices.default_of(operation);
    match capability {
        Capability::WebSearch => {
            let price_micros = price(Operation::Search);
            let providers = service.search.providers().into_iter();
            providers
                .map(|known| CapableModel { id: known.name, usable: known.is_usable, price_micros })
                .collect()
        }
        Capability::WebFetch => {
            let price_micros = price(Operation::Fetch);
            vec![CapableModel { id: READER.to_owned(), usable: true, price_micros }]
        }
        Capability::Image | Capability::Speech => {
            let models = media::models(service, caller, capability);
            models.iter().map(|model| view_of(model, model.media_price.get())).collect()
        }
        Capability::Chat => {
            of_catalogue(service, caller, capability, |model| model.chat_price.get())
        }
        Capability::Responses => {
            of_catalogue(service, caller, capability, |model| model.responses_price.get())
        }
        Capability::Research => {
            // Whoever can chat can research, if there is something to search.
            let price = |model: &Model| desk::price_micros(service, Depth::Standard, &model.id);
            let mut models = of_catalogue(service, caller, Capability::Chat, price);
            let can_search = service.search.is_usable();
            for model in &mut models {
                model.usable &= can_search;
            }
            models
        }
    }
}

fn of_catalogue(
    service: &Service,
    caller: &KeyRecord,
    capability: Capability,
    price: impl Fn(&Model) -> i64,
) -> Vec<CapableModel> {
    let catalogue = service.catalogue.load();
    let models = catalogue.models();
    let able = models.filter(|model| model.is_for(capability) && may_use(caller, &model.id));
    able.map(|model| view_of(model, price(model))).collect()
}

fn view_of(model: &Model, price_micros: i64) -> CapableModel {
    CapableModel { id: model.id.to_string(), usable: model.is_usable(), price_micros }
}
