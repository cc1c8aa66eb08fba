//! Cost of one more socket while n are open.
//!
//! **Question.** Do socket(2) and close(2) cost more when thousands of sockets are open?
//!
//! **Method.** Stream sockets are opened and kept, each call timed. Then they are closed in random order,
//! each call timed. POSIX requires the lowest free descriptor, which a system may find by a search. The
//! variants with a hole close the lowest descriptor and fill it again between any two calls, untimed.
//! Every call then has to search for it, and a shortcut to the end of the table does not help.
//!
//! **Expected answer.** Flat, with steps where the descriptor table doubles. Growth in the variants with
//! a hole only is a linear search for the free descriptor.

use std::io;

use sys::socket::{AddressFamily, Socket};
use workload::resource::{DESCRIPTORS, MEMORY};
use workload::{Expect, Need, Operation, Trial, TrialError, Variant, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "socket",
    source: workload::page!("socket.rs"),
    grows: "open sockets",
    variants: FAMILIES,
    operations: &[
        Operation::up("socket", Expect::Constant, "one socket(2), blocking, without flags"),
        Operation::down("close", Expect::Constant, "one close(2) of an unbound socket, in random order"),
    ],
    needs: &[Need::new(DESCRIPTORS, 1), Need::new(MEMORY, 4096)],
    helpers: true,
    run: Ok(run),
    ..Workload::CURVE
};

/// The ways in which sockets are opened.
pub(crate) const FAMILIES: &[Variant] = &[
    Variant { name: "v4", summary: "IPv4" },
    Variant { name: "v6", summary: "IPv6" },
    Variant { name: "v4-hole", summary: "IPv4, with the lowest descriptor freed and refilled each time" },
    Variant { name: "v6-hole", summary: "IPv6, with the lowest descriptor freed and refilled each time" },
];

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let family = family(trial.variant());
    let mut hole = Hole::new(trial.variant())?;
    trial.warm(|| Socket::stream(family)?.close());
    let sockets = trial.timed_steps(&["socket"], |_, lap| {
        let socket = Socket::stream(family)?;
        lap.mark();
        if hole.punch()? {
            lap.skip();
        }
        Ok(socket)
    })?;
    let numbers = sockets.iter().map(|socket| u32::try_from(socket.number()).unwrap_or(u32::MAX));
    let distinct = all_distinct(numbers.collect());
    trial.check("every descriptor is distinct", distinct);
    hole.check(trial);
    let sockets = trial.shuffled(sockets);
    trial.timed_down("close", sockets, Socket::close)
}

pub(crate) fn family(variant: &str) -> AddressFamily {
    if variant.starts_with("v6") { AddressFamily::V6 } else { AddressFamily::V4 }
}

pub(crate) fn all_distinct(mut numbers: Vec<u32>) -> bool {
    numbers.sort_unstable();
    numbers.windows(2).all(|pair| pair[0] != pair[1])
}

/// A free descriptor below all others, made anew each time.
pub(crate) struct Hole {
    plug: Option<(AddressFamily, Socket)>,
    /// The descriptor's number, and how often the plug got another. None where there is no hole.
    lowest: Option<i32>,
    missed: usize,
}

impl Hole {
    /// The hole that the name of the variant requires, or none.
    pub(crate) fn new(variant: &str) -> Result<Hole, TrialError> {
        let family = family(variant);
        let plug = match variant.ends_with("-hole") {
            true => {
                Some((family, Socket::stream(family).map_err(TrialError::at("to open the lowest socket"))?))
            }
            false => None,
        };
        let lowest = plug.as_ref().map(|(_, plug)| plug.number());
        Ok(Hole { plug, lowest, missed: 0 })
    }

    /// Closes the lowest descriptor and fills it again. Returns whether there is a hole.
    #[inline]
    pub(crate) fn punch(&mut self) -> io::Result<bool> {
        let Some((family, plug)) = self.plug.take() else { return Ok(false) };
        plug.close()?;
        let plug = Socket::stream(family)?;
        self.missed += usize::from(Some(plug.number()) != self.lowest);
        self.plug = Some((family, plug));
        Ok(true)
    }

    /// Checks that the hole was the lowest descriptor; nothing without a hole.
    pub(crate) fn check(&self, trial: &mut Trial<'_>) {
        if self.lowest.is_some() {
            trial.check("the hole was always the lowest descriptor", self.missed == 0);
        }
    }
}
