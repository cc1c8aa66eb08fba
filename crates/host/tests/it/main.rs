//! Roles behind commands and in guests, and every fault of these.

mod common;
mod faults;
mod guest;
