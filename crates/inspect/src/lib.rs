//! An operator's questions about a system: what they are, and how they are answered from facts and figures.
//!
//! - [`impact`] whether what an operating system costs matters to anyone: to a user, or to the number of
//!   machines;
//! - [`snoop`] which architecture a running server has.
//!
//! May import: judge, record, stats, sys. Must never: change anything, print, or speak in sentences that
//! a program would have to parse.

#![forbid(unsafe_code)]

pub mod impact;
pub mod snoop;
