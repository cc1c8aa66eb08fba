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
    #[error("the trial program did not describe the system: {reason}")]
    Describe {
        /// Why.
        reason: String,
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
