//! One process, one thread, and select(2): every wait copies a bit for each descriptor into the kernel
//! and back.
//!
//! This is the oldest interface for many connections, from 4.2BSD. A set of bits has a fixed size,
//! `FD_SETSIZE`, usually 1,024. A connection whose descriptor is not below that is closed immediately,
//! and counted as `exhausted`.
//!
//! Expected: the cost of a wait is proportional to the highest descriptor, as with `poll`, up to about
//! 1,000 connections.

use super::{Architecture, ServedBy};
use crate::worker::Accept;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "select",
    source: record::page!("select.rs"),
    served_by: ServedBy::Loop,
    accepts: &[Accept::ReusePort, Accept::Shared],
    probe: || Ok(()),
    serve: cfg_select! {
        unix => { Ok(super::reactor::serve::<sys::event::Select>) }
        _ => { Err("select(2) takes arrays on Windows, which is not written; poll serves there") }
    },
};
