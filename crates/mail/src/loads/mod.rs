//! The group `mail`: the engine with n connections; one file for each mode.
//!
//! - `series` has the series and variants, which all modes share;
//! - `measured` is a trial: the engine in this process, opposite a `sink` and a DNS server in processes of
//!   their own.

mod deliver;
mod lockstep;
mod measured;
mod pipelined;
mod series;
mod sink;

use workload::Group;

/// The modes, in the order in which reports show them.
pub const GROUP: Group = Group {
    name: "mail",
    title: "Mail engine under rising connections",
    workloads: &[&lockstep::WORKLOAD, &pipelined::WORKLOAD, &deliver::WORKLOAD],
};
