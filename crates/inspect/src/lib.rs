//! An operator's questions about a system: what they are, and how they are answered from facts and figures.
//!
//! - [`doctor`] whether a machine is ready: how far every workload comes, and what makes figures doubtful;
//! - [`tune`] raises the settings that are too low, and puts them back;
//! - [`snoop`] which architecture a running server has;
//! - [`blame`] where the extra time goes of a cost that grows;
//! - [`impact`] whether what an operating system costs matters to anyone: to a user, or to the number of
//!   machines.
//!
//! Must never: change anything but what [`tune`] is told to, print, or speak in sentences that a program
//! would have to parse.

#![forbid(unsafe_code)]

pub mod blame;
pub mod doctor;
pub mod impact;
pub mod snoop;
pub mod tune;
