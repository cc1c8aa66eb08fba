//! The command line: arguments that lists declare, and its words for the record and for repeating.
//!
//! [`Suggested`] arguments take any text and suggest names; [`Chosen`] ones are the options of a client or a
//! service, of which this file knows none.

use std::ffi::OsStr;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::LazyLock;

use ::judge::gate::Gate;
use clap::builder::{PossibleValue, PossibleValuesParser, Resettable, StringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use runner::Target;
use serde_json::Value;

use super::{explain, warn};

/// Parts of the names of options and variables whose values give access, as in `--password` and `PGPASSWORD`.
const SECRET: [&str; 7] = ["password", "passwd", "passphrase", "token", "secret", "api-key", "apikey"];
/// Fields of HTTP that do so.
const FIELDS: [&str; 3] = ["authorization:", "proxy-authorization:", "cookie:"];

/// Takes any text, and suggests some to a shell, as for names beside globs; clap needs suggestions that live
/// as long as the program.
#[derive(Clone)]
pub(super) struct Suggested(&'static LazyLock<Vec<String>>);

/// Workloads with their variants, and groups.
pub(super) fn workload_names() -> Suggested {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let groups = runner::GROUPS.iter().map(|group| group.name.to_owned());
        sorted(groups.chain(["all".to_owned()]).chain(names_of_workloads()).collect())
    });
    Suggested(&NAMES)
}

/// All names with a page.
pub(super) fn page_names() -> Suggested {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| sorted(names_of_pages()));
    Suggested(&NAMES)
}

/// Names in their order, each once: an architecture and a workload may share theirs.
fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}

/// All names with a page: workloads, architectures, services, clients and methods of commands.
pub(super) fn names_of_pages() -> Vec<String> {
    let offers =
        explain::offers().flat_map(|page| [page.name.to_owned(), format!("{}/{}", page.kind, page.name)]);
    let methods = explain::guides().map(str::to_owned);
    names_of_workloads().chain(offers).chain(methods).collect()
}

fn names_of_workloads() -> impl Iterator<Item = String> {
    runner::workloads().flat_map(|workload| {
        let variants = workload.variants.iter().filter(|variant| !variant.name.is_empty());
        let variants = variants.map(|variant| format!("{}/{}", workload.name, variant.name));
        variants.chain([workload.name.to_owned()]).collect::<Vec<_>>()
    })
}

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|name| PossibleValue::new(name.as_str()))))
    }
}

/// One of the owners of a list: a client, or a service. No two of a list have an option of the same name.
pub(super) struct Owner {
    pub(super) name: &'static str,
    summary: String,
    options: fn(Command) -> Command,
    settings: fn(&ArgMatches) -> Result<Value, clap::Error>,
}

impl Owner {
    pub(super) fn arguments(&self) -> Vec<Arg> {
        (self.options)(Command::new(self.name)).get_arguments().cloned().collect()
    }
}

/// A list of owners of options, of which a verb chooses one.
pub(super) trait Owners {
    /// The option that chooses one.
    const CHOICE: &'static str;
    /// Its help.
    const HELP: &'static str;
    /// The default.
    const DEFAULT: &'static str;

    fn all() -> Vec<Owner>;
}

/// Clients, for `load`.
pub(super) struct Clients;

impl Owners for Clients {
    const CHOICE: &'static str = "client";
    const HELP: &'static str = "Protocol of the client";
    const DEFAULT: &'static str = "http";

    fn all() -> Vec<Owner> {
        let owner = |client: &net::client::ClientKind| Owner {
            name: client.name,
            summary: client.summary(),
            options: client.options,
            settings: client.settings,
        };
        net::client::ALL.iter().map(owner).collect()
    }
}

/// Services, for `serve`.
pub(super) struct Services;

impl Owners for Services {
    const CHOICE: &'static str = "service";
    const HELP: &'static str = "Service to run";
    const DEFAULT: &'static str = "http";

    fn all() -> Vec<Owner> {
        let owner = |service: &net::service::Service| Owner {
            name: service.name,
            summary: service.summary(),
            options: service.options,
            settings: service.settings,
        };
        net::service::ALL.iter().map(owner).collect()
    }
}

/// The owner that was chosen, and its settings.
pub(super) struct Chosen<O> {
    pub(super) name: String,
    pub(super) settings: Value,
    owners: PhantomData<O>,
}

impl<O: Owners> Args for Chosen<O> {
    fn augment_args(command: Command) -> Command {
        let owners = O::all();
        let names = owners.iter().map(|owner| PossibleValue::new(owner.name).help(owner.summary.clone()));
        let chooser = Arg::new(O::CHOICE).long(O::CHOICE).value_name("NAME").default_value(O::DEFAULT);
        let command = command.arg(chooser.value_parser(PossibleValuesParser::new(names)).help(O::HELP));
        // The text of an owner would take the place of the verb's own.
        let about = Resettable::from(command.get_about().cloned());
        let long_about = Resettable::from(command.get_long_about().cloned());
        let command = owners.iter().fold(command, |command, owner| (owner.options)(command));
        command.about(about).long_about(long_about)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Chosen::<O>::augment_args(command)
    }
}

