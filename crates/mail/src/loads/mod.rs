//! The group `mail`: what the engine does with n connections; one file for each mode.
//!
//! - `variants` the event interfaces, `series` what is reported, which all modes share;
//! - `measured` a trial: the engine in this process, opposite a `sink` and a DNS server in processes of their
//!   own.

mod deliver;
mod lockstep;
mod measured;
mod pipelined;
mod series;
mod sink;
mod variants;

use workload::Group;

/// The modes, in the order in which reports show them.
pub const GROUP: Group = Group {
    name: "mail",
    title: "Mail engine under rising connections",
    workloads: &[&lockstep::WORKLOAD, &pipelined::WORKLOAD, &deliver::WORKLOAD],
};
