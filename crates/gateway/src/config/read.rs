//! From the text of `gateway.yaml` to a configuration, or to everything that is wrong with it.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use http::Uri;
use settings::{Field, KnownSecret, Manner, Node, Problem, Reader, Scope, Value, in_order};

use super::mapping::{self, Length, Mapping};
use super::{ClientGone, Config, DEFAULT_LISTEN, RemoteImages};
use super::{fetch, limit, mcp, media, observe, price, provider, research, route, search, store};

const CLIENT_GONE: &[(&str, ClientGone)] =
    &[("cancel", ClientGone::Cancel), ("finish", ClientGone::Finish)];

const REMOTE_IMAGES: &[(&str, RemoteImages)] =
    &[("refuse", RemoteImages::Refuse), ("inline", RemoteImages::Inline)];

const SECONDS_OF_AN_HOUR: u64 = 3600;
const SECONDS_OF_A_DAY: u64 = 86400;

/// What a file says.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The configuration; nothing if any of the problems is an error.
    pub config: Option<Config>,
    /// What is wrong, in the order of the file.
    pub problems: Vec<Problem>,
    /// Values that must never be shown, the longest first.
    pub secrets: Vec<KnownSecret>,
}

/// Reads the text of `gateway.yaml`. Relative paths start from `folder`, where the file is. All
/// problems are found at once, and no message quotes a secret.
pub fn read(text: &str, scope: &Scope, folder: &Path) -> Reading {
    let root = match Node::from_yaml(text) {
        Ok(root) => root,
        Err(problem) => {
            return Reading { config: None, problems: vec![problem], secrets: Vec::new() };
        }
    };
    let mut reader = Reader::new(scope, None, Manner::Strict);
    let config = match &root.value {
        Value::Null => Some(config(&mut reader, &root, &[], folder)),
        Value::Map(entries) => Some(config(&mut reader, &root, entries, folder)),
        _ => {
            let message = format!("the file must be a mapping, found {}", root.kind());
            reader.report("", Problem::error(root.place, message));
            None
        }
    };
    let (problems, secrets) = reader.finish();
    let is_usable = !problems.iter().any(Problem::is_error);
    Reading { config: config.filter(|_| is_usable), problems: in_order(problems), secrets }
}

fn config(
    reader: &mut Reader<'_>,
    root: &Node,
    entries: &[(settings::Key, Node)],
    folder: &Path,
) -> Config {
    let mut root = Mapping::of(reader, "", "", (root.place, entries));
    let (listen, public_url) = addresses(&mut root);
    let (providers, of_results) = provider::providers(&mut root, folder);
    let written = route::written(&mut root);
    let (prices, with_price) = price::prices(&mut root);
    let aliases = route::resolve(root.reader, &written, &providers);
    route::check_prices(root.reader, &with_price, &providers, &aliases);
    let database = store::database(&mut root, folder);
    let metrics_listen = root.take("metrics_listen");
    let config = Config {
        metrics_listen: metrics_listen.and_then(|field| self::listen(root.reader, &field)),
        listen,
        public_url,
        search: search::search(&mut root, of_results, (&database, folder)),
        media: media::media(&mut root, folder, &database),
        downloads: media::downloads(&mut root, folder),
        database,
        admin_token: root.secret("admin_token", Length::Guarded),
        key_secret: store::key_secret(&mut root, folder),
        providers,
        aliases,
        prices,
        limits: limit::limits(&mut root),
        remote_images: root.word("remote_images", REMOTE_IMAGES, RemoteImages::Refuse),
        on_client_gone: root.word("on_client_gone", CLIENT_GONE, ClientGone::Cancel),
        idempotency: period(&mut root, "idempotency_hours", (SECONDS_OF_AN_HOUR, 720), 24),
        responses_kept: period(&mut root, "responses_days", (SECONDS_OF_A_DAY, 3650), 30),
        hold_lease: period(&mut root, "hold_lease_seconds", (1, 86400), 60),
        fetch: fetch::fetch(&mut root, folder),
        research: research::research(&mut root),
        mcp: mcp::mcp(&mut root),
        log: observe::log(&mut root),
        trace: observe::trace(&mut root),
    };
    root.close();
    config
}

/// A whole number of some unit of at least 1.
fn period(
    root: &mut Mapping<'_, '_, '_>,
    name: &str,
    (unit_seconds, most): (u64, u64),
    default: u64,
) -> Duration {
    Duration::from_secs(root.whole(name, 1..=most, default) * unit_seconds)
}

/// Reads `listen` and `public_url`.
fn addresses(root: &mut Mapping<'_, '_, '_>) -> (SocketAddr, Uri) {
    let field = root.take("listen");
    let listen =
        field.as_ref().and_then(|field| listen(root.reader, field)).unwrap_or_else(default_listen);
    let public = root.take("public_url");
    if let (Some(field), None) = (&field, &public)
        && !listen.ip().is_loopback()
    {
        let message = "other machines can connect, but `public_url` does not say how";
        let problem = Problem::warning(field.place, message);
        root.reader.report(
            &field.key,
            problem.hint("set `public_url` to the https address that clients use"),
        );
    }
    let public = public.and_then(|field| public_url(root.reader, &field));
    (listen, public.unwrap_or_else(|| own_url(listen)))
}

fn default_listen() -> SocketAddr {
    DEFAULT_LISTEN.parse().unwrap_or_else(|_| SocketAddr::from(([127, 0, 0, 1], 8930)))
}

fn own_url(listen: SocketAddr) -> Uri {
    format!("http://{listen}").parse().unwrap_or_default()
}

fn listen(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<SocketAddr> {
    let wanted = format!("an address and a port, such as `{DEFAULT_LISTEN}`");
    let text = reader.string(field, &wanted)?;
    let value = text.value().trim();
    let read = value.parse().ok();
    if read.is_none() {
        let problem = Problem::error(field.place, format!("must be {wanted}"));
        let hint = match text.shown().trim().rsplit_once(':') {
            Some(("", port)) => format!("write `0.0.0.0:{port}` for all addresses of the machine"),
            Some(("localhost", port)) => format!("write `127.0.0.1:{port}`"),
            _ => "names of hosts are not looked up here; write `[::1]:8930` for IPv6".to_owned(),
        };
        reader.report(&field.key, problem.hint(hint));
    }
    read
}

fn public_url(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Uri> {
    let uri = mapping::address(reader, field)?;
    if uri.path() != "/" {
        let problem = Problem::error(field.place, "must not have a path");
        reader.report(&field.key, problem.hint("clients add `/v1` and `/mcp` themselves"));
        return None;
    }
    if super::address::is_open(&uri) {
        let message =
            "must be https, except for this machine itself: keys would be readable on the way";
        let problem = Problem::error(field.place, message);
        reader.report(&field.key, problem.hint("put a server that speaks TLS before the service"));
        return None;
    }
    Some(uri)
}
