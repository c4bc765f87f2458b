//! Switching servers on and off, as `enable` and `disable` do.

use serde_json::json;

use crate::config::lock;
use crate::config::servers::ServersFile;
use crate::diagnostic::Result;
use crate::output::GOOD;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Server names
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Switch {
    On,
    /// It stays in the configuration and is not connected.
    Off,
}

impl Switch {
    fn as_str(self) -> &'static str {
        match self {
            Switch::On => "enabled",
            Switch::Off => "disabled",
        }
    }
}

pub(super) fn run(args: &Args, switch: Switch, session: &Session) -> Result {
    let path = session.home()?.config();
    // Without a known server no file is created.
    ServersFile::load(&path)?.existing(&args.names)?;
    let _lock = lock::take(&path)?;
    let mut file = ServersFile::load(&path)?;
    let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
    for name in file.existing(&args.names)? {
        let value = switch == Switch::On;
        let is_changed = file.set_enabled(&name, value).map_err(|diagnostic| {
            diagnostic.hint(format!("set `enabled: {value}` under `{name}:` yourself"))
        })?;
        if is_changed { changed.push(name) } else { unchanged.push(name) }
    }
    if !changed.is_empty() {
        file.write()?;
    }
    let word = switch.as_str();
    if session.output.is_json() {
        return session.output.json(&json!({
            word: changed,
            "unchanged": unchanged,
            "file": path.to_string_lossy(),
        }));
    }
    for name in &unchanged {
        session.output.text(format!("{name} is already {word}.\n"))?;
    }
    for name in &changed {
        session.output.text(format!("{GOOD}{name}{GOOD:#} is now {word}.\n"))?;
    }
    Ok(())
}
