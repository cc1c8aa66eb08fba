//! Failures that end the program, and their exit codes.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::console::tell;

/// Done, but something could not be measured, or delivered.
pub(crate) const INCOMPLETE: u8 = 3;
/// A claim of a gate is certain.
pub(crate) const REGRESSED: u8 = 4;
/// Stopped by the user: 128 + SIGINT, as shells count.
pub(crate) const INTERRUPTED: u8 = 130;

const FAILED: u8 = 1;
const WRONG_USAGE: u8 = 2;

/// A failure that ends the program. Each message names the attempt, its object, and the remedy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Runner(#[from] runner::Error),
    #[error(transparent)]
    Record(#[from] record::Error),
    #[error(transparent)]
    Net(#[from] net::Error),
    #[error(transparent)]
    Mail(#[from] mail::MailError),
    #[error(transparent)]
    Spool(#[from] mail::SpoolError),
    #[error(transparent)]
    History(#[from] history::Error),
    #[error("{} exists already; choose another name, or overwrite it with --force", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot write to standard output: {0}")]
    Print(#[from] io::Error),
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Refused(String),
    #[error("--fail-on is undecided: {0}")]
    Undecided(String),
}

impl Failure {
    pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Failure {
        let path = path.to_owned();
        move |source| Failure::Write { path, source }
    }

    /// Prints the failure and returns its exit code. A closed pipe is not reported.
    pub(crate) fn tell(self) -> ExitCode {
        if matches!(&self, Failure::Print(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        tell(&format!("error: {}", report::printable(&self.to_string())));
        let wrong_usage = matches!(
            self,
            Failure::Usage(_)
                | Failure::Spool(mail::SpoolError::OtherDelivery { .. })
                | Failure::Net(net::Error::Unknown { .. } | net::Error::Settings(_))
                | Failure::Mail(
                    mail::MailError::NoInterface(_)
                        | mail::MailError::NotPermitted(_)
                        | mail::MailError::Settings(_)
                        | mail::MailError::Dns(
                            mail::dns::DnsError::NoServer | mail::dns::DnsError::NotPermitted(_)
                        )
                )
                | Failure::Runner(
                    runner::Error::UnknownWorkload { .. }
                        | runner::Error::UnknownPreset { .. }
                        | runner::Error::SameName { .. }
                        | runner::Error::NothingToSample { .. }
                        | runner::Error::AgainstItself
                        | runner::Error::FewTrials { .. }
                        | runner::Error::PublicServer { .. }
                        | runner::Error::UnreachableServer { .. }
                        | runner::Error::NoLevels { .. }
                )
        );
        ExitCode::from(match &self {
            Failure::Undecided(_) | Failure::Net(net::Error::Void(_)) => INCOMPLETE,
            _ if wrong_usage => WRONG_USAGE,
            _ => FAILED,
        })
    }
}
