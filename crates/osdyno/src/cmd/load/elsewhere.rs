//! `osdyno load` where generators are not written yet: it takes any words, and says so.

use std::ffi::OsString;

use super::Done;
use crate::console::Console;
use crate::failure::Failure;

/// The hidden verb of a process that helps.
pub(crate) const WORKER: &str = "load-worker";

/// Load a server; not on this system yet
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<OsString>,
}

pub(crate) fn load(_args: &Args, _console: &Console) -> Done {
    worker()
}

pub(crate) fn worker() -> Done {
    let reason = "generators are not written for this system yet".to_owned();
    Err(Failure::Net(net::Error::Unsupported { name: "load".to_owned(), reason }))
}
