//! Events of a process: a frame, the end of its output, its exit.

use std::process::ExitStatus;

use serde::{Deserialize, Serialize};

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// By itself and with status 0.
    pub is_success: bool,
    /// Whether its program was loaded; otherwise none of its own instructions has run.
    pub is_loaded: bool,
    /// In words: `exit status 1`, `killed by SIGKILL`.
    pub words: String,
}

impl Ending {
    pub(crate) fn of(status: ExitStatus) -> Ending {
        Ending {
            is_success: status.success(),
            is_loaded: sys::process::was_loaded(status),
            words: sys::process::ending(status),
        }
    }

    pub(crate) fn failed(words: impl Into<String>) -> Ending {
        Ending { is_success: false, is_loaded: true, words: words.into() }
    }
}

/// What happens on the output of a process.
#[derive(Debug)]
pub(crate) enum Event {
    Output(Vec<u8>),
    /// It has ended. A process of our own is waited for here; of one in a session the agent says how it
    /// ended.
    Closed(Option<Ending>),
    /// Its replies are not needed any more.
    Interrupted,
}
