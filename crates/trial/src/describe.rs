//! Describes the system on which this program runs.

use std::path::Path;

use host::{FrameReader, FrameWriter};
use record::{Line, System};

use crate::Done;

/// Receives the folder for the workloads' files, and replies with the system.
pub(crate) fn describe() -> Done {
    let Some(scratch) = FrameReader::standard_input().receive::<String>()? else { return Ok(()) };
    let environment = sys::environment::facts(Some(Path::new(&scratch)));
    let warnings = sys::environment::warnings(&environment, &sys::activity::snapshot());
    let system = System { name: String::new(), prefix: Vec::new(), environment, warnings, noise_floor: None };
    Ok(FrameWriter::standard_output().send(&Line::System(system))?)
}
