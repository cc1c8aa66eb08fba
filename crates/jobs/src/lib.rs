//! The group `jobs`: whole pieces of work on files; one file per workload.
//!
//! A new workload is a new file here, its `mod` line and its line in [`GROUP`]; command line, list, pages,
//! report and tests follow from the file. It opens with its page: question, method, expected answer.
//!
//! The level of a job is the size of its work: files in a tree, KiB in a file, MiB to copy, clients. Phases
//! that make up the whole job are declared `of_unit` or `of_all`. A job has no discarded pass: it would do
//! all of the work twice, and warm files that must be cold. Jobs whose n counts threads or processes use all
//! processors; every other trial stays on one.
//!
//! `smb` and `sftp` are the client's side of two protocols, without a socket, for `network_copy`.
//!
//! `sql` and `network_copy` start private servers in the scratch folder (`instance`). Databases refuse root,
//! so `sys::process::confine` executes them as `nobody` in a namespace of users. PostgreSQL's children lead
//! sessions of their own, so the supervisor of a trial kills all descendants. `openssl` is loaded with
//! dlopen(3): linked, it would be the version of the build. Each level of instructions is a process of its
//! own, because the library reads it once.
//!
//! Must never: print, write a record, or keep a statistic.

mod command;
mod compile;
mod copy;
mod crypto;
mod directory;
mod fragmentation;
#[cfg(unix)]
mod instance;
mod mail_queue;
mod network_copy;
#[cfg(unix)]
pub mod sftp;
mod small_files;
#[cfg(all(unix, any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod smb;
mod sql;
mod tree;
mod work;

use workload::Group;

/// The jobs, in the order in which reports show them.
pub const GROUP: Group = Group {
    name: "jobs",
    title: "Work on files",
    workloads: &[
        &small_files::WORKLOAD,
        &directory::WORKLOAD,
        &mail_queue::WORKLOAD,
        &copy::WORKLOAD,
        &network_copy::WORKLOAD,
        &fragmentation::WORKLOAD,
        &tree::WORKLOAD,
        &sql::WORKLOAD,
        &compile::WORKLOAD,
        &crypto::WORKLOAD,
        &command::WORKLOAD,
    ],
};
