//! Options that clients and services declare, as arguments of a verb: this file knows none of them.

use std::ffi::OsString;
use std::fs;
use std::marker::PhantomData;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use net::options::{Content, Fields, OptionForm, OptionSpec};
use serde_json::Value;

/// One of the owners of a list: a client, or a service.
pub(super) struct Owner {
    pub(super) name: &'static str,
    pub(super) summary: String,
    pub(super) options: &'static [OptionSpec],
    pub(super) defaults: Value,
}

/// A list of owners of options, of which a verb chooses one.
pub(super) trait Owners {
    /// The option that chooses one.
    const CHOICE: &'static str;
    /// What it is for.
    const HELP: &'static str;
    /// The one that is chosen without the option.
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
            defaults: (client.defaults)(),
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
            defaults: (service.defaults)(),
        };
        net::service::ALL.iter().map(owner).collect()
    }
}

/// The owner that was chosen, and the fields that its options set.
pub(super) struct Chosen<O> {
    pub(super) name: String,
    pub(super) fields: Fields,
    owners: PhantomData<O>,
}

impl<O: Owners> Args for Chosen<O> {
    fn augment_args(mut command: Command) -> Command {
        let owners = O::all();
        let names = owners.iter().map(|owner| PossibleValue::new(owner.name).help(owner.summary.clone()));
        let chooser = Arg::new(O::CHOICE).long(O::CHOICE).value_name("NAME").default_value(O::DEFAULT);
        command = command.arg(chooser.value_parser(PossibleValuesParser::new(names)).help(O::HELP));
        let mut known = Vec::new();
        for (owner, option) in
            owners.iter().flat_map(|owner| owner.options.iter().map(move |one| (owner, one)))
        {
            // Several owners may have an option of the same name.
            if !known.contains(&option.name) {
                known.push(option.name);
                command = command.arg(argument(owner, option));
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Chosen::<O>::augment_args(command)
    }
}

fn argument(owner: &Owner, option: &OptionSpec) -> Arg {
    let help = match &owner.defaults[option.field] {
        Value::String(text) => format!("{} [default: {text}]", option.help),
        Value::Number(number) => format!("{} [default: {number}]", option.help),
        _ => option.help.to_owned(),
    };
    let argument = Arg::new(option.name).help(help);
    let named = |argument: Arg| {
        let argument = argument.long(option.name);
        match option.shorts.split_first() {
            Some((short, others)) => argument.short(*short).visible_short_aliases(others.to_vec()),
            None => argument,
        }
    };
    match option.form {
        OptionForm::Switch => named(argument).action(ArgAction::SetTrue),
        OptionForm::Number(place) => named(argument).value_name(place).value_parser(record::units::count),
        OptionForm::Text(place) => named(argument).value_name(place),
        OptionForm::Texts(place) => named(argument).value_name(place).action(ArgAction::Append),
        OptionForm::Content(place) => named(argument).value_name(place).value_parser(content),
        OptionForm::File(place) => named(argument).value_name(place).value_parser(file),
        OptionForm::Path(place) => {
            argument.value_name(place).value_parser(OsStringValueParser::new().try_map(utf_8))
        }
    }
}

/// Options reach workers as JSON, which cannot have any other path.
fn utf_8(path: OsString) -> Result<String, &'static str> {
    path.into_string().map_err(|_| "its name is not UTF-8; rename it, or give a symbolic link to it")
}

/// The text, or the bytes of the file that an `@` precedes.
fn content(text: &str) -> Result<Content, String> {
    text.strip_prefix('@').map_or_else(|| Ok(Content::new(text.into())), file)
}

fn file(path: &str) -> Result<Content, String> {
    fs::read(path).map(Content::new).map_err(|error| format!("cannot read {path}: {error}"))
}

impl<O: Owners> FromArgMatches for Chosen<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Chosen<O>, clap::Error> {
        let name = matches.get_one::<String>(O::CHOICE).cloned().unwrap_or_default();
        let owners = O::all();
        let mut fields = Fields::new();
        for owner in &owners {
            for option in owner.options {
                let Some(value) = written(matches, option) else { continue };
                let is_ours = |own: &Owner| own.options.iter().any(|one| one.name == option.name);
                if owner.name == name && fields.insert(option.field.to_owned(), value).is_some() {
                    return Err(twice(owner, option));
                } else if owner.name == name {
                    continue;
                } else if !owners.iter().any(|own| own.name == name && is_ours(own)) {
                    return Err(of_another::<O>(option, owner.name, &name));
                }
            }
        }
        Ok(Chosen { name, fields, owners: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Chosen::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What the user wrote for the option; nothing where it was left out.
fn written(matches: &ArgMatches, option: &OptionSpec) -> Option<Value> {
    match option.form {
        OptionForm::Switch => matches.get_flag(option.name).then_some(Value::Bool(true)),
        OptionForm::Number(_) => matches.get_one::<u64>(option.name).map(|&number| number.into()),
        OptionForm::Texts(_) => {
            matches.get_many::<String>(option.name).map(|texts| texts.cloned().collect::<Vec<_>>().into())
        }
        OptionForm::Text(_) | OptionForm::Path(_) => {
            matches.get_one::<String>(option.name).map(|text| text.as_str().into())
        }
        OptionForm::Content(_) | OptionForm::File(_) => {
            let content = matches.get_one::<Content>(option.name)?;
            serde_json::to_value(content).ok()
        }
    }
}

/// Two options set one field.
fn twice(owner: &Owner, option: &OptionSpec) -> clap::Error {
    let names = owner.options.iter().filter(|one| one.field == option.field);
    let names: Vec<String> = names.map(|one| format!("--{}", one.name)).collect();
    let text = format!("{} say the same thing; leave one of them out", names.join(" and "));
    clap::Error::raw(ErrorKind::ArgumentConflict, text)
}

fn of_another<O: Owners>(option: &OptionSpec, owner: &str, chosen: &str) -> clap::Error {
    let shown = match option.form {
        OptionForm::Path(place) => place.to_owned(),
        _ => format!("--{}", option.name),
    };
    let text = format!("{shown} belongs to --{} {owner}, not to {chosen}; leave it out", O::CHOICE);
    clap::Error::raw(ErrorKind::ArgumentConflict, text)
}
