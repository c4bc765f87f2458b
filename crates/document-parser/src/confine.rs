//! Drops the privileges of a worker before it reads any input.
//!
//! Each measure works independently, because kernels may lack some: resource limits everywhere,
//! Landlock and a system call filter on Linux.

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Standard input, output and error. A process without further descriptors can open neither files nor
/// sockets.
const OPEN_FILES: u64 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory beyond what the program has when it starts, in bytes.
    pub memory_bytes: u64,
    pub cpu: Duration,
    /// Elapsed time of one job. The pool enforces it.
    pub wall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 512 * 1024 * 1024,
            cpu: Duration::from_secs(10),
            wall: Duration::from_secs(15),
        }
    }
}

/// The active confinement of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Memory, CPU time, open files, file sizes and processes are limited.
    pub resource_limits: bool,
    pub landlock: Landlock,
    /// Only system calls that parsing needs are allowed.
    pub seccomp: bool,
}

/// Degree of Landlock enforcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Landlock {
    /// All access that the kernel can restrict is denied.
    Full,
    /// An older kernel: access to files is denied, some other access is not.
    Partial,
    /// The kernel has no Landlock, or it is disabled.
    Missing,
}

impl Confinement {
    pub fn is_complete(&self) -> bool {
        self.resource_limits && self.landlock == Landlock::Full && self.seccomp
    }
}

impl std::fmt::Display for Confinement {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let on = |is_on: bool| if is_on { "yes" } else { "no" };
        let landlock = match self.landlock {
            Landlock::Full => "yes",
            Landlock::Partial => "partial",
            Landlock::Missing => "no",
        };
        let (limits, seccomp) = (on(self.resource_limits), on(self.seccomp));
        write!(formatter, "resource limits {limits}, Landlock {landlock}, seccomp {seccomp}")
    }
}

/// Denies access to files and the network. Must be called before the parser thread starts, which inherits
/// it.
pub(crate) fn deny_files() -> Landlock {
    #[cfg(target_os = "linux")]
    return linux::landlock().unwrap_or(Landlock::Missing);
    #[cfg(not(target_os = "linux"))]
    return Landlock::Missing;
}

/// Limits memory, files and processes. Must be called after the last thread has started.
pub(crate) fn limit_resources(memory_bytes: u64) -> bool {
    let mut limits = vec![
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Nproc, 0),
    ];
    #[cfg(target_os = "linux")]
    limits.push((Resource::As, memory_bytes));
    #[cfg(not(target_os = "linux"))]
    limits.push((Resource::Data, memory_bytes));
    // Sets all limits even if one fails.
    let results: Vec<bool> = limits
        .into_iter()
        .map(|(resource, most)| {
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            setrlimit(resource, limit).is_ok()
        })
        .collect();
    results.iter().all(|is_set| *is_set)
}

pub(crate) fn limit_cpu(budget: Duration) -> bool {
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    let used = u64::try_from(used).unwrap_or_default();
    let current = used.saturating_add(budget.as_secs().max(1));
    let maximum = getrlimit(Resource::Cpu).maximum;
    setrlimit(Resource::Cpu, Rlimit { current: Some(current), maximum }).is_ok()
}

/// Allows only the system calls that parsing needs, in all threads.
pub(crate) fn filter_system_calls() -> bool {
    #[cfg(target_os = "linux")]
    return linux::seccomp().is_ok();
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// What memory of a process to measure: a column of `/proc/ID/statm`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Memory {
    AddressSpace = 0,
    Resident = 1,
}

/// The memory of a process, in bytes; only Linux reports it.
pub(crate) fn memory(process: u32, memory: Memory) -> io::Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm"))?;
    let pages = text.split(' ').nth(memory as usize).and_then(|pages| pages.parse::<u64>().ok());
    let page = u64::try_from(rustix::param::page_size()).map_err(io::Error::other)?;
    pages
        .map(|pages| pages.saturating_mul(page))
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

