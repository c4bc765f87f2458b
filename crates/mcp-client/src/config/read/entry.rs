//! One server entry, key by key.

use settings::{Field, Key, Node, Place, Problem, Seconds, Value, Zero};

use super::super::keys::Applies;
use super::super::{
    DEFAULT_CONNECT_TIMEOUT, DEFAULT_KEEPALIVE, DEFAULT_TIMEOUT, Endpoint, MIN_KEEPALIVE, Protocol,
    ServerEntry, Trust,
};
use super::section::Section;
use super::server::Reader;

const PROTOCOLS: &[(&str, Protocol)] = &[
    ("auto", Protocol::Auto),
    ("stateless", Protocol::Stateless),
    ("legacy", Protocol::Legacy),
    ("modern", Protocol::Stateless),
    ("2026-07-28", Protocol::Stateless),
    ("handshake", Protocol::Legacy),
];
const TRUSTS: &[(&str, Trust)] = &[("full", Trust::Full), ("untrusted", Trust::Untrusted)];

impl Reader<'_> {
    /// Reads an entry; nothing if it cannot be reached in any way.
    pub(super) fn entry(&mut self, place: Place, entries: &[(Key, Node)]) -> Option<ServerEntry> {
        let mut section = Section::open(self, "", entries);
        // First of all: it decides whether references must lead somewhere.
        let enabled = section.take("enabled");
        self.enabled = self.flag(enabled, true);
        let endpoint = self.endpoint(place, &mut section);
        let name = self.server.to_owned();
        let timeout = Seconds { default: DEFAULT_TIMEOUT, zero: Zero::Refused };
        let connect_timeout = Seconds { default: DEFAULT_CONNECT_TIMEOUT, zero: Zero::Refused };
        let entry = ServerEntry {
            name,
            enabled: self.enabled,
            required: self.flag(section.take("required"), false),
            lazy: self.flag(section.take("lazy"), false),
            timeout: self.seconds(section.take("timeout"), &timeout),
            connect_timeout: self.seconds(section.take("connect_timeout"), &connect_timeout),
            protocol: self.protocol(section.take("protocol")),
            parallel_calls: self.flag(section.take("supports_parallel_tool_calls"), false),
            keepalive: self.keepalive(section.take("keepalive_interval")),
            tools: self.tools(section.take("tools")),
            trust: self.trust(section.take("trust")),
            sampling: self.sampling(section.take("sampling")),
            elicitation: self.elicitation(section.take("elicitation")),
            endpoint: if let Some(endpoint) = endpoint {
                endpoint
            } else {
                section.close(self);
                return None;
            },
        };
        section.close(self);
        Some(entry)
    }

    /// How the server is reached. An address wins over a command.
    fn endpoint(&mut self, place: Place, section: &mut Section<'_>) -> Option<Endpoint> {
        let (url, command) = (section.take("url"), section.take("command"));
        match (url, command) {
            (Some(url), command) => {
                if let Some(command) = command {
                    let message = "is ignored because there is a `url`, which wins";
                    self.warn(&command, message);
                }
                section.leave_out(self, Applies::Http);
                let endpoint = self.http(&url, section)?;
                Some(Endpoint::Http(Box::new(endpoint)))
            }
            (None, Some(command)) => {
                // `transport: stdio` says nothing new here; any other one is warned of.
                section.forget_where(|key, node| {
                    key == "transport"
                        && matches!(&node.value, Value::String(word) if word == "stdio")
                });
                section.leave_out(self, Applies::Stdio);
                self.stdio(&command, section).map(Endpoint::Stdio)
            }
            (None, None) => {
                let problem = Problem::error(place, "there is neither a `url` nor a `command`")
                    .hint("give it `url` for a remote server or `command` for a local one");
                self.report("", problem);
                // What the other keys are is then unknown; none of them is blamed.
                section.forget(|key| key.applies != Applies::Both);
                None
            }
        }
    }

    fn protocol(&mut self, field: Option<Field<'_>>) -> Protocol {
        field.map_or(Protocol::Auto, |field| {
            self.word(&field, PROTOCOLS, ("`auto` is used", Protocol::Auto))
        })
    }

    fn trust(&mut self, field: Option<Field<'_>>) -> Trust {
        field.map_or(Trust::Full, |field| {
            self.exact_word(
                &field,
                TRUSTS,
                ("the server is treated as untrusted", Trust::Untrusted),
            )
        })
    }

    fn keepalive(&mut self, field: Option<Field<'_>>) -> std::time::Duration {
        let Some(field) = field else { return DEFAULT_KEEPALIVE };
        let (key, place) = (field.key.clone(), field.place);
        let rule = Seconds { default: DEFAULT_KEEPALIVE, zero: Zero::Allowed };
        let period = self.seconds(Some(field), &rule);
        if period < MIN_KEEPALIVE {
            let least = MIN_KEEPALIVE.as_secs();
            let message = format!("is less than {least} seconds; {least} is used");
            self.report(&key, Problem::warning(place, message));
        }
        period.max(MIN_KEEPALIVE)
    }
}
