//! Downloads whose process is killed, that meet another one, or whose disk is full.

use std::io::Write;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};

use agent_test_support::disk::SmallDisk;
use agent_test_support::wait::eventually;
use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::command_line::agent;

const DOWNLOAD: [&str; 5] = ["media", "download", RUN, "--output", "file.png"];

/// A process that ends with the test.
pub(crate) struct Started(Child);

impl Started {
    pub(crate) fn new(command: &mut Command) -> Self {
        Self(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }

    pub(crate) fn end(&mut self, signal: Signal) -> Option<i32> {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        self.0.wait().unwrap().code()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A service whose first answer stops in the middle and says nothing more.
fn stalling(bytes: &[u8], at: usize) -> FileServer {
    let content = ServedFile::new(bytes);
    service(&manifest(bytes), move |number, asked, stream| {
        let cut = if number == 0 { Truncation::SilentAfter(at) } else { Truncation::Never };
        content.send(asked, stream, cut)
    })
}

pub(super) fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

#[test]
fn a_killed_download_resumes_at_its_offset() {
    for (signal, code) in
        [(Signal::KILL, None), (Signal::INT, Some(130)), (Signal::TERM, Some(143))]
    {
        let agent = agent();
        let bytes = vec![5; 300_000];
        let server = stalling(&bytes, 123_456);
        let target = agent.work().join("file.png");
        let part = agent.work().join("file.png.part");
        let mut first = Started::new(&mut agent_at(&agent, &server.url(), &DOWNLOAD));
        eventually("the first half is there", || length(&part) == 123_456);
        assert_eq!(first.end(signal), code);
        assert!(!target.exists());
        let run = ProgramOutput::of(&mut agent_at(&agent, &server.url(), &DOWNLOAD), b"");
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(fs::read(&target).unwrap(), bytes);
        assert!(!part.exists());
        let last = server.seen().pop().unwrap();
        assert_eq!(last.header("range"), Some("bytes=123456-"));
        assert_eq!(last.header("authorization"), Some("Bearer agk_test"));
    }
}

#[test]
fn a_file_being_downloaded_is_locked() {
    let agent = agent();
    let bytes = vec![5; 300_000];
    let server = stalling(&bytes, 1000);
    let part = agent.work().join("file.png.part");
    let mut first = Started::new(&mut agent_at(&agent, &server.url(), &DOWNLOAD));
    eventually("the first has begun", || length(&part) == 1000);
    let second = ProgramOutput::of(&mut agent_at(&agent, &server.url(), &DOWNLOAD), b"");
    insta::assert_snapshot!(transcript(&agent, &second));
    assert_eq!(length(&part), 1000, "it was left alone");
    first.end(Signal::KILL);
    let third = ProgramOutput::of(&mut agent_at(&agent, &server.url(), &DOWNLOAD), b"");
    assert_eq!(third.code, 0, "{third:?}");
    assert_eq!(fs::read(agent.work().join("file.png")).unwrap(), bytes);
}

#[test]
fn concurrent_downloads_produce_one_valid_file() {
    let agent = agent();
    let bytes: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[1]).collect();
    let content = ServedFile::new(bytes.clone());
    let server = service(&manifest(&bytes), move |_, asked, stream| {
        content.send(asked, stream, Truncation::Never)
    });
    let started: Vec<Started> =
        (0..6).map(|_| Started::new(&mut agent_at(&agent, &server.url(), &DOWNLOAD))).collect();
    let codes: Vec<Option<i32>> =
        started.into_iter().map(|mut started| started.0.wait().unwrap().code()).collect();
    assert!(codes.contains(&Some(0)), "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 1))), "{codes:?}");
    assert_eq!(fs::read(agent.work().join("file.png")).unwrap(), bytes);
    let run = ProgramOutput::of(&mut agent_at(&agent, &server.url(), &DOWNLOAD), b"");
    assert!(run.code == 0 && run.stdout.contains("was there"), "{run:?}");
}

#[test]
fn insufficient_disk_space_is_reported_before_downloading() {
    let disk = SmallDisk::mount(1024 * 1024);
    let agent = agent();
    let server = service(&manifest(&vec![5; 2_000_000]), |_, _, _| Ok(()));
    let output = disk.path().join("file.png");
    let arguments = ["media", "download", RUN, "--output", output.to_str().unwrap()];
    let run = ProgramOutput::of(&mut agent_at(&agent, &server.url(), &arguments), b"");
    let text = transcript(&agent, &run).replace(&disk.path().display().to_string(), "[disk]");
    insta::assert_snapshot!(text);
    assert_eq!(server.seen().len(), 1, "only the manifest was asked for");
}

#[test]
fn a_full_disk_is_reported_and_the_download_resumes() {
    let disk = SmallDisk::mount(2 * 1024 * 1024);
    let agent = agent();
    let bytes = vec![5; 1_000_000];
    let content = ServedFile::new(bytes.clone());
    let (filled, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let server = service(&manifest(&bytes), move |number, asked, stream| {
        if number > 0 {
            return content.send(asked, stream, Truncation::Never);
        }
        write_head(stream, "200 OK", "ETag: \"one\"\r\nContent-Length: 1000000\r\n")?;
        stream.write_all(&content.bytes[..100_000])?;
        let _ = gate.lock().unwrap_or_else(PoisonError::into_inner).recv();
        stream.write_all(&content.bytes[100_000..])
    });
    let output = disk.path().join("file.png");
    let arguments = ["media", "download", RUN, "--output", output.to_str().unwrap()];
    let mut command = agent_at(&agent, &server.url(), &arguments);
    let first = std::thread::spawn(move || ProgramOutput::of(&mut command, b""));
    eventually("it has begun", || length(&disk.path().join("file.png.part")) == 100_000);
    let ballast = disk.fill();
    filled.send(()).unwrap();
    let run = first.join().unwrap();
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("not enough disk space for"), "{run:?}");
    assert!(run.stderr.contains("hint: free up disk space"), "{run:?}");
    assert!(!output.exists());
    fs::remove_file(ballast).unwrap();
    let mut command = agent_at(&agent, &server.url(), &arguments);
    let run = ProgramOutput::of(&mut command, b"");
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(fs::read(&output).unwrap(), bytes);
    let asked = server.seen().pop().unwrap();
    assert!(asked.header("range").is_some(), "{asked:?}");
}

#[test]
fn retries_of_a_dead_service_are_limited() {
    let agent = agent();
    let bytes = vec![5; 300_000];
    let content = ServedFile::new(bytes.clone());
    let server = service(&manifest(&bytes), move |number, asked, stream| match number {
        0 => content.send(asked, stream, Truncation::After(1000)),
        _ => Ok(()),
    });
    let run = ProgramOutput::of(&mut agent_at(&agent, &server.url(), &DOWNLOAD), b"");
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stderr.contains("received 1000 of 300000 bytes"), "{run:?}");
    assert!(run.stderr.contains("run the same command to resume"), "{run:?}");
    assert_eq!(length(&agent.work().join("file.png.part")), 1000);
}
