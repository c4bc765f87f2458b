//! The environment of a local server, and the search for its executable.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::config::StdioEndpoint;
use crate::error::{Error, Result};

/// Variables that every local server inherits. Others are passed only if the entry sets them.
#[rustfmt::skip] // a table of words
pub const INHERITED_VARIABLES: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "TERM", "SHELL", "TMPDIR", "TZ", "HTTP_PROXY",
    "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
];

/// Prefixes of further inherited variables.
pub const INHERITED_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Variables of Windows programs, which also run under Wine and WSL; upper or lower case.
#[rustfmt::skip] // a table of words
pub const INHERITED_WINDOWS_VARIABLES: &[&str] = &[
    "ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)",
    "COMMONPROGRAMW6432", "COMPUTERNAME", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS", "OS", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA",
    "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT",
    "TEMP", "TMP", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR",
];

/// Programs started by a desktop often lack the shell's PATH.
const USUAL_DIRS: &[&str] = &["/usr/local/bin", "/opt/homebrew/bin", "/usr/bin", "/bin"];
const USUAL_HOME_DIRS: &[&str] = &[".local/bin", ".cargo/bin", ".bun/bin", ".deno/bin"];

pub(crate) fn child_environment(
    ours: &BTreeMap<String, String>,
    endpoint: &StdioEndpoint,
) -> BTreeMap<String, String> {
    let inherited = ours.iter().filter(|(name, _)| is_inherited(name));
    let inherited = inherited.map(|(name, value)| (name.clone(), value.clone()));
    let own = endpoint.env.iter().map(|(name, value)| (name.clone(), value.value().to_owned()));
    inherited.chain(own).collect()
}

fn is_inherited(name: &str) -> bool {
    INHERITED_VARIABLES.contains(&name)
        || INHERITED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || INHERITED_WINDOWS_VARIABLES.iter().any(|listed| listed.eq_ignore_ascii_case(name))
}

/// Finds the executable of a local server as starting it would.
pub fn find_command(
    endpoint: &StdioEndpoint,
    ours: &BTreeMap<String, String>,
    home: Option<&Path>,
) -> Result<PathBuf> {
    resolve_command(endpoint, &mut child_environment(ours, endpoint), home)
}

/// Finds the executable in the child's PATH and prepends its folder to it, so that a script finds
/// the interpreter it was installed with.
pub(crate) fn resolve_command(
    endpoint: &StdioEndpoint,
    child: &mut BTreeMap<String, String>,
    home: Option<&Path>,
) -> Result<PathBuf> {
    let command = endpoint.command.value().trim();
    let path = child.get("PATH").cloned().unwrap_or_default();
    let missing = |searched: String| Error::MissingExecutable {
        command: endpoint.command.shown().trim().to_owned(),
        searched,
    };
    if command.is_empty() {
        return Err(missing("nothing because the command is empty".to_owned()));
    }
    if command.contains('/') {
        let base = endpoint.cwd.as_ref().map_or(Path::new(""), |cwd| Path::new(cwd.value()));
        let whole = base.join(command);
        return executable(&whole).ok_or_else(|| match whole.metadata() {
            Ok(found) if found.is_dir() => {
                Error::NotExecutable { path: whole, reason: "is a directory" }
            }
            Ok(_) => Error::NotExecutable { path: whole, reason: "is not an executable file" },
            Err(_) => missing("that path only".to_owned()),
        });
    }
    let usual = USUAL_DIRS.iter().map(PathBuf::from);
    let at_home =
        home.into_iter().flat_map(|home| USUAL_HOME_DIRS.iter().map(|dir| home.join(dir)));
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(usual).chain(at_home).collect();
    let found = folders.iter().find_map(|folder| executable(&folder.join(command)));
    let Some(found) = found else {
        let shown =
            if path.is_empty() { "an empty PATH".to_owned() } else { format!("PATH {path}") };
        let mut searched = format!("{shown} and the standard directories");
        if command.contains(char::is_whitespace) {
            searched.push_str(" (put arguments in `args`, not in `command`)");
        }
        return Err(missing(searched));
    };
    if let Some(folder) = found.parent().map(Path::to_path_buf) {
        let mut parts: Vec<PathBuf> = std::env::split_paths(&path).collect();
        if !parts.contains(&folder) {
            parts.insert(0, folder);
            if let Ok(joined) = std::env::join_paths(parts) {
                child.insert("PATH".to_owned(), joined.to_string_lossy().into_owned());
            }
        }
    }
    Ok(found)
}

fn executable(path: &Path) -> Option<PathBuf> {
    let metadata = path.metadata().ok()?;
    (metadata.is_file() && metadata.permissions().mode() & 0o111 != 0).then(|| path.to_path_buf())
}

#[cfg(test)]
mod tests;
