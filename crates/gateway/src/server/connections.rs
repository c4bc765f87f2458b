//! Limits on open connections, in total and per address. At the limit, an idle connection that was
//! never authenticated is closed for a new one.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::connection_phase::ConnectionPhase;
use crate::config::Limits;

#[derive(Debug)]
pub(super) struct Connections {
    limits: Limits,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// The oldest first.
    open: BTreeMap<u64, Connection>,
    by_address: HashMap<IpAddr, u32>,
    closing: usize,
}

#[derive(Debug, Default)]
struct Connection {
    /// `None` until its task runs.
    task: Option<(Arc<ConnectionPhase>, AbortHandle)>,
    is_closing: bool,
}

#[derive(Debug)]
pub(super) enum Admission {
    Admitted(ConnectionPermit),
    /// The limit of its address is reached.
    Refused,
    /// The total limit is reached.
    Full,
}

/// Counts one connection until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    connections: Arc<Connections>,
    pub(super) number: u64,
    /// The address that it counts for, if addresses are limited.
    counted: Option<IpAddr>,
}

impl Connections {
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        let (state, freed) = (Mutex::default(), Notify::new());
        Arc::new(Self { limits: limits.clone(), state, freed })
    }

    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Admission {
        let peer = peer.to_canonical();
        let is_exempt = self.limits.exempt_addresses.iter().any(|network| network.contains(&peer));
        let limit = self.limits.max_connections_per_address.filter(|_| !is_exempt);
        let counted = limit.map(|_| network_of(peer));
        let mut state = self.state();
        let has_now = counted.and_then(|address| state.by_address.get(&address)).copied();
        if limit.is_some_and(|limit| has_now.unwrap_or(0) >= limit) {
            return Admission::Refused;
        }
        if state.open.len() >= usize::try_from(self.limits.max_connections).unwrap_or(usize::MAX) {
            return Admission::Full;
        }
        if let Some(address) = counted {
            *state.by_address.entry(address).or_default() += 1;
        }
        let number = state.next;
        state.next += 1;
        state.open.insert(number, Connection::default());
        Admission::Admitted(ConnectionPermit { connections: self.clone(), number, counted })
    }

    /// Closes the oldest idle connection that was never authenticated, then waits until any
    /// connection ends, but no longer than `max_wait`.
    pub(super) async fn make_room(&self, max_wait: Duration) {
        {
            let mut state = self.state();
            let is_idle = |connection: &&mut Connection| {
                let phase = connection.task.as_ref().map(|(phase, _)| phase);
                phase.is_some_and(|phase| phase.is_idle_stranger())
            };
            if state.closing == 0
                && let Some(oldest) = state.open.values_mut().find(is_idle)
            {
                oldest.is_closing = true;
                if let Some((_, task)) = &oldest.task {
                    task.abort();
                }
                state.closing = 1;
                tracing::debug!("idle connection closed to make room");
            }
        }
        let _ = timeout(max_wait, self.freed.notified()).await;
    }

    pub(super) fn started(&self, number: u64, phase: Arc<ConnectionPhase>, task: AbortHandle) {
        if let Some(connection) = self.state().open.get_mut(&number) {
            connection.task = Some((phase, task));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut state = self.connections.state();
        let closed = state.open.remove(&self.number);
        if closed.is_some_and(|connection| connection.is_closing) {
            state.closing -= 1;
        }
        if let Some(address) = self.counted
            && let Some(count) = state.by_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                state.by_address.remove(&address);
            }
        }
        drop(state);
        self.connections.freed.notify_one();
    }
}

/// The unit of the limit per address: an IPv6 client has at least a /64 network.
fn network_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
    }
}

#[cfg(test)]
mod tests;
