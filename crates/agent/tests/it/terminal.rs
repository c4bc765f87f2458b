//! A terminal: what a person types at it and sees on it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

/// Marks the end of all output. The end of the far side would not do: a read that meets it may
/// fail although something was written just before.
const END: u8 = 0;

/// The near end is the person's, the far one the program's.
#[derive(Debug)]
pub(crate) struct Terminal {
    near: File,
    far: File,
}

impl Terminal {
    pub(crate) fn open() -> Self {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&near).unwrap();
        unlockpt(&near).unwrap();
        let name = ptsname(&near, Vec::new()).unwrap();
        let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let far = File::options().read(true).write(true).open(path).unwrap();
        Self { near: File::from(near), far }
    }

    /// So large.
    pub(crate) fn sized(self, columns: u16, rows: u16) -> Self {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.far, size).unwrap();
        self
    }

    /// What is typed does not show: when it would is a matter of chance.
    pub(crate) fn without_echo(self) -> Self {
        let mut how = tcgetattr(&self.far).unwrap();
        how.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&self.far, OptionalActions::Now, &how).unwrap();
        self
    }

    /// The far end, for a command.
    pub(crate) fn stdio(&self) -> Stdio {
        Stdio::from(self.far.try_clone().unwrap())
    }

    /// The same command in a new session whose terminal is standard input.
    pub(crate) fn session(&self, command: &Command) -> Command {
        let mut alone = Command::new("setsid");
        alone.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args());
        alone.env_clear().env("NO_COLOR", "1").env("TERM", "xterm");
        for (name, value) in command.get_envs() {
            alone.env(name, value.unwrap_or_default());
        }
        alone.current_dir(command.get_current_dir().unwrap());
        alone.stdin(self.stdio()).stderr(self.stdio()).stdout(self.stdio());
        alone
    }

    pub(crate) fn types(&self, text: &str) {
        (&self.near).write_all(text.as_bytes()).unwrap();
    }

    /// Whether lines are edited and what is typed shows, as for everybody.
    pub(crate) fn is_ordinary(&self) -> bool {
        let modes = tcgetattr(&self.far).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Hands over what is shown, until [`Self::end`].
    pub(crate) fn read(&self, mut shown: impl FnMut(&[u8])) {
        let mut buffer = [0; 4096];
        loop {
            let count = (&self.near).read(&mut buffer).unwrap();
            // What a program that still runs writes after the end does not count.
            let mut parts = buffer[..count].split(|byte| *byte == END);
            shown(parts.next().unwrap_or_default());
            if parts.next().is_some() {
                return;
            }
        }
    }

    /// Nothing more is shown.
    pub(crate) fn end(&self) {
        (&self.far).write_all(&[END]).unwrap();
    }

    /// Hands over what is shown, until the command has ended; gives what it wrote elsewhere.
    pub(crate) fn watch(&self, child: Child, shown: impl FnMut(&[u8])) -> Output {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let output = child.wait_with_output();
                self.end();
                output.unwrap()
            });
            self.read(shown);
            waiting.join().unwrap()
        })
    }
}

/// What was shown, in lines as programs write them.
pub(crate) fn text(shown: &[u8]) -> String {
    String::from_utf8_lossy(shown).replace("\r\n", "\n")
}
