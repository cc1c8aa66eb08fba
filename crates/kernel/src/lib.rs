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

use workload::Group;

/// The curves of the kernel, in the order in which reports show them.
pub const GROUP: Group = Group {
    name: "kernel",
    title: "Cost of kernel services",
    workloads: &[
        &noop::WORKLOAD,
        &syscall::WORKLOAD,
        &clock::WORKLOAD,
        &socket::WORKLOAD,
        &bind::WORKLOAD,
        &connect::WORKLOAD,
        &accept::WORKLOAD,
        &fork::WORKLOAD,
        &fork_static::WORKLOAD,
        &fork_memory::WORKLOAD,
        &reap::WORKLOAD,
        &exit::WORKLOAD,
        &process_set::WORKLOAD,
        &spawn::WORKLOAD,
        &route::WORKLOAD,
        &filter::WORKLOAD,
        &conntrack::WORKLOAD,
        &mount::WORKLOAD,
        &namespace::WORKLOAD,
        &cgroup::WORKLOAD,
        &thread::WORKLOAD,
        &mmap::WORKLOAD,
        &files::WORKLOAD,
        &ready::WORKLOAD,
        &ready_many::WORKLOAD,
        &lock::WORKLOAD,
        &watch::WORKLOAD,
        &missing_names::WORKLOAD,
        &timer::WORKLOAD,
        &pipe::WORKLOAD,
        &unix_socket::WORKLOAD,
        &udp::WORKLOAD,
        &listen::WORKLOAD,
        &shared_memory::WORKLOAD,
        &queue::WORKLOAD,
        &terminal::WORKLOAD,
        &path::WORKLOAD,
        &xattr::WORKLOAD,
        &mapping_size::WORKLOAD,
        &memory_map_list::WORKLOAD,
        &futex::WORKLOAD,
        &seccomp::WORKLOAD,
        &wake::WORKLOAD,
        &connection_list::WORKLOAD,
    ],
};
