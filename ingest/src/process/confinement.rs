//! What a process that parses a stranger's file may still do: compute, read and write the pipes that it has, and end.
//!
//! A parser needs nothing of the system beside memory and threads. [`confine`] has Linux refuse all else (seccomp): no
//! file is opened, made, changed or looked for, nothing is connected, no program is started, no code is loaded, and no
//! other process is reached. What is refused fails with *operation not permitted*, so that a parser that tries gets an error,
//! and a document still lands where it can do without.
//!
//! Always true: it holds for all threads of the process, those that are begun later too, and cannot be taken back.
//!
//! Start reading at [`confine`]; [`attempts`] shows that it holds.

use std::fs::File;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};

/// Why a process could not be confined: it goes on as it was.
#[derive(Debug, thiserror::Error)]
#[error("this system does not confine processes that parse: {0}")]
pub struct ConfinementError(String);

/// Confines this process. To be called before it reads what it parses.
///
/// # Errors
/// [`ConfinementError`] where the kernel or the processor has no seccomp filters, or a container forbids them.
#[cfg(target_os = "linux")]
pub fn confine() -> Result<(), ConfinementError> {
    let failed = |error: &dyn std::error::Error| ConfinementError(error.to_string());
    let programs = linux::filters().map_err(|error| failed(&error))?;
    for program in &programs {
        seccompiler::apply_filter_all_threads(program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// Confines this process, where the system is Linux.
///
/// # Errors
/// [`ConfinementError`]: it is not.
#[cfg(not(target_os = "linux"))]
pub fn confine() -> Result<(), ConfinementError> {
    Err(ConfinementError("it is not Linux".to_owned()))
}

/// Tries what a parser has no business with, and returns what came of each: a name, and whether it was possible. For
/// tests, and for those who want to see.
///
/// `folder` is one in which this process may make a file without confinement; a file `there` is in it.
pub fn attempts(folder: &Path) -> Vec<(&'static str, bool)> {
    let there = folder.join("there");
    let run = || {
        let mut program = Command::new("/bin/true");
        program.stdin(Stdio::null()).stdout(Stdio::null());
        program.status()
    };
    let is_possible = |tried: io::Result<()>| tried.is_ok();
    vec![
        ("read", is_possible(File::open(&there).map(drop))),
        ("look", is_possible(there.metadata().map(drop))),
        ("list", is_possible(folder.read_dir().map(drop))),
        (
            "write",
            is_possible(File::options().append(true).open(&there).map(drop)),
        ),
        (
            "make",
            is_possible(File::create_new(folder.join("made")).map(drop)),
        ),
        (
            "rename",
            is_possible(std::fs::rename(&there, folder.join("there2"))),
        ),
        (
            "remove",
            is_possible(std::fs::remove_file(folder.join("there2"))),
        ),
        (
            "listen",
            is_possible(TcpListener::bind("127.0.0.1:0").map(drop)),
        ),
        (
            "send",
            is_possible(UdpSocket::bind("127.0.0.1:0").map(drop)),
        ),
        ("run", is_possible(run().map(drop))),
    ]
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;

    use seccompiler::{
        BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
        SeccompFilter, SeccompRule, TargetArch,
    };

    /// What is allowed whatever its arguments: memory, threads and their signals, time, random numbers, open pipes, the end.
    const ALLOWED: &[i64] = &[
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_futex,
        libc::SYS_set_robust_list,
        libc::SYS_rseq,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_getrandom,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];

    /// What is to be applied, in this order.
    pub(super) fn filters() -> Result<[BpfProgram; 2], BackendError> {
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        // Its arguments lie in memory, which no filter sees. The C library then uses `clone`.
        let clone3 = SeccompFilter::new(
            BTreeMap::from([(libc::SYS_clone3, Vec::new())]),
            SeccompAction::Allow,
            SeccompAction::Errno(libc::ENOSYS as u32),
            arch,
        )?;
        let allowed = SeccompFilter::new(
            allowed()?,
            SeccompAction::Errno(libc::EPERM as u32),
            SeccompAction::Allow,
            arch,
        )?;
        Ok([clone3.try_into()?, allowed.try_into()?])
    }

    fn allowed() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            ALLOWED.iter().map(|&call| (call, Vec::new())).collect();
        // Decided by the filter for it.
        rules.insert(libc::SYS_clone3, Vec::new());
        let thread = libc::CLONE_THREAD as u64;
        rules.insert(libc::SYS_clone, vec![masked_rule(0, thread, thread)?]);
        // Memory never becomes code.
        let exec = libc::PROT_EXEC as u64;
        rules.insert(libc::SYS_mmap, vec![masked_rule(2, exec, 0)?]);
        rules.insert(libc::SYS_mprotect, vec![masked_rule(2, exec, 0)?]);
        // Limits are read, as for the size of a stack, and not set.
        let no_new_limit = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?;
        let read_limits = SeccompRule::new(vec![no_new_limit])?;
        rules.insert(libc::SYS_prlimit64, vec![read_limits]);
        // A process that is at its end says so to itself.
        let own = SeccompCondition::new(
            0,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Eq,
            std::process::id().into(),
        )?;
        rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![own])?]);
        Ok(rules)
    }

    /// A rule that holds where the bits `mask` of an argument are `value`.
    fn masked_rule(argument: u8, mask: u64, value: u64) -> Result<SeccompRule, BackendError> {
        let bits = SeccompCmpOp::MaskedEq(mask);
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, bits, value)?;
        SeccompRule::new(vec![condition])
    }
}
