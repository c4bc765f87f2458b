//! The state of the router: every handler extracts the parts that it needs.

use std::sync::Arc;

use axum::extract::{FromRef, State};

use super::admission::RequestAdmission;
use super::model_request::ModelApi;
use crate::background::BackgroundTasks;
use crate::billing::Billing;
use crate::config::Config;
use crate::identity::Identities;
use crate::media::Media;
use crate::parsing::Parsing;
use crate::proxy::relay::StreamPolicy;
use crate::research::Research;
use crate::service::Service;
use crate::upstreams::Upstreams;
use crate::web_services::WebServices;

pub(super) type Shared<T> = State<Arc<T>>;

#[derive(Clone)]
pub(super) struct AppState(Arc<Parts>);

struct Parts {
    service: Arc<Service>,
    admission: Arc<RequestAdmission>,
    models: Arc<ModelApi>,
}

impl AppState {
    pub(super) fn new(service: &Arc<Service>) -> Self {
        let limits = &service.config.limits;
        let admission = Arc::new(RequestAdmission {
            config: service.config.clone(),
            identities: service.identities.clone(),
            billing: service.billing.clone(),
            upstreams: service.upstreams.clone(),
            parsing: Parsing::new(limits.parsing_bytes, limits.max_body_bytes),
        });
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

macro_rules! parts {
    ($($part:ty: $($field:ident).+;)+) => {
        $(impl FromRef<AppState> for Arc<$part> {
            fn from_ref(state: &AppState) -> Self {
                state.0.$($field).+.clone()
            }
        })+
    };
}

parts! {
    Service: service;
    RequestAdmission: admission;
    ModelApi: models;
    Config: service.config;
    Identities: service.identities;
    Billing: service.billing;
    Upstreams: service.upstreams;
    WebServices: service.web;
    BackgroundTasks: service.background;
    Media: service.media;
    Research: service.research;
}