pub(crate) fn address_space() -> io::Result<u64> {
    if cfg!(target_os = "linux") { memory(std::process::id(), Memory::AddressSpace) } else { Ok(0) }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;

    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
        RulesetError, RulesetStatus, Scope,
    };
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule,
    };

    use super::Landlock;

    /// The newest version in use; older kernels enforce what they support.
    const LANDLOCK_ABI: ABI = ABI::V6;

    /// System calls that are allowed with any arguments.
    #[rustfmt::skip] // a table of words
    const ALLOWED: &[libc::c_long] = &[
        libc::SYS_close, libc::SYS_brk, libc::SYS_mremap, libc::SYS_munmap, libc::SYS_madvise,
        libc::SYS_futex, libc::SYS_sched_yield, libc::SYS_sched_getaffinity, libc::SYS_getrandom,
        libc::SYS_clock_gettime, libc::SYS_clock_nanosleep, libc::SYS_nanosleep, libc::SYS_gettid,
        libc::SYS_getpid, libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack, libc::SYS_restart_syscall, libc::SYS_set_robust_list, libc::SYS_rseq,
        libc::SYS_membarrier, libc::SYS_exit, libc::SYS_exit_group,
    ];

    pub(super) fn landlock() -> Result<Landlock, RulesetError> {
        let status = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(LANDLOCK_ABI))?
            .handle_access(AccessNet::from_all(LANDLOCK_ABI))?
            .scope(Scope::from_all(LANDLOCK_ABI))?
            .create()?
            .restrict_self()?;
        Ok(match status.ruleset {
            RulesetStatus::FullyEnforced => Landlock::Full,
            RulesetStatus::PartiallyEnforced => Landlock::Partial,
            RulesetStatus::NotEnforced => Landlock::Missing,
        })
    }

    /// Other system calls fail with EPERM instead of killing the process, so that a new version of a
    /// library that tries another call does not cause an outage.
    pub(super) fn seccomp() -> Result<(), seccompiler::Error> {
        let mut rules: BTreeMap<libc::c_long, Vec<SeccompRule>> =
            ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
        // Only the pipes, no inherited descriptor.
        let only = |descriptor| rule(vec![condition(0, SeccompCmpOp::Eq, descriptor)?]);
        for call in [libc::SYS_read, libc::SYS_readv] {
            rules.insert(call, vec![only(0)?]);
        }
        for call in [libc::SYS_write, libc::SYS_writev] {
            rules.insert(call, vec![only(1)?, only(2)?]);
        }
        // Anonymous memory that cannot be executed.
        let executable = u64::try_from(libc::PROT_EXEC).unwrap_or_default();
        let mask = || SeccompCmpOp::MaskedEq(executable);
        let no_file = condition(4, SeccompCmpOp::Eq, u64::from(u32::MAX))?;
        rules.insert(libc::SYS_mmap, vec![rule(vec![condition(2, mask(), 0)?, no_file])?]);
        rules.insert(libc::SYS_mprotect, vec![rule(vec![condition(2, mask(), 0)?])?]);
        // `abort` signals the process itself.
        let own = u64::from(std::process::id());
        rules.insert(libc::SYS_tgkill, vec![rule(vec![condition(0, SeccompCmpOp::Eq, own)?])?]);
        // The CPU limit of the next job.
        let own = condition(0, SeccompCmpOp::Eq, 0)?;
        let cpu = condition(1, SeccompCmpOp::Eq, u64::from(libc::RLIMIT_CPU))?;
        rules.insert(libc::SYS_prlimit64, vec![rule(vec![own, cpu])?]);
        let denied = SeccompAction::Errno(u32::try_from(libc::EPERM).unwrap_or(1));
        let arch = std::env::consts::ARCH.try_into()?;
        let filter = SeccompFilter::new(rules, denied, SeccompAction::Allow, arch)?;
        let program: BpfProgram = filter.try_into()?;
        seccompiler::apply_filter_all_threads(&program)
    }

    fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, seccompiler::Error> {
        Ok(SeccompRule::new(conditions)?)
    }

    fn condition(
        argument: u8,
        operation: SeccompCmpOp,
        value: u64,
    ) -> Result<SeccompCondition, seccompiler::Error> {
        Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value)?)
    }
}
