//! The command line: which program to test, and when to stop.

use std::path::PathBuf;
use std::time::Duration;

/// What a run was asked to do.
pub(crate) struct Settings {
    pub(crate) program: PathBuf,
    pub(crate) seed: u64,
    time: Duration,
    kills: u64,
}

impl Settings {
    /// Reads `--program PATH --seconds N [--kills N] [--seed N]`.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut program, mut seconds, mut kills) = (None, 0, 0);
        let mut seed = fastrand::u64(..1_000_000);
        while let Some(flag) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{flag} needs a value"))?;
            let number = || value.parse().map_err(|_| format!("{flag}: {value} is not a number"));
            match flag.as_str() {
                "--program" => program = Some(PathBuf::from(value)),
                "--seconds" => seconds = number()?,
                "--kills" => kills = number()?,
                "--seed" => seed = number()?,
                _ => return Err(format!("unknown option {flag}")),
            }
        }
        let program = program.ok_or("--program is missing")?;
        let program =
            program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
        Ok(Self { program, seed, time: Duration::from_secs(seconds), kills })
    }

    /// Whether both the time and the number of kills have been reached.
    pub(crate) fn is_done(&self, elapsed: Duration, kills: u64) -> bool {
        elapsed >= self.time && kills >= self.kills
    }
}
