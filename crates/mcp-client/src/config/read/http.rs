//! The keys of a remote server.

use ::http::uri::Scheme;
use ::http::{HeaderName, HeaderValue, Uri};

use settings::{Field, Node, Problem, Text, Value, switch};

use super::super::{Auth, ClientCert, HttpEndpoint, HttpTransport, MAX_HEADERS, Verify};
use super::section::Section;
use super::server::Reader;

const TRANSPORTS: &[(&str, HttpTransport)] = &[
    ("sse", HttpTransport::Sse),
    ("http", HttpTransport::Streamable),
    ("streamable-http", HttpTransport::Streamable),
    ("streamable_http", HttpTransport::Streamable),
    ("streamable", HttpTransport::Streamable),
];

impl Reader<'_> {
    pub(super) fn http(
        &mut self,
        url: &Field<'_>,
        section: &mut Section<'_>,
    ) -> Option<HttpEndpoint> {
        let address = self.url(url);
        let headers = section.take("headers").map(|field| self.headers(&field)).unwrap_or_default();
        let transport = section.take("transport").map_or(HttpTransport::Streamable, |field| {
            let otherwise = ("Streamable HTTP is used", HttpTransport::Streamable);
            self.word(&field, TRANSPORTS, otherwise)
        });
        let skip_preflight = self.flag(section.take("skip_preflight"), false);
        let verify = section.take("ssl_verify").map(|field| self.verify(&field));
        let (cert, key) = (section.take("client_cert"), section.take("client_key"));
        let client_cert = self.client_cert(cert, key);
        let auth = self.auth(section);
        Some(HttpEndpoint {
            url: address?,
            headers,
            transport,
            skip_preflight,
            verify: verify.unwrap_or(Verify::System),
            client_cert,
            auth,
        })
    }

    fn url(&mut self, field: &Field<'_>) -> Option<Text> {
        let text = self.string(field, "an http or https address")?;
        let value = text.value().trim().to_owned();
        let text = self.secrets.embedded(text.with_value(value));
        // What is not used may wait for its variables.
        if !self.enabled && text.value().contains("${") {
            return Some(text);
        }
        match fault_of_address(text.value()) {
            None => Some(text),
            Some(why) => {
                let mut problem = Problem::error(
                    field.place,
                    format!("must be an http or https address with a host: {why}"),
                );
                if text.value().contains("${") {
                    problem.hint = Some("a variable in it is not set".to_owned());
                }
                self.report(&field.key, problem);
                None
            }
        }
    }

    fn headers(&mut self, field: &Field<'_>) -> Vec<(String, Text)> {
        let Some(entries) = self.named_values(field, MAX_HEADERS, "headers") else {
            return Vec::new();
        };
        let mut headers: Vec<(String, Text)> = Vec::with_capacity(entries.len());
        for (key, node) in entries {
            let name = &key.text;
            let field = Field { key: format!("headers.{name}"), place: node.place, node };
            if HeaderName::from_bytes(name.as_bytes()).is_err() {
                self.refuse(&field, "this name cannot be the name of a header");
                continue;
            }
            let spelled = headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
            if let Some((other, _)) = spelled.filter(|(other, _)| other != name) {
                let message = format!("is the same header as `{other}`, which is also given");
                self.refuse(&field, message);
                continue;
            }
            if node.is_null() {
                let problem = Problem::warning(key.place, "has no value and is left out");
                self.report(&field.key, problem.hint("write \"\" for an empty value"));
                continue;
            }
            let Some(text) = self.scalar(&field.key, node.place, node) else {
                self.refuse(&field, format!("must be a string, found {}", node.kind()));
                continue;
            };
            if HeaderValue::from_str(text.value()).is_err() {
                let message = "the value holds a character that a header cannot carry, such as \
                               a line break";
                self.refuse(&field, message);
                continue;
            }
            headers.push((name.clone(), self.secrets.named(name, text)));
        }
        headers
    }

    fn verify(&mut self, field: &Field<'_>) -> Verify {
        let wanted = "true, false or the path of a PEM file";
        let (meant, path) = match &field.node.value {
            Value::Bool(..) | Value::Number(..) => (self.bool_like(field), None),
            // Words for a switch count here too, also those that a variable holds.
            _ => match self.path(field, wanted) {
                Some(path) => (switch(path.value()), Some(path)),
                None => return Verify::System,
            },
        };
        match (meant, path) {
            (Some(true), _) => Verify::System,
            (Some(false), _) => Verify::Off,
            (None, Some(path)) => Verify::Bundle(path),
            (None, None) => {
                self.refuse(field, format!("must be {wanted}, found {}", field.node.kind()));
                Verify::System
            }
        }
    }

    fn client_cert(
        &mut self,
        cert: Option<Field<'_>>,
        key: Option<Field<'_>>,
    ) -> Option<ClientCert> {
        let Some(cert) = cert else {
            if let Some(key) = key {
                self.refuse(&key, "is given without `client_cert`");
            }
            return None;
        };
        let Value::List(items) = &cert.node.value else {
            let path = self.path(&cert, "the path of a PEM file or a list of two or three strings");
            let key = key.map(|key| self.path(&key, "the path of a PEM file"));
            let key = match key {
                Some(None) => return None,
                Some(key) => key,
                None => None,
            };
            return path.map(|cert| ClientCert { cert, key, password: None });
        };
        if let Some(key) = key {
            self.refuse(&key, "must not stand beside a list in `client_cert`, which names the key");
            return None;
        }
        let (cert_item, key_item, password) = match items.as_slice() {
            [cert, key] => (cert, key, None),
            [cert, key, password] => (cert, key, Some(password)),
            _ => {
                let found = items.len();
                let message = format!(
                    "must be [certificate, key] or [certificate, key, password], found a list of \
                     {found}"
                );
                self.refuse(&cert, message);
                return None;
            }
        };
        let mut path = |index: usize, node: &Node| {
            let key = format!("{}[{index}]", cert.key);
            self.path(&Field { key, place: node.place, node }, "the path of a PEM file")
        };
        let (certificate, key) = (path(0, cert_item), path(1, key_item));
        let password = match password {
            Some(password) => Some(self.password(&cert, password)?),
            None => None,
        };
        Some(ClientCert { cert: certificate?, key: Some(key?), password })
    }

    fn password(&mut self, cert: &Field<'_>, node: &Node) -> Option<Text> {
        let field = Field { key: format!("{}[2]", cert.key), place: node.place, node };
        let Value::String(_) = &node.value else {
            self.refuse(&field, format!("the password must be a string, found {}", node.kind()));
            return None;
        };
        let text = self.scalar(&field.key, field.place, node)?;
        Some(self.secrets.whole("password of client_cert", text))
    }

    fn auth(&mut self, section: &mut Section<'_>) -> Auth {
        let (auth, oauth) = (section.take("auth"), section.take("oauth"));
        let Some(auth) = auth else {
            if let Some(oauth) = oauth {
                let problem = Problem::warning(oauth.place, "has no effect without `auth: oauth`");
                self.report(&oauth.key, problem);
            }
            return Auth::Static;
        };
        let text = self.scalar(&auth.key, auth.place, auth.node);
        if text.is_some_and(|text| text.value().trim().eq_ignore_ascii_case("oauth")) {
            return Auth::OAuth(Box::new(self.oauth(oauth)));
        }
        // What stands here may well be a token: it is not quoted.
        let found = match auth.node.kind() {
            "a string" => "another text",
            other => other,
        };
        let message = format!("must be `oauth`, found {found}");
        let problem = Problem::error(auth.place, message)
            .hint("leave it out to sign in with `headers` or a certificate");
        self.report(&auth.key, problem);
        Auth::Static
    }
}

/// What is wrong with the address of a server, if anything.
pub(crate) fn fault_of_address(address: &str) -> Option<&'static str> {
    let Ok(uri) = address.parse::<Uri>() else { return Some("it is not a valid address") };
    match uri.scheme() {
        None => return Some("it does not begin with `http://` or `https://`"),
        Some(scheme) if *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS => {
            return Some("its scheme is another one");
        }
        Some(_) => {}
    }
    match uri.authority() {
        Some(authority) if !authority.host().is_empty() => None,
        _ => Some("it has no host"),
    }
}
