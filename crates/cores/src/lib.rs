//! The group `cores`: one operation by n workers at once; one file per workload.
//!
//! A new workload is a new file here, its `mod` line and its line in [`GROUP`]; command line, list, pages,
//! report and tests follow from the file. It opens with its page: question, method, expected answer.
//!
//! A worker is a thread or a process with a processor of its own. In variants with an own object nothing is
//! shared that the kernel need not share; in the others all workers use one. Their names begin with `cores-`,
//! because many operations are curves too.
//!
//! Must never: print, write a record, or keep a statistic.

mod accept;
mod bind;
mod brk;
mod connect;
mod create;
mod epoll;
mod fault;
mod file_read;
mod file_write;
mod futex;
mod lock;
mod madvise;
mod map;
mod open;
mod page_cache;
mod pipe;
mod poll;
mod protect;
mod rename;
mod signal;
mod socket;
mod spawn;
mod stat;
mod syscall;
mod tcp;
mod thread;
mod timer;
mod unix;

use workload::Group;

/// The scalings, in the order in which reports show them.
pub const GROUP: Group = Group {
    name: "cores",
    title: "Operations by several workers at once",
    workloads: &[
        &syscall::WORKLOAD,
        &open::WORKLOAD,
        &file_read::WORKLOAD,
        &file_write::WORKLOAD,
        &page_cache::WORKLOAD,
        &stat::WORKLOAD,
        &rename::WORKLOAD,
        &create::WORKLOAD,
        &lock::WORKLOAD,
        &fault::WORKLOAD,
        &map::WORKLOAD,
        &brk::WORKLOAD,
        &protect::WORKLOAD,
        &madvise::WORKLOAD,
        &futex::WORKLOAD,
        &pipe::WORKLOAD,
        &unix::WORKLOAD,
        &tcp::WORKLOAD,
        &socket::WORKLOAD,
        &bind::WORKLOAD,
        &connect::WORKLOAD,
        &accept::WORKLOAD,
        &epoll::WORKLOAD,
        &poll::WORKLOAD,
        &timer::WORKLOAD,
        &signal::WORKLOAD,
        &spawn::WORKLOAD,
        &thread::WORKLOAD,
    ],
};
