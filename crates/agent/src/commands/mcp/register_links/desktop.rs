//! Desktop integration: the desktop file of Linux, and the steps for Windows.

pub(super) const FILE_NAME: &str = "agent-mcp-link.desktop";
pub(super) const MIME_TYPE: &str = "x-scheme-handler/agent";

/// Characters that need quotes in an argument of `Exec`.
const RESERVED: &str = " \t\n\"'\\><~|&;$*?#()`";

/// The desktop file that passes links to this program: to the dashboard in a graphical
/// session, else to a terminal, whose window stays open until the person has read the result.
/// No part of a link can become an option.
pub(super) fn file(
    program: &str,
    home: Option<&str>,
    profile: Option<&str>,
    is_graphical: bool,
) -> String {
    let home = home.map(|home| format!("env {} ", argument(&format!("AGENT_HOME={home}"))));
    let profile = profile.map(|name| format!(" --profile {}", argument(name)));
    let (home, profile) = (home.unwrap_or_default(), profile.unwrap_or_default());
    let command = if is_graphical { "dashboard --link %u" } else { "mcp install --wait -- %u" };
    format!(
        "[Desktop Entry]\nType=Application\nName=agent install links\n\
         Comment=Show the MCP server in a link and ask before installing it\n\
         Exec={home}{}{profile} {command}\nTerminal={}\nNoDisplay=true\nMimeType={MIME_TYPE};\n",
        argument(program),
        !is_graphical
    )
}

/// The default applications without us; `None` if we are not among them. Other programs for
/// such links are kept.
pub(super) fn without_ours(text: &str) -> Option<String> {
    let mut rest = String::with_capacity(text.len());
    let mut is_changed = false;
    for line in text.split_inclusive('\n') {
        let chosen = line.split_once('=').filter(|(kind, _)| kind.trim() == MIME_TYPE);
        let Some((kind, programs)) = chosen else {
            rest.push_str(line);
            continue;
        };
        let programs: Vec<&str> =
            programs.split(';').map(str::trim).filter(|name| !name.is_empty()).collect();
        if !programs.contains(&FILE_NAME) {
            rest.push_str(line);
            continue;
        }
        is_changed = true;
        let others: Vec<&str> = programs.into_iter().filter(|name| *name != FILE_NAME).collect();
        if !others.is_empty() {
            rest.push_str(&format!("{kind}={};\n", others.join(";")));
        }
    }
    is_changed.then_some(rest)
}

/// A path as an argument of `Exec`, escaped in layers: quotes, the string of the whole line,
/// in which backslashes count too, and percent signs, which begin field codes.
fn argument(path: &str) -> String {
    let path = path.replace('%', "%%");
    if !path.contains(|letter| RESERVED.contains(letter)) {
        return path;
    }
    let mut quoted = path.replace('\\', r"\\\\");
    for letter in ['"', '`', '$'] {
        quoted = quoted.replace(letter, &format!(r"\\{letter}"));
    }
    format!("\"{quoted}\"")
}

/// Manual steps for a system without automatic registration; `None` elsewhere.
pub(super) fn steps(system: &str, program: &str, remove: bool) -> Option<String> {
    Some(match (system, remove) {
        ("windows", false) => format!(
            "Run these in a terminal (cmd); they register the links for your account only:\n\n\
             \x20 reg add HKCU\\Software\\Classes\\agent /ve /d \"URL:agent\" /f\n\
             \x20 reg add HKCU\\Software\\Classes\\agent /v \"URL Protocol\" /d \"\" /f\n\
             \x20 reg add HKCU\\Software\\Classes\\agent\\shell\\open\\command /ve /f \
             /d \"\\\"{program}\\\" mcp install -- \\\"%1\\\"\"\n"
        ),
        ("windows", true) => "Run this in a terminal (cmd):\n\n\
             \x20 reg delete HKCU\\Software\\Classes\\agent /f\n"
            .to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
