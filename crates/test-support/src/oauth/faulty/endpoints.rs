//! The endpoints of the authorization server, without faults.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::grant_store::{Code, Grant, GrantStore};
use super::script::{Issuer, Refresh, Script, merge};
use crate::http::{Reply, Request};
use crate::oauth::recorded_request::parameter;

pub(super) enum EndpointAnswer {
    /// JSON that the script may patch.
    Json(u16, Value),
    Other(Reply),
}

#[derive(Debug, Clone)]
pub(super) struct Origins {
    pub(super) main: String,
    pub(super) other: String,
}

impl Origins {
    pub(super) fn of(&self, issuer: Issuer) -> &str {
        match issuer {
            Issuer::Main => &self.main,
            Issuer::Other => &self.other,
        }
    }

    pub(super) fn mcp(&self) -> String {
        format!("{}/mcp", self.main)
    }
}

/// A request to one of the two authorization servers, and what they have in common.
pub(super) struct EndpointRequest<'a> {
    pub(super) grants: &'a mut GrantStore,
    pub(super) script: &'a Script,
    pub(super) origins: &'a Origins,
    pub(super) request: &'a Request,
    pub(super) issuer: Issuer,
}

impl EndpointRequest<'_> {
    fn base(&self) -> &str {
        self.origins.of(self.issuer)
    }

    pub(super) fn resource_metadata(&self) -> EndpointAnswer {
        let tools = self.script.tool_scopes.iter();
        let scopes: Vec<&str> = tools.map(|(_, scope)| scope.as_str()).collect();
        let metadata = json!({
            "resource": self.origins.mcp(),
            "authorization_servers": [self.origins.of(self.script.issuer)],
            "scopes_supported": scopes,
            "bearer_methods_supported": ["header"],
        });
        EndpointAnswer::Json(200, metadata)
    }

    pub(super) fn server_metadata(&self) -> EndpointAnswer {
        let base = self.base();
        let methods = ["none", "client_secret_basic", "client_secret_post"];
        let mut metadata = json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"),
            "revocation_endpoint": format!("{base}/revoke"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": methods,
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        });
        if self.script.client_documents {
            metadata["client_id_metadata_document_supported"] = true.into();
        }
        if self.script.device_codes {
            let endpoint = format!("{base}/device_authorization");
            metadata["device_authorization_endpoint"] = endpoint.into();
            metadata["grant_types_supported"] =
                json!(["authorization_code", "refresh_token", DEVICE_CODE]);
        }
        EndpointAnswer::Json(200, metadata)
    }

    /// Issues a code that is confirmed already.
    pub(super) fn authorize_device(&mut self) -> EndpointAnswer {
        let form = form(self.request);
        let field = |name: &str| form.get(name).and_then(Value::as_str).map(str::to_owned);
        let Some(client) = self.authenticated(&form) else { return unknown_client() };
        let known = self.grants.clients.get(&client);
        let grants = known.map(|client| client["grant_types"].to_string());
        if grants.is_some_and(|grants| !grants.contains(DEVICE_CODE)) {
            return refuse(400, "unauthorized_client", "not registered for device codes");
        }
        let (scope, resource) = (field("scope").unwrap_or_default(), field("resource"));
        let login = self.grants.new_login();
        let grant = Grant { client, scope, resource, issuer: self.issuer, login };
        let code = Code { grant, redirect_uri: String::new(), challenge: String::new() };
        let device_code = self.grants.new_code(code);
        let base = self.base();
        let answer = json!({
            "device_code": device_code,
            "user_code": "ABCD-EFGH",
            "verification_uri": format!("{base}/device"),
            "verification_uri_complete": format!("{base}/device?user_code=ABCD-EFGH"),
            "expires_in": 600,
            // Clients wait for the shortest time they know.
            "interval": 0,
        });
        EndpointAnswer::Json(200, answer)
    }

    /// Registers a client as the patched response describes it.
    pub(super) fn register(&mut self) -> EndpointAnswer {
        let mut client = self.request.json();
        if !client["redirect_uris"].is_array() {
            return refuse(400, "invalid_client_metadata", "no redirect_uris");
        }
        client["client_id"] = self.grants.word("client").into();
        let method = client["token_endpoint_auth_method"].as_str();
        if !matches!(method, None | Some("none")) {
            client["client_secret"] = self.grants.word("secret").into();
            client["client_secret_expires_at"] = 0.into();
        }
        merge(&mut client, &self.script.registration.patch);
        let id = client["client_id"].as_str().unwrap_or_default().to_owned();
        self.grants.clients.insert(id, client.clone());
        EndpointAnswer::Json(201, client)
    }

    /// Consents without a page.
    pub(super) fn authorize(&mut self) -> EndpointAnswer {
        let request = self.request;
        let asked = |name: &str| parameter(&request.path, name);
        let wanted = |name: &str| asked(name).unwrap_or_default();
        let (client, redirect_uri) = (wanted("client_id"), wanted("redirect_uri"));
        if !self.is_redirect_allowed(&client, &redirect_uri) {
            // A redirect URI that is not registered must not be used.
            let message = "invalid_client: unknown client or redirect_uri";
            return EndpointAnswer::Other(Reply::text(400, message));
        }
        let is_proven = asked("code_challenge_method").as_deref() == Some("S256")
            && asked("code_challenge").is_some();
        let mut query = Vec::new();
        if wanted("response_type") == "code" && is_proven {
            let (login, issuer) = (self.grants.new_login(), self.issuer);
            let (scope, resource) = (wanted("scope"), asked("resource"));
            let grant = Grant { client, scope, resource, issuer, login };
            let challenge = wanted("code_challenge");
            let code = Code { grant, redirect_uri: redirect_uri.clone(), challenge };
            query.push(("code".to_owned(), self.grants.new_code(code)));
        } else {
            query.push(("error".to_owned(), "invalid_request".to_owned()));
        }
        query.extend(asked("state").map(|state| ("state".to_owned(), state)));
        query.push(("iss".to_owned(), self.base().to_owned()));
        for twist in &self.script.redirect {
            twist.apply(&mut query);
        }
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        let separator = if redirect_uri.contains('?') { '&' } else { '?' };
        let location = format!("{redirect_uri}{separator}{query}");
        EndpointAnswer::Other(Reply::empty(302).header("Location", &location))
    }

    fn is_redirect_allowed(&self, client: &str, redirect_uri: &str) -> bool {
        match self.grants.clients.get(client) {
            Some(client) => {
                let known = client["redirect_uris"].as_array();
                known.is_some_and(|known| known.iter().any(|known| known == redirect_uri))
            }
            None => self.is_document(client) && redirect_uri.starts_with("http://127.0.0.1:"),
        }
    }

    fn is_document(&self, client: &str) -> bool {
        self.script.client_documents && client.starts_with("https://")
    }

    /// Exchanges a code or a refresh token, or signs in a program by its own credentials.
    pub(super) fn token(&mut self) -> EndpointAnswer {
        let form = form(self.request);
        let field = |name: &str| form.get(name).and_then(Value::as_str).unwrap_or_default();
        let Some(client) = self.authenticated(&form) else { return unknown_client() };
        let (grants, script, issuer) = (&mut *self.grants, self.script, self.issuer);
        let exchanged = match field("grant_type") {
            "authorization_code" => exchange(grants, field, &client),
            DEVICE_CODE => {
                let code = grants.take_code(field("device_code"));
                code.map(|code| code.grant).filter(|grant| grant.client == client)
            }
            "refresh_token" => {
                let grant = grants.refreshed(field("refresh_token"));
                grant.filter(|grant| grant.client == client)
            }
            "client_credentials" | JWT_BEARER => {
                let login = grants.new_login();
                let resource = Some(field("resource").to_owned());
                Some(Grant { client, scope: field("scope").to_owned(), resource, issuer, login })
            }
            _ => return refuse(400, "unsupported_grant_type", "no such grant"),
        };
        let Some(grant) = exchanged.filter(|grant| grant.issuer == issuer) else {
            return refuse(400, "invalid_grant", "it is not good, or was used");
        };
        let is_refresh = field("grant_type") == "refresh_token";
        let is_alone = matches!(field("grant_type"), "client_credentials" | JWT_BEARER);
        let refresh = match script.refresh {
            Refresh::Lasting if is_refresh => Refresh::Never,
            _ if is_alone => Refresh::Never,
            other => other,
        };
        if is_refresh && script.refresh == Refresh::Rotating {
            grants.spend(field("refresh_token"));
        }
        let (access, refresh) = grants.issue(&grant, script.access_seconds, refresh);
        let mut answer = json!({
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": script.access_seconds,
        });
        if !grant.scope.is_empty() {
            answer["scope"] = grant.scope.into();
        }
        if let Some(refresh) = refresh {
            answer["refresh_token"] = refresh.into();
        }
        EndpointAnswer::Json(200, answer)
    }

    fn authenticated(&self, form: &Map<String, Value>) -> Option<String> {
        let in_form = |name: &str| form.get(name).and_then(Value::as_str).map(str::to_owned);
        let basic = basic(self.request);
        let id = basic.as_ref().map(|(id, _)| id.clone()).or_else(|| in_form("client_id"))?;
        let Some(client) = self.grants.clients.get(&id) else {
            return self.is_document(&id).then_some(id);
        };
        let secret = client["client_secret"].as_str();
        let by_header = basic.map(|(_, secret)| secret);
        let by_form = in_form("client_secret");
        let brought = match client["token_endpoint_auth_method"].as_str() {
            Some("none") => return Some(id),
            Some("client_secret_post") => by_form,
            Some("client_secret_basic") => by_header,
            _ => by_header.or(by_form),
        };
        (secret == brought.as_deref()).then_some(id)
    }

    pub(super) fn revoke(&mut self) -> EndpointAnswer {
        if let Some(word) = form(self.request).get("token").and_then(Value::as_str) {
            self.grants.revoke(word);
        }
        EndpointAnswer::Json(200, json!({}))
    }
}

