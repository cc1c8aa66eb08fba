//! An operator's questions about a system: what they are, and how they are answered from facts and figures.
//!
//! - [`impact`] whether what an operating system costs matters to anyone: to a user, or to the number of
//!   machines.
//!
//! May import: judge, record, stats. Must never: measure, change anything, print, or speak in sentences that
//! a program would have to parse.

#![forbid(unsafe_code)]

pub mod impact;
