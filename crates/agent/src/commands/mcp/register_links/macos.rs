//! The application that passes install links to this program on macOS.
//!
//! macOS sends a link to an application as an Apple event, which a plain executable never
//! gets. So the executable is a script, compiled to an application by the system's compiler.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Outcome, tool};
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::mcp::advice::quoted;
use crate::output::GOOD;
use crate::session::Session;

const NAME: &str = "Agent Links.app";
const COMPILER: &str = "osacompile";
/// The tool that registers the links of the application with the system.
const LSREGISTER: &str = "/System/Library/Frameworks/CoreServices.framework/Frameworks/\
                          LaunchServices.framework/Support/lsregister";
/// `applet` is the executable made by the compiler. The application has no window.
const INFO: &str = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
  <key>CFBundleIdentifier</key><string>agent.links</string>
  <key>CFBundleName</key><string>Agent Links</string>
  <key>CFBundleExecutable</key><string>applet</string>
  <key>CFBundlePackageType</key><string>APPL</string>
  <key>CFBundleInfoDictionaryVersion</key><string>6.0</string>
  <key>LSUIElement</key><true/>
  <key>CFBundleURLTypes</key>
  <array>
    <dict>
      <key>CFBundleURLName</key><string>agent install link</string>
      <key>CFBundleURLSchemes</key><array><string>agent</string></array>
    </dict>
  </array>
</dict>
</plist>
";

pub(super) fn bundle_path(session: &Session) -> Result<PathBuf> {
    let home = session.environment.home.as_ref().ok_or_else(|| {
        Diagnostic::configuration("no home folder found").hint("set HOME to your home folder")
    })?;
    Ok(home.join("Applications").join(NAME))
}

/// Opens a link in the dashboard. No part of a link can become an option or a command.
pub(super) fn script(program: &str, home: Option<&str>, profile: Option<&str>) -> String {
    let home = home.map(|home| format!("AGENT_HOME={} ", quoted(home)));
    let profile = profile.map(|name| format!(" --profile {}", quoted(name)));
    let program = quoted(program);
    let (home, profile) = (home.unwrap_or_default(), profile.unwrap_or_default());
    let command = format!("{home}{program}{profile} dashboard --link=");
    format!(
        "on open location link\n\
         do shell script \"{}\" & quoted form of link & \" >/dev/null 2>&1 &\"\n\
         end open location\n",
        command.replace('\\', "\\\\").replace('"', "\\\"")
    )
}

pub(super) fn register(session: &Session, app: &Path, script: &str) -> Result {
    write(app, script, COMPILER).or_cannot("write", app)?;
    if let Some(path) = app.to_str() {
        // The compiler signed its output with the file that was replaced since.
        tool("codesign", &["--force", "--sign", "-", path]);
        tool(LSREGISTER, &["-f", path]);
    }
    let text = format!("{GOOD}Registered{GOOD:#} for agent:// links: {}\n", app.display());
    session.output.print(&json!({ "registered": app }), text)
}

/// Writes the application: the compiled script, and its declaration of the links.
fn write(app: &Path, script: &str, compiler: &str) -> io::Result<()> {
    fs::create_dir_all(app.parent().unwrap_or(app))?;
    let path = app.to_str().ok_or_else(|| io::Error::other("its path is not UTF-8"))?;
    let lines = script.lines().flat_map(|line| ["-e", line]);
    let arguments: Vec<&str> = ["-o", path].into_iter().chain(lines).collect();
    if tool(compiler, &arguments) != Outcome::Done {
        return Err(io::Error::other(format!("`{compiler}` failed")));
    }
    fs::write(app.join("Contents/Info.plist"), INFO)
}

pub(super) fn remove(session: &Session, app: &Path) -> Result {
    let removed = match fs::remove_dir_all(app) {
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        done => done.or_cannot("remove", app).map(|()| true)?,
    };
    if let Some(path) = app.to_str() {
        tool(LSREGISTER, &["-u", path]);
    }
    let text = if removed {
        format!("{GOOD}Removed{GOOD:#} {}\n", app.display())
    } else {
        format!("There is no {}.\n", app.display())
    };
    session.output.print(&json!({ "removed": removed.then_some(app) }), text)
}

#[cfg(test)]
mod tests;
