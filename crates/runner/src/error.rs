//! What can keep a run from being made or finished; each says what to do next.

use std::io;
use std::path::PathBuf;

/// What can keep a run from being made or finished.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing has that name.
    #[error("no workload is called \"{name}\"{}  (osdyno list shows all {count})", hint(.nearest))]
    UnknownWorkload {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
        /// How many there are.
        count: usize,
    },
    /// Nothing has that name.
    #[error("no preset is called \"{name}\"; there are {}", preset_names())]
    UnknownPreset {
        /// What was asked for.
        name: String,
    },
    /// A system cannot be understood.
    #[error("{text:?} names no system: {reason}; write NAME=COMMAND, such as 'nice=nice -n 10'")]
    Target {
        /// What was written.
        text: String,
        /// Why.
        reason: &'static str,
    },
    /// The place of a server cannot be understood.
    #[error(
        "{text:?} names no server: {reason}; \
         write ADDRESS or ADDRESS=COMMAND, such as '10.0.0.2=ip netns exec other'"
    )]
    Server {
        /// What was written.
        text: String,
        /// Why.
        reason: &'static str,
    },
    /// A load on others was not asked for in so many words.
    #[error(
        "{address} is neither this machine nor in a private network; \
         if you may load it, say so with --allow-public"
    )]
    PublicServer {
        /// The address.
        address: String,
    },
    /// Two systems have the same name.
    #[error("two systems are called \"{name}\"; give each a name of its own")]
    SameName {
        /// The name.
        name: String,
    },
    /// Only one system can be measured against itself.
    #[error("an A/A run measures one system against itself; name one at most with --system")]
    AgainstItself,
    /// Too few trials for what is asked.
    #[error("an A/A run needs at least {least} trials of each side, not {trials}; raise --trials")]
    FewTrials {
        /// What was asked for.
        trials: u32,
        /// What is needed.
        least: u32,
    },
    /// The folder for the workloads' files cannot be used.
    #[error("cannot make a scratch folder in {path}: {source}; choose another with --scratch")]
    Scratch {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The measured program cannot be used.
    #[error(
        "cannot start the trial program in {path}: {source}; \
         if that folder forbids execution, choose another with --scratch"
    )]
    Program {
        /// Where it is.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// This build has no measured program.
    #[error("this build of osdyno carries no trial program: {reason}")]
    NoProgram {
        /// Why.
        reason: &'static str,
    },
    /// The system did not describe itself.
    #[error(
        "the system \"{name}\" cannot be measured: {reason}; \
         its command must be able to run {path} and hand on input and output"
    )]
    Command {
        /// Its name.
        name: String,
        /// Why, as far as it was told.
        reason: String,
        /// The program that is started through the command.
        path: PathBuf,
    },
    /// The system did not describe itself.
    #[error("the system \"{name}\" cannot be measured: {reason}")]
    Describe {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// The noise floor cannot be kept for later runs.
    #[error("cannot keep the noise floor in {path}: {source}; it is in the run file all the same")]
    NoiseFloor {
        /// Where it was to be.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The record cannot be made or written.
    #[error(transparent)]
    Record(#[from] record::Error),
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|nearest| format!("; did you mean \"{nearest}\"?")).unwrap_or_default()
}

fn preset_names() -> String {
    crate::PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ")
}
