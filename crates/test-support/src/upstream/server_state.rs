//! The state that all connections of the model server share.

use std::collections::{HashMap, VecDeque};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::model_request::ModelRequest;
use super::recorded_request::Exchange;
use super::{ResponsesApi, Step};
use crate::http::Request;
use crate::wait::{eventually, lock};

const MODELS: [&str; 3] = ["echo", "echo-mini", "chunks-64"];

#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) port: u16,
    pub(super) key: String,
    pub(super) gate: AtomicBool,
    pub(super) connections: AtomicUsize,
    pub(super) in_flight: AtomicUsize,
    pub(super) most_in_flight: AtomicUsize,
    pub(super) control: Mutex<Control>,
    pub(super) exchanges: Mutex<Vec<Arc<Exchange>>>,
    pub(super) live: Mutex<HashMap<usize, OpenConnection>>,
    /// Whether a thread listens at the port.
    pub(super) open: AtomicBool,
    /// Whether that thread should stop.
    pub(super) closing: AtomicBool,
}

#[derive(Debug)]
pub(super) struct OpenConnection {
    pub(super) stream: TcpStream,
    /// Whether the test closed it.
    pub(super) cut: bool,
}

#[derive(Debug)]
pub(super) struct Control {
    pub(super) scripts: HashMap<String, VecDeque<Step>>,
    pub(super) default: Step,
    pub(super) models: Vec<String>,
    pub(super) responses: ResponsesApi,
    /// Whether no key is required.
    pub(super) accepts_any_key: bool,
}

impl ServerState {
    pub(super) fn new(port: u16) -> Self {
        Self {
            port,
            key: format!("sk-upstream-secret-{port}-{}", std::process::id()),
            gate: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
            control: Mutex::new(Control {
                scripts: HashMap::new(),
                default: Step::Echo,
                models: MODELS.map(str::to_owned).to_vec(),
                responses: ResponsesApi::Offered,
                accepts_any_key: false,
            }),
            exchanges: Mutex::default(),
            live: Mutex::default(),
            open: AtomicBool::new(false),
            closing: AtomicBool::new(false),
        }
    }

    pub(super) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Chooses the step of a request, and removes it from the script.
    pub(super) fn choose(&self, ask: &ModelRequest) -> Step {
        let mut control = lock(&self.control);
        let short = ask.model.rsplit('/').next().unwrap_or_default();
        for name in [ask.model.as_str(), short] {
            if let Some(step) = control.scripts.get_mut(name).and_then(VecDeque::pop_front) {
                return step;
            }
        }
        Step::marked(&ask.text)
            .or_else(|| Step::named(short))
            .unwrap_or_else(|| control.default.clone())
    }

    pub(super) fn record(&self, connection: usize, request: &Request) -> Arc<Exchange> {
        let mut exchanges = lock(&self.exchanges);
        let exchange = Arc::new(Exchange::new(exchanges.len(), connection, request));
        exchanges.push(Arc::clone(&exchange));
        exchange
    }

    /// Counts a request as being answered until the value is dropped.
    pub(super) fn enter(&self) -> InFlight<'_> {
        let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_in_flight.fetch_max(now, Ordering::SeqCst);
        InFlight { state: self }
    }

    pub(super) fn cut_connections(&self) {
        for live in lock(&self.live).values_mut() {
            live.cut = true;
            // It may be closed already.
            let _ = live.stream.shutdown(Shutdown::Both);
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::SeqCst)
    }

    pub(super) fn close_port(&self) {
        self.closing.store(true, Ordering::SeqCst);
        eventually("the port is closed", || {
            // The listener blocks until a connection comes.
            let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
            !self.is_open()
        });
    }
}

pub(super) struct InFlight<'a> {
    state: &'a ServerState,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.state.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}
