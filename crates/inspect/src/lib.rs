//! An operator's questions about a system: what they are, and how they are answered from facts and figures.
//!
//! - [`doctor`] whether a machine is ready: how far every workload comes, and what makes figures doubtful;
//! - [`tune`] raises the settings that are too low, and puts them back;
//! - [`snoop`] which architecture a running server has;
//! - [`blame`] where the extra time goes of a cost that grows;
//! - [`impact`] whether what an operating system costs matters to anyone: to a user, or to the number of
//!   machines.
//!
//! Must never: change a setting that no option of [`tune`] names, print, or produce sentences that a program
//! must parse.

#![forbid(unsafe_code)]

pub mod blame;
pub mod doctor;
pub mod impact;
pub mod snoop;
pub mod tune;
