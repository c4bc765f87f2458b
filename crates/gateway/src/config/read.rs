//! From the text of `gateway.yaml` to a configuration, or to everything that is wrong with it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use gateway_store::Calendar;
use http::Uri;
use schemars::JsonSchema;
use serde::Deserialize;
use settings::{
    Days, Field, Hours, KnownSecret, Node, Position, Problem, Reader, Schema, Scope, Strictness,
    Value, WholeSeconds, in_order, section,
};

use super::address::Address;
use super::alerts::{Alerts, MailSecurity};
use super::changes::{fixed_changes, fixed_keys};
use super::fetch::Fetch;
use super::format::FORMATS;
use super::limit::Limits;
use super::mcp::Mcp;
use super::media::{ArtifactsFile, Downloads, Media, MediaFile};
use super::observe::{Log, Trace};
use super::price::{Prices, PricesFile};
use super::provider::MAX_PROVIDERS;
use super::provider::file::{ProviderFile, providers};
use super::research::Research;
use super::route::{self, AliasFile, MAX_ALIASES};
use super::search::Search;
use super::secret::{MIN_SECRET_CHARS, Secret};
use super::store::{Database, DatabaseFile, KeySecret};
use super::{ClientGone, Config, DEFAULT_LISTEN, RemoteImages, is_loopback};

/// What a file says.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The configuration; nothing if any of the problems is an error.
    pub config: Option<Config>,
    /// What is wrong, in the order of the file.
    pub problems: Vec<Problem>,
    /// Values that must never be shown, the longest first.
    pub secrets: Vec<KnownSecret>,
    /// Where the file sets keys that a running service cannot change.
    fixed: Vec<(&'static str, Position)>,
}

/// Top-level keys.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = section::<Self>)]
struct File {
    /// Address to listen on.
    #[schemars(with = "Option<String>", extend("default" = DEFAULT_LISTEN))]
    #[schemars(extend("format" = "listen", "x-type" = "address:port"))]
    listen: Option<SocketAddr>,
    /// Serve `/metrics` only on this address, such as `127.0.0.1:9464`. Without it, `/metrics` is
    /// served on `listen`.
    #[schemars(with = "Option<String>")]
    #[schemars(extend("format" = "listen", "x-type" = "address:port"))]
    metrics_listen: Option<SocketAddr>,
    /// URL at which clients reach the service, without a path. Must be https unless the host is
    /// this machine. Default: `http://` and `listen`.
    #[schemars(extend("format" = "public-url"))]
    public_url: Option<Address>,
    /// Database of members, keys and balances: `sqlite:PATH` or `postgres://…`.
    #[schemars(extend("default" = "sqlite:gateway.sqlite3"))]
    database: Option<DatabaseFile>,
    /// Storage of generated files: `file:PATH` or `s3://BUCKET/PREFIX`. Default: the folder
    /// `artifacts` next to the SQLite file, or next to this file with PostgreSQL.
    #[schemars(extend("default" = "file:artifacts"))]
    artifacts: ArtifactsFile,
    /// Token of the admin API, at least 32 characters. Without it, the admin API is disabled.
    #[schemars(length(min = MIN_SECRET_CHARS))]
    admin_token: Option<Secret>,
    /// Secret for hashing keys, at least 32 characters. Default: the content of `gateway.secret`
    /// next to this file, which is created if it is missing. Changing the secret invalidates all
    /// keys.
    #[schemars(length(min = MIN_SECRET_CHARS))]
    key_secret: Option<Secret>,
    /// Providers, by name.
    #[schemars(with = "BTreeMap<String, ProviderFile>")]
    #[schemars(extend("maxProperties" = MAX_PROVIDERS, "x-items" = "providers"))]
    #[schemars(extend("propertyNames" = {"type": "string", "format": "provider-name"}))]
    providers: Vec<(String, ProviderFile)>,
    /// Aliases, by name.
    #[schemars(with = "BTreeMap<String, AliasFile>")]
    #[schemars(extend("maxProperties" = MAX_ALIASES, "x-items" = "aliases"))]
    #[schemars(extend("propertyNames" = {"type": "string", "format": "alias-name"}))]
    models: Vec<(String, AliasFile)>,
    /// Prices of requests.
    prices: PricesFile,
    /// Limits of the service.
    limits: Limits,
    /// How to handle `image_url`s with an `http` or `https` URL: `refuse` rejects the request;
    /// `inline` fetches the image, subject to the rules of `fetch`, and sends it inline. Providers
    /// never receive such URLs. `data:` URLs are always accepted.
    #[schemars(extend("x-type" = "`refuse` or `inline`"))]
    remote_images: RemoteImages,
    /// What to do when the client disconnects after the first byte of a response: `cancel` cancels
    /// the request to the provider, `finish` reads the response to its end. The request is charged
    /// in either case.
    on_client_gone: ClientGone,
    /// How long to keep an `Idempotency-Key` and its response, in hours; at most 720.
    #[serde(with = "Hours", default = "one_day")]
    #[schemars(range(min = 1, max = 720))]
    idempotency_hours: Duration,
    /// How long to keep stored responses, in days; at most 3650.
    #[serde(with = "Days", default = "thirty_days")]
    #[schemars(range(min = 1, max = 3650))]
    responses_days: Duration,
    /// How long reserved money stays reserved without renewal, for example after a crash.
    #[serde(with = "WholeSeconds", default = "one_minute")]
    #[schemars(range(min = 1, max = 86400))]
    hold_lease_seconds: Duration,
    /// Time zone in which budgets reset: an IANA name such as `Europe/Berlin`. Days start at midnight,
    /// weeks on Monday.
    #[schemars(extend("format" = "time-zone", "default" = "UTC"))]
    time_zone: Option<String>,
    /// Logging.
    log: Log,
    /// OpenTelemetry tracing.
    trace: Option<Trace>,
    /// Alerts to operators.
    alerts: Option<Alerts>,
    /// Research jobs.
    research: Research,
    /// Reading of pages.
    fetch: Fetch,
    /// Public downloads. Without this section, there are none.
    downloads: Option<Downloads>,
    /// Limits of media requests.
    media: MediaFile,
    /// Web search.
    search: Search,
    /// Access to `/mcp`.
    mcp: Mcp,
}

