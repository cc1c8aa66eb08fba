//! The group `kernel`: the cost of the next operation while n objects live; one file per workload.
//!
//! A new workload is a new file here, its `mod` line and its line in [`GROUP`]; command line, list, pages,
//! report and tests follow from the file. It opens with its page: question, method, expected answer.
//!
//! Must never: print, write a record, keep a statistic, or need a server.

mod accept;
mod bind;
mod cgroup;
mod clock;
mod connect;
mod connection_list;
mod conntrack;
mod exit;
mod files;
mod filter;
mod fork;
mod fork_memory;
mod fork_static;
mod futex;
mod listen;
mod lock;
mod mapping_size;
mod memory_map_list;
mod missing_names;
mod mmap;
mod mount;
mod namespace;
mod noop;
mod path;
mod pipe;
mod process_set;
mod queue;
mod ready;
mod ready_many;
mod reap;
mod route;
mod seccomp;
mod shared_memory;
mod socket;
mod spawn;
mod syscall;
mod terminal;
mod thread;
mod timer;
mod udp;
mod unix_socket;
mod wake;
mod watch;
mod xattr;

use workload::{Group, Workload};

/// The curves of the kernel, in the order in which reports show them.
pub const GROUP: Group = Group {
    name: "kernel",
    title: "Cost of kernel services",
    workloads: &[
        &declared(noop::WORKLOAD),
        &declared(syscall::WORKLOAD),
        &declared(clock::WORKLOAD),
        &declared(socket::WORKLOAD),
        &declared(bind::WORKLOAD),
        &declared(connect::WORKLOAD),
        &declared(accept::WORKLOAD),
        &declared(fork::WORKLOAD),
        &declared(fork_static::WORKLOAD),
        &declared(fork_memory::WORKLOAD),
        &declared(reap::WORKLOAD),
        &declared(exit::WORKLOAD),
        &declared(process_set::WORKLOAD),
        &declared(spawn::WORKLOAD),
        &declared(route::WORKLOAD),
        &declared(filter::WORKLOAD),
        &declared(conntrack::WORKLOAD),
        &declared(mount::WORKLOAD),
        &declared(namespace::WORKLOAD),
        &declared(cgroup::WORKLOAD),
        &declared(thread::WORKLOAD),
        &declared(mmap::WORKLOAD),
        &declared(files::WORKLOAD),
        &declared(ready::WORKLOAD),
        &declared(ready_many::WORKLOAD),
        &declared(lock::WORKLOAD),
        &declared(watch::WORKLOAD),
        &declared(missing_names::WORKLOAD),
        &declared(timer::WORKLOAD),
        &declared(pipe::WORKLOAD),
        &declared(unix_socket::WORKLOAD),
        &declared(udp::WORKLOAD),
        &declared(listen::WORKLOAD),
        &declared(shared_memory::WORKLOAD),
        &declared(queue::WORKLOAD),
        &declared(terminal::WORKLOAD),
        &declared(path::WORKLOAD),
        &declared(xattr::WORKLOAD),
        &declared(mapping_size::WORKLOAD),
        &declared(memory_map_list::WORKLOAD),
        &declared(futex::WORKLOAD),
        &declared(seccomp::WORKLOAD),
        &declared(wake::WORKLOAD),
        &declared(connection_list::WORKLOAD),
    ],
};

/// A program without the experiments has nothing of them but their declarations.
const fn declared(workload: Workload) -> Workload {
    #[cfg(not(feature = "measured"))]
    let workload = match workload.run {
        Ok(_) => Workload { run: Ok(elsewhere), ..workload },
        Err(reason) => Workload { run: Err(reason), ..workload },
    };
    workload
}

#[cfg(not(feature = "measured"))]
fn elsewhere(_trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    Err(workload::TrialError {
        attempted: "to measure the kernel".to_owned(),
        error: std::io::Error::other("only the trial program of the kernel does that"),
    })
}
