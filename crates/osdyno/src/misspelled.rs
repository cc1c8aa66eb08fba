//! Suggestions for a misspelled verb. clap suggests hidden verbs too, which only osdyno itself executes, and
//! does not recognise transposed letters, such as `rnu` for `run`.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error};

/// The same error with the verb that was probably meant, or none.
pub(crate) fn suggest(error: Error, program: &Command) -> Error {
    suggest_among(error, program, std::env::args().skip(1))
}

fn suggest_among(mut error: Error, program: &Command, words: impl Iterator<Item = String>) -> Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    // A verb may have verbs of its own.
    let parent = words.fold(program, |command, word| command.find_subcommand(word).unwrap_or(command));
    let verbs = parent.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name);
    match runner::nearest(typed, verbs) {
        Some(verb) => error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![verb])),
        None => error.remove(ContextKind::SuggestedSubcommand),
    };
    error
}
