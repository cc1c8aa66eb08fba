//! Containers as systems of `lab run`.

use lab::Container;
use runner::Target;

use super::words::split;
use crate::failure::Failure;

/// The option of `lab run`.
const OPTION: &str = "--container";

/// The container as a system.
pub(super) fn target(text: &str) -> Result<Target, Failure> {
    let (name, image) = split(text);
    let prefix = Container::command(image).map_err(|error| Failure::Refused(error.to_string()))?;
    let written = vec![OPTION.to_owned(), image.to_owned()];
    Ok(Target { written, ..Target::of_command(name.unwrap_or(image).to_owned(), prefix) })
}
