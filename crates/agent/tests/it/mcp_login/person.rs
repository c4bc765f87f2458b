//! A person at a terminal of their own, who reads, types and presses Ctrl-C.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use agent_test_support::command::Run;
use agent_test_support::wait::eventually;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

/// A command at a terminal. Standard output goes elsewhere.
pub(super) struct Person {
    child: Child,
    near: File,
    far: Option<File>,
    shown: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

impl Person {
    /// Starts the command in a session of its own, whose terminal this is.
    pub(super) fn start(command: &mut Command) -> Self {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&near).unwrap();
        unlockpt(&near).unwrap();
        let name = ptsname(&near, Vec::new()).unwrap();
        let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let far = File::options().read(true).write(true).open(path).unwrap();
        let near = File::from(near);
        let mut alone = Command::new("setsid");
        alone.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args());
        alone.env_clear().env("NO_COLOR", "1");
        for (name, value) in command.get_envs() {
            alone.env(name, value.unwrap_or_default());
        }
        let child = alone
            .current_dir(command.get_current_dir().unwrap())
            .stdin(Stdio::from(far.try_clone().unwrap()))
            .stderr(Stdio::from(far.try_clone().unwrap()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Nothing else holds the far end, so that the near one notices when the command is gone.
        drop(alone);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut from, to) = (near.try_clone().unwrap(), Arc::clone(&shown));
        let reading = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                to.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self { child, near, far: Some(far), shown, reading }
    }

    /// What stands on the screen so far.
    pub(super) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).replace("\r\n", "\n")
    }

    /// Waits until this is shown so often.
    pub(super) fn sees(&self, text: &str, times: usize) -> &Self {
        eventually(text, || self.shown().matches(text).count() >= times);
        self
    }

    pub(super) fn types(&mut self, text: &str) -> &mut Self {
        self.near.write_all(text.as_bytes()).unwrap();
        self
    }

    /// Whether the terminal edits lines and shows what is typed, as it does for everybody.
    pub(super) fn has_an_ordinary_terminal(&self) -> bool {
        let modes = tcgetattr(self.far.as_ref().unwrap()).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Waits for the end.
    pub(super) fn finish(mut self) -> Run {
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        assert!(self.has_an_ordinary_terminal(), "the terminal is left as it was found");
        drop(self.far.take());
        self.reading.join().unwrap();
        let stderr = String::from_utf8_lossy(&self.shown.lock().unwrap()).replace("\r\n", "\n");
        Run { code, stdout, stderr }
    }
}
