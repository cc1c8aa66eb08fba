//! Options that clients and services declare, as arguments of a verb: this file knows none of them.

use std::marker::PhantomData;

use clap::builder::{PossibleValue, PossibleValuesParser, Resettable};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use serde_json::Value;

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
