//! The state of the router: every handler extracts the parts that it needs.

use std::sync::Arc;

use axum::extract::FromRef;

use super::admission::RequestAdmission;
use super::model_request::ModelApi;
use crate::background::BackgroundTasks;
use crate::billing::Billing;
use crate::config::Config;
use crate::identity::Identities;
use crate::media::Media;
use crate::proxy::relay::StreamPolicy;
use crate::research::Research;
use crate::service::Service;
use crate::upstreams::Upstreams;
use crate::web_services::WebServices;

#[derive(Debug, Clone)]
pub(super) struct AppState(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    service: Arc<Service>,
    admission: Arc<RequestAdmission>,
    models: Arc<ModelApi>,
}

impl AppState {
    pub(super) fn new(service: &Arc<Service>) -> Self {
        let admission = Arc::new(RequestAdmission::new(
            service.config.clone(),
            service.identities.clone(),
            service.billing.clone(),
            service.upstreams.clone(),
        ));
        let models = Arc::new(ModelApi {
            config: service.config.clone(),
            policy: StreamPolicy::new(&service.config),
            admission: admission.clone(),
            billing: service.billing.clone(),
            upstreams: service.upstreams.clone(),
            web: service.web.clone(),
            background: service.background.clone(),
        });
        Self(Arc::new(Parts { service: service.clone(), admission, models }))
    }
}

impl FromRef<AppState> for Arc<Service> {
    fn from_ref(state: &AppState) -> Self {
        state.0.service.clone()
    }
}

impl FromRef<AppState> for Arc<RequestAdmission> {
    fn from_ref(state: &AppState) -> Self {
        state.0.admission.clone()
    }
}

impl FromRef<AppState> for Arc<ModelApi> {
    fn from_ref(state: &AppState) -> Self {
        state.0.models.clone()
    }
}

impl FromRef<AppState> for Arc<Config> {
    fn from_ref(state: &AppState) -> Self {
        state.0.service.config.clone()
    }
}

impl FromRef<AppState> for Arc<Identities> {
    fn from_ref(state: &AppState) -> Self {
        state.0.service.identities.clone()
    }
}

impl FromRef<AppState> for Arc<Billing> {
    fn from_ref(state: &AppState) -> Self {
        state.0.service.billing.clone()
    }
}

impl FromRef<AppState> for Arc<Upstreams> {
    fn from_ref(state: &AppState) -> Self {
        state.0.service.upstreams.clone()
    }
}

impl FromRef<AppState> for Arc<WebServices> {
    fn from_ref(state: &AppState) -> Self {
        state.0.service.web.clone()
    }
}

impl FromRef<AppState> for Arc<BackgroundTasks> {
    fn from_ref(state: &AppState) -> Self {
        state.0.service.background.clone()
    }
}

impl FromRef<AppState> for Arc<Media> {
    fn from_ref(state: &AppState) -> Self {
        state.0.service.media.clone()
    }
}

impl FromRef<AppState> for Arc<Research> {
    fn from_ref(state: &AppState) -> Self {
        state.0.service.research.clone()
    }
}
