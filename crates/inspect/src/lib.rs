//! An operator's questions about a system, each with its evidence, its typed answer and its document.
//!
//! - [`doctor`]: is this machine ready? How far every workload comes, and the causes of doubtful figures;
//! - [`hosts`]: which hosts of a fleet can be measured?
//! - [`tune`] raises the settings that are too low, and puts them back;
//! - [`snoop`]: which architecture does a running server use?
//! - [`blame`]: which functions take the extra time of a cost that grows?
//! - [`impact`]: does a cost of the operating system matter, to a user or for the number of machines?
//!
//! Must never: change a setting that no option of [`tune`] names, print, or produce sentences that a program
//! must parse.

#![forbid(unsafe_code)]

pub mod blame;
pub mod doctor;
pub mod hosts;
pub mod impact;
pub mod snoop;
pub mod tune;
