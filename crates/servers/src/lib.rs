//! The group `servers`: servers with n connections; one file per workload.
//!
//! A new workload is a new file here, its `mod` line and its line in [`GROUP`]; command line, list, pages,
//! report and tests follow from the file. It opens with its page: question, method, expected answer.
//!
//! Must never: print, write a record, or keep a statistic.

mod crowd;
mod mixed;
mod race;
mod request;
mod web;

use workload::{Expect, Group, Operation, Unit};

/// The loads, in the order in which reports show them.
pub const GROUP: Group = Group {
    name: "servers",
    title: "Servers under rising load",
    workloads: &[&race::WORKLOAD, &request::WORKLOAD, &crowd::WORKLOAD, &web::WORKLOAD, &mixed::WORKLOAD],
};

/// Memory of all processes of the server.
pub(crate) const USER_MEMORY: Operation = Operation::reported(
    "user memory",
    Unit::Bytes,
    Expect::Constant,
    "increase in memory of the server, per connection",
)
.at_server();

/// Memory of the kernel, on which all of the machine has an effect.
pub(crate) const KERNEL_MEMORY: Operation = Operation::reported(
    "kernel memory",
    Unit::Bytes,
    Expect::Constant,
    "increase in kernel memory of the machine, per connection",
)
.at_server();

pub(crate) const P99: Operation = Operation::reported(
    "p99",
    Unit::Seconds,
    Expect::Constant,
    "latency that 99 % of requests do not exceed",
);

/// The levels below `top`, which rise, and `top` itself; none where it is 0.
fn up_to(top: u64, levels: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let below = levels.into_iter().take_while(|&n| n < top);
    below.chain((top > 0).then_some(top)).collect()
}
