//! The roles of trials, through the programs.

mod program;
mod remote;
