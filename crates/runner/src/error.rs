//! Errors that prevent a run from starting or finishing. Each message says what to do next.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

/// Why a run could not start or finish.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No workload has this name.
    #[error("no workload is called \"{name}\"{}  (osdyno list shows all {count})", hint(.nearest))]
    UnknownWorkload {
        /// The name that was given.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
        /// The number of workloads.
        count: usize,
    },
    /// No preset has this name.
    #[error("no preset is called \"{name}\"; there are {known}")]
    UnknownPreset {
        /// The name that was given.
        name: String,
        /// The names of all presets.
        known: String,
    },
    /// A `--system` cannot be parsed.
    #[error("invalid system {text:?}: {reason}; write NAME=COMMAND, such as 'nice=nice -n 10'")]
    Target {
        /// The text of the user.
        text: String,
        /// Why.
        reason: &'static str,
    },
    /// A `--fs` cannot be parsed.
    #[error("invalid file system {text:?}: {reason}; write KIND or KIND:OPTION, such as ext4:noatime")]
    FileSystem {
        /// The text of the user.
        text: String,
        /// Why.
        reason: String,
    },
    /// A device cannot be formatted.
    #[error("cannot format {device}: {reason}; --device and --erase name a block device that nothing uses")]
    Device {
        /// Its path.
        device: String,
        /// Why.
        reason: String,
    },
    /// A `--server` cannot be parsed.
    #[error(
        "invalid server {text:?}: {reason}; \
         write ADDRESS or ADDRESS=COMMAND, such as '10.0.0.2=ip netns exec other'"
    )]
    Server {
        /// The text of the user.
        text: String,
        /// Why.
        reason: &'static str,
    },
    /// The server has a public address, and `--allow-public` is missing.
    #[error(
        "{address} is neither this machine nor in a private network; \
         if you may load this server, add --allow-public"
    )]
    PublicServer {
        /// The address.
        address: String,
    },
    /// The server has an address that is each host itself.
    #[error(
        "the clients {clients} are other machines, which cannot reach a server on {address}: name the \
         address that they see, such as --server 10.0.0.2=env for one of this machine"
    )]
    UnreachableServer {
        /// The hosts.
        clients: String,
        /// The address of the server.
        address: IpAddr,
    },
    /// The hosts of a fleet, or groups of them, cannot be read.
    #[error(transparent)]
    Fleet(fleet::Error),
    /// A host is in two groups of `--group`.
    #[error("the host {host} is in two groups; hosts that share a machine are one group of --group")]
    TwoGroups {
        /// Name of the host.
        host: String,
    },
    /// A system of this machine cannot be on hosts.
    #[error(
        "{name} is made on this machine, so it cannot be measured on hosts; leave out --hosts, or name a \
         --system with a command that is executed there"
    )]
    NotOnHosts {
        /// Its name.
        name: String,
    },
    /// Two systems have the same name.
    #[error("two systems are called \"{name}\"; give each a different name")]
    SameName {
        /// The name.
        name: String,
    },
    /// A growth should be sampled on a machine or kernel other than that of its run.
    #[error(
        "the run was measured elsewhere: its {fact} is {then}, here it is {now}; \
         measure it here with osdyno run --blame, or sample here all the same with --anyway"
    )]
    OtherMachine {
        /// The fact that differs.
        fact: String,
        /// Its value in the run.
        then: String,
        /// Its value here.
        now: String,
    },
    /// `--blame` where nothing can be sampled.
    #[error(
        "--blame samples curves and jobs, and {workload} is a load, whose time is that of a server; leave it \
         out. perf record samples a server"
    )]
    NothingToSample {
        /// The first workload of the run.
        workload: &'static str,
    },
    /// Only one system can be measured against itself.
    #[error(
        "an A/A run measures one system against itself; give at most one --system, and one value to a setting"
    )]
    AgainstItself,
    /// No workload that is to be measured has that setting.
    #[error("no workload of this run has a setting \"{name}\"; {}", settings_known(.known))]
    UnknownSetting {
        /// The text of the user.
        name: String,
        /// The existing settings, each with its workload; may be empty.
        known: String,
    },
    /// A setting does not have that value.
    #[error("{workload} cannot be measured with {name}={value:?}; the values of {name} are {values}")]
    SettingValue {
        /// Name of the setting.
        name: String,
        /// The text of the user.
        value: String,
        /// The workload whose setting it is.
        workload: &'static str,
        /// The allowed values.
        values: String,
    },
    /// A setting makes systems, and a workload that does not have it would be the same on all of them.
    #[error(
        "{workload} has no setting \"{name}\", so it would be measured several times with the same settings; \
         leave it out, or give {name} one value"
    )]
    SettingOfOthers {
        /// Name of the setting.
        name: String,
        /// The workload without it.
        workload: &'static str,
    },
    /// A workload that is to be measured at levels has none.
    #[error("{workload} is measured at every n and has no levels; -n sets how far n goes")]
    NoLevels {
        /// Its name.
        workload: &'static str,
    },
    /// Too few trials for an A/A run.
    #[error("an A/A run needs at least {least} trials on each side, not {trials}; raise --trials")]
    FewTrials {
        /// The number that was given.
        trials: u32,
        /// The number that is needed.
        least: u32,
    },
    /// The scratch folder cannot be created.
    #[error("cannot create a scratch folder in {path}: {source}; choose another with --scratch")]
    Scratch {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The workloads can have no files in a folder of the user's.
    #[error("cannot create a folder for the workloads in {path}: {source}; choose another with --files")]
    Files {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The trial program cannot be started.
    #[error("cannot start the trial program in {path}: {source}{}", advice_on_start(.source))]
    Program {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// This build does not contain the trial program.
    #[error("this build of osdyno does not contain the trial program: {reason}")]
    NoProgram {
        /// Why.
        reason: &'static str,
    },
    /// The programs for another system are not there.
    #[error(
        "there is no {}, which is measured there; `cargo xtask link-systems --release {triple}` in the \
         source of this osdyno builds it, and it belongs beside osdyno",
        path.display()
    )]
    NoForeignProgram {
        /// The file.
        path: PathBuf,
        /// The target triple of the system.
        triple: String,
    },
    /// The system did not describe itself.
    #[error(
        "the system \"{name}\" cannot be measured: {reason}; \
         its command must start `sh`, with head, mkdir, chmod and rm, on a machine of this architecture, \
         and pass on standard input and output unchanged"
    )]
    Command {
        /// Its name.
        name: String,
        /// Why, if the command reported it.
        reason: String,
    },
    /// The system did not describe itself.
    #[error("the system \"{name}\" cannot be measured: {reason}")]
    Describe {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// There can be no such system here.
    #[error("the system \"{name}\" cannot be measured: {reason}")]
    Unsupported {
        /// Its name.
        name: String,
        /// Why, with the remedy.
        reason: String,
    },
    /// The system cannot be loaded as requested.
    #[error("the system \"{name}\" cannot be measured under this load: {source}")]
    Background {
        /// Its name.
        name: String,
        /// Why.
        source: background::Error,
    },
    /// The noise floor cannot be stored for later runs.
    #[error("cannot store the noise floor in {path}: {source}; the run file contains it")]
    NoiseFloor {
        /// The file.
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

/// The remedy for a program that does not start, by its error.
fn advice_on_start(source: &io::Error) -> String {
    match (sys::error::advice(source), source.kind()) {
        ("", io::ErrorKind::PermissionDenied) => {
            "; if that folder is mounted noexec, choose another with --scratch".to_owned()
        }
        ("", _) => String::new(),
        (advice, _) => format!("; {advice}"),
    }
}

fn settings_known(known: &str) -> String {
    match known {
        "" => "they have no settings".to_owned(),
        known => format!("there are {known}"),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_advice_on_a_program_that_does_not_start_depends_on_the_cause() {
        let told = |number| {
            let source = io::Error::from_raw_os_error(number);
            Error::Program { path: "/tmp/osdyno-trial".into(), source }.to_string()
        };
        let [eagain, emfile, eacces, enoent] = [11, 24, 13, 2].map(told);
        assert!(eagain.contains("ulimit -u") && !eagain.contains("noexec"), "{eagain}");
        assert!(emfile.contains("ulimit -n") && !emfile.contains("noexec"), "{emfile}");
        assert!(
            eacces.ends_with("if that folder is mounted noexec, choose another with --scratch"),
            "{eacces}"
        );
        assert!(enoent.ends_with("No such file or directory (os error 2)"), "{enoent}");
    }
}
