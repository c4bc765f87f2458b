//! A cable between a member and the service, which can be cut at a chosen moment.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Forwards everything, unless instructed otherwise.
pub(super) struct CuttableProxy {
    pub(super) address: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    target: Mutex<String>,
    /// How many answers are still lost: the service has given them, nobody gets them.
    lost: AtomicUsize,
    /// How many connections were made.
    made: AtomicUsize,
    live: Mutex<Vec<TcpStream>>,
}

impl State {
    fn lose_one(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        self.lost.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
    }
}

impl CuttableProxy {
    pub(super) fn to(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(State { target: Mutex::new(target.to_owned()), ..State::default() });
        let shared = state.clone();
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                shared.made.fetch_add(1, Ordering::SeqCst);
                let shared = shared.clone();
                std::thread::spawn(move || pass(&shared, &client));
            }
        });
        Self { address, state }
    }

    /// Leads elsewhere from now on.
    pub(super) fn lead_to(&self, target: &str) {
        target.clone_into(&mut self.state.target.lock().unwrap());
    }

    /// Loses the answers to the next requests that have something done.
    pub(super) fn lose(&self, answers: usize) {
        self.state.lost.store(answers, Ordering::SeqCst);
    }

    /// Cuts every connection.
    pub(super) fn cut(&self) {
        for end in self.state.live.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// How many connections were made.
    pub(super) fn made(&self) -> usize {
        self.state.made.load(Ordering::SeqCst)
    }
}

fn pass(state: &Arc<State>, client: &TcpStream) {
    let target = state.target.lock().unwrap().clone();
    let Ok(service) = TcpStream::connect(target) else { return };
    let ends = [client.try_clone().unwrap(), service.try_clone().unwrap()];
    state.live.lock().unwrap().extend(ends);
    let is_lost = Arc::new(AtomicBool::new(false));
    let (mut from, mut to) = (client.try_clone().unwrap(), service.try_clone().unwrap());
    let (shared, lost) = (state.clone(), is_lost.clone());
    std::thread::spawn(move || {
        copy(&mut from, &mut to, |bytes| {
            if bytes.starts_with(b"POST ") && shared.lose_one() {
                lost.store(true, Ordering::SeqCst);
            }
            true
        });
    });
    let (mut from, mut to) = (service, client.try_clone().unwrap());
    copy(&mut from, &mut to, |_| !is_lost.load(Ordering::SeqCst));
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Passes bytes on for as long as they may.
fn copy(from: &mut TcpStream, to: &mut TcpStream, mut may_pass: impl FnMut(&[u8]) -> bool) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !may_pass(&buffer[..count]) || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
}
