//! The channels that alerts are delivered through: a signed webhook and e-mail.

use std::time::Duration;

use gateway_store::{Alert, AlertDelivery};
use http::header::{CONTENT_TYPE, HOST, HeaderName};
use http::{HeaderValue, Method, Request, Uri};
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use serde_json::json;

use super::{EMAIL, WEBHOOK};
use crate::clock;
use crate::config::{self, AlertEmail, MailSecurity, Secret};
use crate::problem::Problem;
use crate::signed_message::SignedMessage;
use crate::upstream_pool::{BaseUrl, UpstreamPool};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct Channels {
    webhook: Option<Webhook>,
    email: Option<Email>,
}

struct Webhook {
    pool: UpstreamPool,
    url: Uri,
    host: HeaderValue,
    secret: Secret,
}

struct Email {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    to: Vec<Mailbox>,
    /// The host in the ids of messages.
    host: String,
}

impl Channels {
    /// Opens the channels of a configuration. Nothing is connected yet.
    pub(crate) fn open(config: &config::Alerts) -> Result<Self, Problem> {
        let problem = |what: &str, why: String| Problem::new(format!("`alerts.{what}`: {why}"));
        let webhook = config.webhook.as_ref().map(|webhook| -> Result<Webhook, String> {
            let pool = UpstreamPool::open(&[], CONNECT_TIMEOUT).map_err(|it| it.to_string())?;
            let host = BaseUrl::new(&webhook.url).and_then(|base| base.host());
            let host = host.ok_or_else(|| "`url` is not a valid URL".to_owned())?;
            let (url, secret) = (webhook.url.clone(), webhook.secret.clone());
            Ok(Webhook { pool, url, host, secret })
        });
        let webhook = webhook.transpose().map_err(|why| problem(WEBHOOK, why))?;
        let email = config.email.as_ref().map(Email::open).transpose();
        Ok(Self { webhook, email: email.map_err(|why| problem(EMAIL, why))? })
    }

    /// Sends an alert once; the error is the reason of a rejection.
    pub(super) async fn send(&self, delivery: &AlertDelivery) -> Result<(), String> {
        match (delivery.channel.as_deref(), &self.webhook, &self.email) {
            (Some(WEBHOOK), Some(webhook), _) => webhook.send(&delivery.alert).await,
            (Some(EMAIL), _, Some(email)) => email.send(&delivery.alert).await,
            _ => Err("this channel is not configured any more".to_owned()),
        }
    }
}

impl Webhook {
    async fn send(&self, alert: &Alert) -> Result<(), String> {
        let body = json!({
            "type": format!("alert.{}", alert.kind),
            "timestamp": clock::rfc3339(alert.at),
            "data": { "id": alert.id, "subject": alert.subject, "message": alert.message },
        });
        let id = format!("msg_alert_{}", alert.id);
        let message = SignedMessage::new(&self.secret, id, body.to_string(), clock::unix_seconds());
        let mut request = Request::new(message.body.clone().into());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(HOST, self.host.clone());
        for (name, value) in message.headers() {
            let value = HeaderValue::from_str(value).map_err(|error| error.to_string())?;
            headers.insert(HeaderName::from_static(name), value);
        }
        let response = self.pool.request(request).await;
        let status = response.map_err(|error| error.to_string())?.status();
        if status.is_success() {
            return Ok(());
        }
        Err(format!("the server returned status {}", status.as_u16()))
    }
}

impl Email {
    fn open(config: &AlertEmail) -> Result<Self, String> {
        let tls = match config.security {
            MailSecurity::None => Tls::None,
            MailSecurity::StartTls => Tls::Required(tls(config)?),
            MailSecurity::Tls => Tls::Wrapper(tls(config)?),
        };
        let mut transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&config.host)
            .port(config.port())
            .timeout(Some(CONNECT_TIMEOUT))
            .tls(tls);
        if let (Some(user), Some(password)) = (&config.username, &config.password) {
            let credentials = Credentials::new(user.clone(), password.reveal().to_owned());
            transport = transport.credentials(credentials);
        }
        let mailbox = |text: &String| text.parse::<Mailbox>().map_err(|error| error.to_string());
        let from = mailbox(&config.from)?;
        let host = from.email.domain().to_owned();
        let to = config.to.iter().map(mailbox).collect::<Result<_, _>>()?;
        Ok(Self { transport: transport.build(), from, to, host })
    }

    async fn send(&self, alert: &Alert) -> Result<(), String> {
        // The same id for every try, so that mail programs recognise a repeated message.
        let id = format!("<alert-{}-{}@{}>", alert.id, alert.at.micros(), self.host);
        let mut message = Message::builder()
            .from(self.from.clone())
            .subject(format!("Alert: {}", alert.message))
            .message_id(Some(id))
            .header(ContentType::TEXT_PLAIN);
        for to in &self.to {
            message = message.to(to.clone());
        }
        let text = format!(
            "{}.\n\nKind: {}\nSubject: {}\nTime: {}\nAlert: {}\n",
            alert.message,
            alert.kind,
            alert.subject,
            clock::rfc3339(alert.at),
            alert.id
        );
        let message = message.body(text).map_err(|error| error.to_string())?;
        self.transport.send(message).await.map(drop).map_err(|error| error.to_string())
    }
}

fn tls(config: &AlertEmail) -> Result<TlsParameters, String> {
    let mut parameters = TlsParameters::builder(config.host.clone());
    if let Some(path) = &config.tls_ca_file {
        let pem = std::fs::read(path).map_err(|error| format!("`tls_ca_file`: {error}"))?;
        let wrong = |error| format!("`tls_ca_file`: {error}");
        parameters = parameters.add_root_certificate(Certificate::from_pem(&pem).map_err(wrong)?);
    }
    parameters.build().map_err(|error| error.to_string())
}
