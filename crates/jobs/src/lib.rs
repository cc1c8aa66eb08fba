//! The group `jobs`: whole pieces of work on files; one file per workload.
//!
//! A new workload is a new file here, its `mod` line and its line in [`GROUP`]; command line, list, pages,
//! report and tests follow from the file. It opens with its page: question, method, expected answer.
//!
//! May import: net for its histograms, its web server and its protocols, sys, workload. Must never: print,
//! write a record, or keep a statistic.

mod calls;
mod compile;
mod content;
mod copy;
mod crypto;
mod directory;
mod fragmentation;
#[cfg(unix)]
mod instance;
mod mail_queue;
mod network_copy;
mod parallel;
mod small_files;
mod source_tree;
mod sql;
mod tree;

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
    ],
};
