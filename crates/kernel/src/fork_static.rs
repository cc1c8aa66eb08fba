//! Cost of one more process while n live, from a statically linked program.
//!
//! **Question.** How much of the cost of a process is due to dynamic linking?
//!
//! **Method.** The same code as `fork`, in a statically linked executable, which has fewer mappings to
//! copy and fewer pages to fault in.
//!
//! **Expected answer.** Flat, and cheaper than `fork`: half of it in 2003.

use workload::{Linkage, Workload};

use crate::fork;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "fork-static",
    version: 4,
    source: workload::page!("fork_static.rs"),
    grows: "live processes",
    operations: fork::OPERATIONS,
    needs: &fork::NEEDS,
    linkage: Linkage::Static,
    classic_n: 3000,
    run: fork::RUN,
    ..Workload::CURVE
};