impl<O: Owners> FromArgMatches for Chosen<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Chosen<O>, clap::Error> {
        let name = matches.get_one::<String>(O::CHOICE).cloned().unwrap_or_default();
        let (chosen, others): (Vec<Owner>, _) = O::all().into_iter().partition(|owner| owner.name == name);
        for owner in others {
            let is_given = |argument: &Arg| {
                matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
            };
            if let Some(argument) = owner.arguments().into_iter().find(is_given) {
                return Err(of_another::<O>(&argument, owner.name, &name));
            }
        }
        let settings = chosen.first().map_or(Ok(Value::Null), |owner| (owner.settings)(matches))?;
        Ok(Chosen { name, settings, owners: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Chosen::from_arg_matches(matches)?;
        Ok(())
    }
}

fn of_another<O: Owners>(argument: &Arg, owner: &str, chosen: &str) -> clap::Error {
    let shown = match (argument.get_long(), argument.get_value_names()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some([place, ..])) => place.to_string(),
        (None, _) => argument.get_id().to_string(),
    };
    let text = format!("{shown} belongs to --{} {owner}, not to {chosen}; leave it out", O::CHOICE);
    clap::Error::raw(ErrorKind::ArgumentConflict, text)
}

/// The words of the command line, for that run file. A remark names those that look like credentials, there
/// and in the commands of hosts, because others may read the file.
pub(crate) fn recorded_in(file: &Path, targets: &[Target]) -> Vec<String> {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let of_hosts = targets.iter().filter(|target| target.fleet.is_some()).flat_map(|target| &target.prefix);
    let found = credentials(&words.iter().chain(of_hosts).cloned().collect::<Vec<_>>());
    if !found.is_empty() {
        warn(&format!(
            "{} will hold the command line, which seems to contain credentials ({}): keep it private, or \
             have the command read them from a file",
            file.display(),
            found.join(", ")
        ));
    }
    words
}

/// The command line for a shell, to be printed where others may read it: without what looks like credentials,
/// and without the name of a file that is there by now.
pub(crate) fn to_repeat() -> String {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    repeated(&words)
}

fn repeated(words: &[String]) -> String {
    let is_run = words.first().is_some_and(|verb| verb == "run");
    let mut shown = vec!["osdyno".to_owned()];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "--out" if is_run => drop(words.next()),
            out if is_run && out.starts_with("--out=") => {}
            word if !credentials(&[word.to_owned()]).is_empty() => {
                let name = word.split('=').next().unwrap_or_default();
                shown.push(format!("{}=…", ::report::shell::quoted(name)));
            }
            word => shown.push(::report::shell::quoted(word)),
        }
    }
    shown.join(" ")
}

/// The names of apparent credentials, without their values. A command may stand in one word, as in
/// `--system`.
fn credentials(words: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for word in words.iter().flat_map(|word| word.split_whitespace()) {
        let name = word.split('=').next().unwrap_or_default().trim_matches(['\'', '"']);
        let plain = name.to_lowercase().replace('_', "-");
        // An option may have its value behind it; a variable has it in the same word.
        let is_named = (name.starts_with("--") || word.contains('=')) && !name.contains('/');
        let is_secret = is_named && SECRET.iter().any(|part| plain.contains(part));
        let credential = match () {
            () if is_secret || FIELDS.contains(&&*plain) => Some(name.trim_end_matches(':').to_owned()),
            () => user_with_password(word).map(|user| format!("the password of {user}")),
        };
        found.extend(credential.filter(|credential| !found.contains(credential)));
    }
    found
}

/// The user in `user:password@host`, with or without a scheme before it. A claim of a gate, as
/// `slower:5%@fork*`, looks like it.
fn user_with_password(word: &str) -> Option<&str> {
    if Gate::parse(word.trim_start_matches("--fail-on=")).is_ok() {
        return None;
    }
    let rest = word.rsplit_once("://").map_or(word, |(_, rest)| rest);
    let (credentials, host) = rest.split('/').next()?.rsplit_once('@')?;
    let (user, password) = credentials.split_once(':')?;
    let user = user.rsplit(['=', '\'', '"']).next()?;
    (!user.is_empty() && !password.is_empty() && !host.is_empty()).then_some(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &[&str]) -> Vec<String> {
        credentials(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn credentials_are_named_and_never_shown() {
        for (word, named) in [
            ("db=psql --password=hunter2 -c", "--password"),
            ("x=mysql --password hunter2", "--password"),
            ("x=env PGPASSWORD=hunter2 psql", "PGPASSWORD"),
            ("x=env API_KEY='hunter2' run", "API_KEY"),
            ("x=curl --oauth2-token hunter2", "--oauth2-token"),
            ("postgres://me:hunter2@db.test/one", "the password of me"),
            ("x=smbclient me:hunter2@host", "the password of me"),
            ("x=curl -H 'Authorization: Bearer hunter2'", "Authorization"),
        ] {
            assert_eq!(found(&["osdyno", "run", "--system", word]), [named], "{word}");
        }
        assert_eq!(found(&["PASSWORD=a", "PASSWORD=b", "--token=c"]), ["PASSWORD", "--token"]);
    }

    #[test]
    fn a_command_to_repeat_shows_no_credentials_and_names_no_file_that_is_there() {
        let repeat =
            |words: &[&str]| repeated(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let command = ["run", "fork", "--out", "a.osdyno", "--system", "head=nice -n 10", "--out=b.osdyno"];
        assert_eq!(repeat(&command), "osdyno run fork --system 'head=nice -n 10'");
        let secret = repeat(&["run", "--system", "x=env PGPASSWORD=hunter2 psql"]);
        assert_eq!(secret, "osdyno run --system x=…");
        assert_eq!(repeat(&["compare", "a", "--out", "page.html"]), "osdyno compare a --out page.html");
    }

    #[test]
    fn other_words_are_no_credentials() {
        for word in [
            "far=ssh me@host",
            "far=ssh -p 22 me@host cp me@host:/tmp/token .",
            "http://[::1]:8080/a:b@c",
            "x=cat /run/secrets/token=1",
            "--set=files=20",
            "token",
            "me:@host",
            "slower:5%@fork*",
            "--fail-on=grows,slower:5%@fork*",
        ] {
            assert_eq!(found(&[word]), [""; 0], "{word}");
        }
    }
}