fn one_day() -> Duration {
    Duration::from_hours(24)
}

fn thirty_days() -> Duration {
    Duration::from_hours(30 * 24)
}

fn one_minute() -> Duration {
    Duration::from_mins(1)
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<File>);

/// The schema of the file.
pub fn schema() -> &'static Schema {
    &SCHEMA
}

/// Reads the text of `gateway.yaml`. Relative paths start from `folder`, where the file is. All
/// problems are found at once, and no message quotes a secret.
pub fn read(text: &str, scope: &Scope, folder: &Path) -> Reading {
    let root = match Node::from_yaml(text) {
        Ok(root) => root,
        Err(problem) => {
            let problems = vec![problem];
            return Reading { config: None, problems, secrets: Vec::new(), fixed: Vec::new() };
        }
    };
    let mut reader = Reader::new(scope, None, Strictness::Strict);
    (reader.folder, reader.formats, reader.schema) = (Some(folder), &[FORMATS], Some(schema()));
    let root = if root.is_null() { Value::Map(Vec::new()).into() } else { root };
    let file: Option<File> = if matches!(root.value, Value::Map(_)) {
        reader.read(schema(), &Field::of(&root))
    } else {
        let message = format!("the file must be a mapping, found {}", root.kind());
        reader.report("", Problem::error(root.position, message));
        None
    };
    let config = file.map(|file| file.into_config(&mut reader, folder));
    let (problems, secrets) = reader.finish();
    let is_usable = !problems.iter().any(Problem::is_error);
    let (config, problems) = (config.filter(|_| is_usable), in_order(problems));
    Reading { config, problems, secrets, fixed: fixed_keys(&root) }
}

impl Reading {
    /// The keys on which the file differs from the running configuration although they cannot change
    /// while the service runs.
    pub fn fixed_changes(&self, running: &Config) -> Vec<Problem> {
        let new = self.config.as_ref();
        new.map_or(Vec::new(), |new| fixed_changes(running, new, &self.fixed))
    }
}

impl File {
    fn into_config(self, reader: &mut Reader<'_>, folder: &Path) -> Config {
        let listen = self.listen.unwrap_or_else(default_listen);
        if reader.is_given("listen") && !reader.is_given("public_url") && !listen.ip().is_loopback()
        {
            let message = "other machines can connect, but `public_url` is not set";
            let problem = Problem::warning(reader.position("listen"), message);
            let hint = "set `public_url` to the https URL that clients use";
            reader.report("listen", problem.hint(hint));
        }
        let (providers, of_results) = providers(self.providers, reader, folder);
        let aliases = route::written(self.models, reader);
        let aliases = route::resolve(reader, &aliases, &providers);
        let prices = Prices::from(self.prices);
        route::check_prices(reader, &prices, &providers, &aliases);
        check_mail(self.alerts.as_ref(), reader);
        let database = Database::new(self.database, reader, folder);
        let public_url = self.public_url.map(|Address(uri)| uri);
        Config {
            listen,
            metrics_listen: self.metrics_listen,
            public_url: public_url.unwrap_or_else(|| own_url(listen)),
            media: Media::new((self.artifacts, self.media), reader, (&database, folder)),
            downloads: self.downloads,
            search: self.search.with(of_results, (&database, folder)),
            database,
            admin_token: self.admin_token,
            key_secret: KeySecret::new(self.key_secret, folder),
            providers,
            aliases,
            prices,
            limits: self.limits,
            on_client_gone: self.on_client_gone,
            remote_images: self.remote_images,
            idempotency: self.idempotency_hours,
            responses_kept: self.responses_days,
            hold_lease: self.hold_lease_seconds,
            calendar: self
                .time_zone
                .and_then(|name| Calendar::parse(&name))
                .unwrap_or_else(Calendar::utc),
            fetch: self.fetch,
            research: self.research,
            mcp: self.mcp,
            log: self.log,
            trace: self.trace,
            alerts: self.alerts,
        }
    }
}

/// Passwords and alerts are sent unencrypted only to this machine.
fn check_mail(alerts: Option<&Alerts>, reader: &mut Reader<'_>) {
    let Some(email) = alerts.and_then(|alerts| alerts.email.as_ref()) else { return };
    let uri = format!("http://{}", email.host).parse::<Uri>();
    if email.security == MailSecurity::None && !uri.is_ok_and(|uri| is_loopback(&uri)) {
        let message = "`none` is allowed only for a server on this machine";
        let key = "alerts.email.security";
        let problem = Problem::error(reader.position(key), message);
        reader.report(key, problem.hint("use `starttls` or `tls`"));
    }
    if email.username.is_some() != email.password.is_some() {
        let message = "has only one of `username` and `password`";
        let problem = Problem::error(reader.position("alerts.email"), message);
        reader.report("alerts.email", problem.hint("set both, or remove both"));
    }
}

fn default_listen() -> SocketAddr {
    DEFAULT_LISTEN.parse().unwrap_or_else(|_| SocketAddr::from(([127, 0, 0, 1], 8930)))
}

fn own_url(listen: SocketAddr) -> Uri {
    format!("http://{listen}").parse().unwrap_or_default()
}
