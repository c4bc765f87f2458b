//! `GET /v1/capabilities`: what a key can do now.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use wire::capability::CapabilityList;

use super::fixed_price::FixedPrice;
use super::json::json;
use crate::billing::Billing;
use crate::capability::Capabilities;
use crate::config::Operation;
use crate::failure::ApiError;
use crate::identity::Identities;
use crate::request_info::RequestInfo;
use crate::upstreams::Upstreams;
use crate::web_services::WebServices;

#[expect(clippy::too_many_arguments, reason = "extractors of the handler")]
pub(super) async fn list(
    State(identities): State<Arc<Identities>>,
    State(billing): State<Arc<Billing>>,
    State(upstreams): State<Arc<Upstreams>>,
    State(web): State<Arc<WebServices>>,
    Extension(info): Extension<RequestInfo>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = identities.caller(&headers).await?;
    let work = async {
        let data = Capabilities { upstreams: &upstreams, web: &web, caller: &caller }.list();
        Ok(json(&CapabilityList { object: "list".to_owned(), data }))
    };
    FixedPrice::new(&billing, &info, &caller, Operation::Capabilities).answer(work).await
}
