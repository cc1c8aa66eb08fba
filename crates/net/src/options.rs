//! Settings of clients and services: as options of a command line, which their fields declare, and as JSON
//! for another process or a record; and the page that opens the file of a client, a service or an
//! architecture.

use std::ffi::OsString;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgMatches, Args};
use record::units::{self, Unreadable};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::Error;

/// Bytes of a user, perhaps no text: in JSON they are base64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content(Vec<u8>);

impl Content {
    /// These bytes.
    pub fn new(bytes: Vec<u8>) -> Content {
        Content(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, or the bytes of the file whose name follows an `@`.
    pub(crate) fn from_option(text: &str) -> Result<Content, String> {
        text.strip_prefix('@').map_or_else(|| Ok(Content(text.into())), Content::from_file)
    }

    pub(crate) fn from_file(path: &str) -> Result<Content, String> {
        std::fs::read(path).map(Content).map_err(|error| format!("cannot read {path}: {error}"))
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Content, D::Error> {
        STANDARD.decode(String::deserialize(from)?).map(Content).map_err(D::Error::custom)
    }
}

/// A reader of whole numbers: `500`, `20k`, `64Ki`.
pub(crate) fn count<T: TryFrom<u64>>()
-> impl Fn(&str) -> Result<T, Unreadable> + Clone + Send + Sync + 'static {
    units::counts(0..=units::COUNT_MAX)
}

/// A reader of paths. Settings reach another process as JSON, which cannot have any path.
pub(crate) fn utf_8_path() -> impl TypedValueParser<Value = PathBuf> {
    let utf_8 = |path: OsString| path.into_string().map(PathBuf::from);
    let wrong = "its name is not UTF-8; rename it, or give a symbolic link to it";
    OsStringValueParser::new().try_map(move |path| utf_8(path).map_err(|_| wrong))
}

/// Settings as a command line gives them.
pub(crate) fn from_matches<S: Args + Serialize>(matches: &ArgMatches) -> Result<Value, clap::Error> {
    S::from_arg_matches(matches).map(|settings| to_value(&settings))
}

/// Settings as data, to be handed on without knowing them.
pub(crate) fn to_value(settings: &impl Serialize) -> Value {
    // Settings are structs of plain fields, which cannot fail; `from_value` would refuse `null`.
    serde_json::to_value(settings).unwrap_or_default()
}

/// Reads settings that were handed on. A field that is missing has its default.
///
/// # Errors
/// [`Error::Settings`] names the owner of the settings and the field.
pub(crate) fn from_value<S: DeserializeOwned>(owner: &str, settings: &Value) -> Result<S, Error> {
    serde_json::from_value(settings.clone())
        .map_err(|error| Error::Settings(format!("settings of {owner}: {error}")))
}
