//! A terminal of 80 columns as standard output.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use agent_test_support::command::Run;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Runs a command whose standard output is a terminal; standard error is a pipe.
pub(crate) fn on_terminal(command: &mut Command) -> Run {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let name = ptsname(&near, Vec::new()).unwrap();
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let far = File::options().read(true).write(true).open(path).unwrap();
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&far, size).unwrap();
    if command.get_envs().all(|(name, _)| name != "TERM") {
        command.env("TERM", "xterm");
    }
    let mut child = command
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::from(far))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The command holds the far end until it is given other ones.
    command.stdout(Stdio::null());
    let mut errors = child.stderr.take().unwrap();
    let told = std::thread::spawn(move || {
        let mut text = String::new();
        errors.read_to_string(&mut text).unwrap();
        text
    });
    let (mut near, mut shown, mut buffer) = (File::from(near), Vec::new(), [0; 4096]);
    // The near end fails when nobody holds the far one any more.
    while let Ok(count @ 1..) = near.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..count]);
    }
    let code = child.wait().unwrap().code().unwrap_or(-1);
    let stdout = String::from_utf8_lossy(&shown).replace("\r\n", "\n");
    Run { code, stdout, stderr: told.join().unwrap() }
}
