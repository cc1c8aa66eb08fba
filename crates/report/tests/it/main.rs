//! The tests of `report`, one program: each links everything below it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

mod bounds;
mod comparison;
mod contenders;
mod damage;
mod damaged;
mod emulated;
mod export;
mod fleet;
mod hostile;
mod imported;
mod one_number;
mod overview;
mod page;
mod phases;
mod race;
mod sixteen;
mod terminal;
