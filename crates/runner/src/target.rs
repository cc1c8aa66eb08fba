//! Parses `--system` and `--files`: the systems that a run measures.

use std::path::PathBuf;
use std::time::Duration;

use background::BackgroundLevel;
use fleet::NamedHost;
use record::FleetPlace;

use crate::{Error, Programs};

/// The hidden verb of osdyno by which it executes a command on a file system, before the file system, the
/// folder and the command.
pub const MOUNTED: &str = "mounted";

/// A word of a command that a run replaces by this program.
pub const OWN_PROGRAM: &str = "{osdyno}";

/// A word of a command that a run replaces by its scratch folder.
pub const SCRATCH: &str = "{scratch}";

/// The place that the command of a system leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A shell, which receives the agent.
    Shell,
    /// The agent of the system's programs, in a folder below the run's scratch folder.
    Agent,
    /// A guest that the command boots, in which the agent runs from the start.
    Guest,
}

/// A system to be measured: the words in front of the trial program that start it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name in the record.
    pub name: String,
    /// The command; empty for this machine as it is.
    pub prefix: Vec<String>,
    /// The options of the user for this system, such as `--kernel debian:6.12`. It is recorded in place of
    /// the command, which may hold paths of one machine, and the noise floor of the system is found by it.
    pub written: Vec<String>,
    /// The place that its command leads to.
    pub entry: Entry,
    /// How long it may take until its command has started and its agent replies.
    pub start_timeout: Duration,
    /// The programs that are measured there, where those of this machine do not run.
    pub programs: Option<Programs>,
    /// Its engine, where it cannot know that itself: the fact `machine.engine`.
    pub engine: Option<&'static str>,
    /// The folder of the user's in which the workloads have their files; `None` is the scratch folder.
    pub files: Option<PathBuf>,
    /// The loads beside its trials, each in its canonical form.
    pub background: Vec<String>,
    /// The settings of workloads in which it differs from other systems of the run, each as in the record.
    pub settings: Vec<(String, String)>,
    /// Its host and its configuration, where the run measures a fleet.
    pub fleet: Option<FleetPlace>,
}

impl Target {
    /// How long most systems may take to start: a virtual machine boots.
    pub const START_TIMEOUT: Duration = Duration::from_secs(60);

    /// This machine as it is.
    pub fn local() -> Target {
        Target::of_command("local".to_owned(), Vec::new())
    }

    /// The system to which a command leads.
    pub fn of_command(name: String, prefix: Vec<String>) -> Target {
        let written = prefix.clone();
        Target {
            name,
            written,
            prefix,
            entry: Entry::Shell,
            start_timeout: Target::START_TIMEOUT,
            programs: None,
            engine: None,
            files: None,
            background: Vec::new(),
            settings: Vec::new(),
            fleet: None,
        }
    }

    /// Reads `NAME=COMMAND`, the command split into words as POSIX shells do. Nothing is expanded: where a
    /// shell is wanted, it is part of the command.
    ///
    /// # Errors
    /// [`Error::Target`].
    pub fn parse(text: &str) -> Result<Target, Error> {
        let refused = |reason| Error::Target { text: text.to_owned(), reason };
        let (name, command) = text.split_once('=').ok_or_else(|| refused("there is no = in it"))?;
        if name.is_empty() {
            return Err(refused("the name is missing"));
        }
        if name.chars().any(char::is_control) {
            return Err(refused("the name holds a control character"));
        }
        let prefix = shlex::split(command).ok_or_else(|| refused("a quotation mark is not closed"))?;
        if prefix.first().is_some_and(String::is_empty) {
            return Err(refused("the command's first word is empty"));
        }
        Ok(Target::of_command(name.to_owned(), prefix))
    }

    /// This machine, with the files of the workloads in a folder of the user's.
    ///
    /// # Errors
    /// [`Error::Files`] for a path that is empty, or not UTF-8.
    pub fn of_files(folder: &str) -> Result<Target, Error> {
        let path = std::path::absolute(folder);
        let files = path.map_err(|source| Error::Files { path: folder.into(), source })?;
        let written = vec!["--files".to_owned(), folder.to_owned()];
        Ok(Target { name: folder.to_owned(), written, files: Some(files), ..Target::local() })
    }

    /// Whether its command boots a guest.
    pub(crate) fn is_guest(&self) -> bool {
        self.entry == Entry::Guest
    }

    /// Whether its command makes a file system. It is executed again for each trial: the remains of one trial
    /// on a file system would change the next.
    pub(crate) fn is_new_in_each_trial(&self) -> bool {
        self.prefix.starts_with(&[OWN_PROGRAM, MOUNTED].map(str::to_owned))
    }

    /// This one with these settings, which the name has.
    #[must_use]
    pub(crate) fn with_settings(&self, settings: &[(String, String)]) -> Target {
        if settings.is_empty() {
            return self.clone();
        }
        let words: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let options = words.iter().flat_map(|word| ["--set".to_owned(), word.clone()]);
        let written = self.written.iter().cloned().chain(options).collect();
        let name = self.name_with(&words.join(" "));
        Target { name, written, settings: settings.to_vec(), ..self.clone() }
    }

    /// The name of this system among several that differ in this; this machine needs no other name.
    fn name_with(&self, difference: &str) -> String {
        if self == &Target::local() { difference.to_owned() } else { format!("{} {difference}", self.name) }
    }

