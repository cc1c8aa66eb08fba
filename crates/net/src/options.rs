//! Declarations of clients, services and architectures: the command-line options of their settings, and the
//! page that opens their file.
//!
//! The declaration is data: the command line is built from it, and the values given there become fields of
//! the settings. No list of options exists elsewhere.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::Error;

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// Its long name on the command line, without dashes.
    pub name: &'static str,
    /// Its short names: the first is shown, the others are those of other programs.
    pub shorts: &'static [char],
    /// The field of the settings that it sets.
    pub field: &'static str,
    /// What is written behind its name.
    pub form: OptionForm,
    /// One line for `--help`.
    pub help: &'static str,
}

/// What is written behind the name of an option. The text is what `--help` shows in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionForm {
    /// Nothing: the option sets its field to true.
    Switch,
    /// A whole number.
    Number(&'static str),
    /// A text.
    Text(&'static str),
    /// A text; the option may be repeated, and each adds an element to its field.
    Texts(&'static str),
    /// A path, which is written without the option's name.
    Path(&'static str),
    /// A text, or the content of the file whose name follows an `@`; its field is a [`Content`].
    Content(&'static str),
    /// The name of a file; its field is the [`Content`] of that.
    File(&'static str),
}

/// Bytes that a user gave, which need not be text: in JSON they are base64.
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

/// Fields of settings, as a command line gives them.
pub type Fields = Map<String, Value>;

/// Settings as data, to be handed on without knowing them.
pub(crate) fn to_value(settings: &impl Serialize) -> Value {
    // Settings are structs of plain fields, of which none can fail; `from_value` would refuse `null`.
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
