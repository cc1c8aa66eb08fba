//! Variants of a workload that are rivals, as they are said.

mod table;
pub(crate) mod words;

pub(crate) use table::write;