    /// This one under a load. Its name has the load where the run has `several`.
    #[must_use]
    pub fn under(&self, level: &BackgroundLevel, several: bool) -> Target {
        let name = if several { self.name_with(&level.name) } else { self.name.clone() };
        let option = ["--background".to_owned(), level.name.clone()];
        let written = self.written.iter().cloned().chain(option).collect();
        let background = level.loads.iter().map(ToString::to_string).collect();
        Target { name, written, background, ..self.clone() }
    }

    /// This one on a host of a fleet, behind the command that leads there.
    ///
    /// # Errors
    /// [`Error::NotOnHosts`] for a system that is made on this machine: a guest, a file system or a folder.
    pub(crate) fn on_host(&self, host: &NamedHost) -> Result<Target, Error> {
        if self.entry != Entry::Shell || self.files.is_some() || self.is_new_in_each_trial() {
            return Err(Error::NotOnHosts { name: self.name.clone() });
        }
        let configuration = if self == &Target::local() { String::new() } else { self.name.clone() };
        let name = match configuration.as_str() {
            "" => host.name.clone(),
            configuration => format!("{} {configuration}", host.name),
        };
        let options = self.written.strip_prefix(self.prefix.as_slice()).unwrap_or_default();
        let prefix = host.command_of(&self.prefix);
        Ok(Target {
            written: prefix.iter().chain(options).cloned().collect(),
            prefix,
            fleet: Some(FleetPlace { host: host.name.clone(), configuration }),
            name,
            ..self.clone()
        })
    }

    /// This one twice, as `a` and `b`: all differences between them are noise.
    pub(crate) fn against_itself(&self) -> Vec<Target> {
        ["a", "b"].map(|name| Target { name: name.to_owned(), ..self.clone() }).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_part_of_the_system_that_it_is_beside() {
        let background = background::BackgroundSpec::parse("cpu:0%/50%").expect("a background");
        let [none, half] = background.levels() else { panic!("two levels") };
        let local = Target::local();
        assert_eq!(
            (local.under(half, false).name, local.under(half, true).name),
            ("local".into(), "cpu:50%".into())
        );
        assert_eq!(local.under(none, true).background, [""; 0]);
        assert_eq!(local.under(half, true).background, ["cpu:50%"]);
        let nice = Target::parse("nice=nice").expect("a system").under(half, true);
        assert_eq!(
            (nice.name.as_str(), nice.written.join(" ")),
            ("nice cpu:50%", "nice --background cpu:50%".into())
        );
        assert_eq!(nice.prefix, ["nice"]);
    }

    #[test]
    fn settings_that_differ_are_in_the_name_of_a_system() {
        let settings = [("workers", "2"), ("accept", "shared")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let local = Target::local().with_settings(&settings);
        assert_eq!(local.name, "workers=2 accept=shared");
        assert_eq!(local.written, ["--set", "workers=2", "--set", "accept=shared"]);
        let nice = Target::parse("nice=nice").expect("a system").with_settings(&settings[..1]);
        assert_eq!((nice.name.as_str(), &nice.settings[..]), ("nice workers=2", &settings[..1]));
        assert_eq!(Target::local().with_settings(&[]), Target::local());
    }

    #[test]
    fn a_system_on_a_host_is_behind_its_command() {
        let host = |command: &str| fleet::listed(&[format!("n1={command}")]).expect("a host").remove(0);
        let nice = Target::parse("nice=nice -n '1 0'").expect("a system");
        let there = nice.on_host(&host("srun -w n1")).expect("a system");
        assert_eq!(there.prefix, ["srun", "-w", "n1", "nice", "-n", "1 0"]);
        assert_eq!((there.name.as_str(), &there.written), ("n1 nice", &there.prefix));
        let by_ssh = nice.on_host(&host("ssh n1")).expect("a system");
        assert_eq!(by_ssh.prefix, ["ssh", "n1", "nice", "-n", "'1 0'"], "a shell there splits it again");
        let alone = Target::local().on_host(&host("")).expect("a system");
        assert_eq!((alone.name.as_str(), alone.prefix.len()), ("n1", 0));
        let set = Target::local().with_settings(&[("workers".to_owned(), "2".to_owned())]);
        let set = set.on_host(&host("ssh n1")).expect("a system");
        assert_eq!(
            (set.name.as_str(), set.written.join(" ")),
            ("n1 workers=2", "ssh n1 --set workers=2".into())
        );
        let folder = Target::of_files("/tmp").expect("a folder");
        assert!(folder.on_host(&host("")).is_err(), "it would be a folder of this machine");
    }

    #[test]
    fn names_and_words_are_told_apart() {
        let words = |text| Target::parse(text).expect("a system").prefix;
        assert_eq!(words("nice=nice -n 10"), ["nice", "-n", "10"]);
        assert_eq!(
            words("x=env A=b sh -c 'exec \"$@\"' --"),
            ["env", "A=b", "sh", "-c", "exec \"$@\"", "--"]
        );
        assert!(words("none=").is_empty() && words("none=  ").is_empty());
        for wrong in ["", "name", "=nice", "a\nb=nice", "x='nice", "x='' nice"] {
            assert!(Target::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
