//! Curves: what the next operation costs while n objects live, or what a server does with n connections; one
//! file per workload.
//!
//! A new workload is a new file here, its `mod` line and its line in [`ALL`]; command line, list, pages,
//! report and tests follow from the file. It opens with its page: question, method, expected answer.
//!
//! May import: net, sys. Must never: print, write a record, keep a statistic, or know who asked.

mod definition;
pub mod levels;
mod slots;
mod stand;
mod told;
mod trial;

mod accept;
mod bind;
mod clock;
mod connect;
mod crowd;
mod files;
mod fork;
mod fork_memory;
mod fork_static;
mod mixed;
mod mmap;
mod noop;
mod race;
mod ready;
mod ready_many;
mod reap;
mod request;
mod socket;
mod syscall;
mod thread;
mod web;

pub use definition::{
    Curve, Direction, Expect, Experiment, Group, Linkage, Needs, Operation, Sizes, Unit, Variant,
};
pub use slots::Slots;
pub use told::Told;
pub use trial::{Check, Ended, Lap, Server, Stop, Trial, warm_up_n, window};

/// Every curve, in the order in which reports show them.
pub const ALL: &[&Curve] = &[
    &noop::CURVE,
    &syscall::CURVE,
    &clock::CURVE,
    &socket::CURVE,
    &bind::CURVE,
    &connect::CURVE,
    &accept::CURVE,
    &fork::CURVE,
    &fork_static::CURVE,
    &fork_memory::CURVE,
    &reap::CURVE,
    &thread::CURVE,
    &mmap::CURVE,
    &files::CURVE,
    &ready::CURVE,
    &ready_many::CURVE,
    &race::CURVE,
    &request::CURVE,
    &crowd::CURVE,
    &web::CURVE,
    &mixed::CURVE,
];

/// The curve of that name.
pub fn find(name: &str) -> Option<&'static Curve> {
    ALL.iter().copied().find(|curve| curve.name == name)
}
