//! A terminal with a person who types a yes too early, and then answers each question.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use agent_test_support::command::Run;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

/// How a question ends.
const QUESTIONS: [&str; 4] = ["[y/N] ", "): ", "window. ", ": "];

/// Runs a command whose standard input and standard error are a terminal, and types one line at
/// each question. The yes that is typed before the first one must not count. Standard output goes
/// elsewhere.
pub(crate) fn run(command: &mut Command, typed: &str) -> Run {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let name = ptsname(&near, Vec::new()).unwrap();
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let far = File::options().read(true).write(true).open(path).unwrap();
    // What is typed does not show: when it would is a matter of chance.
    let mut how = tcgetattr(&far).unwrap();
    how.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&far, OptionalActions::Now, &how).unwrap();
    let mut near = File::from(near);
    near.write_all(b"y\n").unwrap();
    let mut answers = typed.split_inclusive('\n');
    let mut child = command
        .stdin(Stdio::from(far.try_clone().unwrap()))
        .stderr(Stdio::from(far))
        .stdout(Stdio::piped())
        .env("NO_COLOR", "1")
        .spawn()
        .unwrap();
    // The command holds the far end until it is given other ones.
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let (mut shown, mut buffer) = (Vec::new(), [0; 4096]);
    // The near end fails when nobody holds the far one any more.
    while let Ok(count @ 1..) = near.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..count]);
        if QUESTIONS.iter().any(|end| shown.ends_with(end.as_bytes())) {
            near.write_all(answers.next().unwrap_or("\n").as_bytes()).unwrap();
        }
    }
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    let code = child.wait().unwrap().code().unwrap_or(-1);
    let stderr = String::from_utf8_lossy(&shown).replace("\r\n", "\n");
    Run { code, stdout, stderr }
}
