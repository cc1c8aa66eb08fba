//! Tests beside other systems and other programs, which `cargo xtask verify` runs: guests, Wine, mail servers,
//! daemons.

#[path = "../common/mod.rs"]
mod common;

mod lab;
mod lab_native;
mod mail_interop;
mod small_systems;
mod snoop;
mod wine;