const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

fn exchange<'a>(
    grants: &mut GrantStore,
    field: impl Fn(&str) -> &'a str,
    client: &str,
) -> Option<Grant> {
    let code = grants.take_code(field("code"))?;
    let digest = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
    let resource = field("resource");
    let is_same = code.grant.client == client
        && code.redirect_uri == field("redirect_uri")
        && code.challenge == digest
        && (resource.is_empty() || code.grant.resource.as_deref() == Some(resource));
    is_same.then_some(code.grant)
}

fn basic(request: &Request) -> Option<(String, String)> {
    let encoded = request.header("authorization")?.strip_prefix("Basic ")?;
    let decoded = String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    Some((unescape(id), unescape(secret)))
}

fn unescape(word: &str) -> String {
    let pair = format!("word={word}");
    form_urlencoded::parse(pair.as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

/// The fields of a form, or the members of a JSON object.
pub(super) fn form(request: &Request) -> Map<String, Value> {
    if let Value::Object(members) = request.json() {
        return members;
    }
    let fields = form_urlencoded::parse(&request.body);
    let is_form = request.header("content-type").is_some_and(|kind| kind.contains("urlencoded"));
    let fields = fields.filter(|_| is_form);
    fields.map(|(name, value)| (name.into_owned(), value.into_owned().into())).collect()
}

pub(super) fn refuse(status: u16, error: &str, description: &str) -> EndpointAnswer {
    EndpointAnswer::Json(status, json!({ "error": error, "error_description": description }))
}

fn unknown_client() -> EndpointAnswer {
    refuse(401, "invalid_client", "this is not a client of ours")
}
