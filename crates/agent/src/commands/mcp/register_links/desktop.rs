//! What desktops need to know: the desktop file of Linux, and the steps for Windows.

pub(super) const FILE_NAME: &str = "agent-mcp-link.desktop";
pub(super) const MIME_TYPE: &str = "x-scheme-handler/agent";

/// Characters that an argument of `Exec` may only hold in quotes.
const RESERVED: &str = " \t\n\"'\\><~|&;$*?#()`";

/// The desktop file that hands links to this program: to the dashboard in a graphical session, else
/// to a terminal, whose window stays open until the person has read how it went. Nothing of a link
/// can be taken for an option.
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

/// The choices of a person without us; nothing if we are not among them. Other programs that are
/// chosen for such links stay.
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

/// A path as an argument of `Exec`. Quotes are one layer; that the whole line is a string, in which
/// backslashes count too, is another; and percent signs begin field codes.
fn argument(path: &str) -> String {
    let path = path.replace('%', "%%");
    if !path.contains(|letter| RESERVED.contains(letter)) {
        return path;
    }
    let mut quoted = String::from("\"");
    for letter in path.chars() {
        match letter {
            '\\' => quoted.push_str("\\\\\\\\"),
            '"' | '`' | '$' => {
                quoted.push_str("\\\\");
                quoted.push(letter);
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// What a person does where this program cannot; nothing where it can.
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
