//! Tests of `pending`.

use super::*;
use crate::catalogue::{Architecture, InstallMethod, OsFamily};

fn route(at: usize) -> Counter {
    Counter::Route { model: format!("m{at}"), provider: "lab".to_owned() }
}

#[test]
fn full_pending_counters_drop_and_count_new_ones() {
    let mut pending = PendingCounts::new(Resource {
        agent_version: "1".to_owned(),
        architecture: Architecture::X86_64,
        install_method: InstallMethod::Git,
        os_family: OsFamily::Linux,
    });
    let now = Timestamp::from_ms(0);
    for at in 0..MAX_PENDING + 10 {
        pending.add(now, route(at), 2);
    }
    pending.add(now, route(0), 5);
    let batches: Vec<_> = pending.batches().collect();
    assert_eq!((batches.len(), batches[0].lost), (1, 20));
    assert_eq!(batches[0].counts.values().sum::<u64>(), 2 * MAX_PENDING as u64 + 5);
    assert_eq!(batches[0].counts.len(), MAX_PENDING);
}
