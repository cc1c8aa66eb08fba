//! Variants of a workload that are rivals, as they are said.

mod json;
mod table;
pub(crate) mod words;

pub(crate) use json::entries;
pub(crate) use table::write;
