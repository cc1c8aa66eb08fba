//! osdyno as its users have it: the program with its verbs, started and looked at from outside.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

#[macro_use]
#[path = "../common/mod.rs"]
mod common;
#[cfg(target_os = "linux")]
#[path = "../../../net/tests/common/identity.rs"]
mod identity;

#[cfg(target_os = "linux")]
#[path = "../../../history/tests/it/simulated.rs"]
mod nights;

mod background;
mod browser;
mod clients;
mod command;
mod compact;
mod compare;
mod conformance;
mod cores;
mod doctor;
mod far;
mod faults;
mod file_faults;
mod file_systems;
mod fleet;
mod foreign;
mod gates;
mod history;
mod impact;
mod jobs;
mod judge;
mod kill_objects;
mod kill_phases;
mod load;
mod mail;
mod mail_lists;
mod mail_memory;
mod mail_run;
mod merge;
mod network_copy;
mod old_runs;
mod outputs;
mod overload;
mod printed;
mod serve;
mod servers;
mod sql_server;
mod systems;
mod tune;
mod verbs;
mod workers;
