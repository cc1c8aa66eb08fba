//! Says what the system is on which this program runs.

use std::path::Path;

use record::{Line, System};

use crate::Done;

pub(crate) fn describe(scratch: &str) -> Done {
    let environment = sys::environment::facts(Some(Path::new(scratch)));
    let warnings = sys::environment::warnings(&environment, &sys::activity::snapshot());
    let system = System { name: String::new(), prefix: Vec::new(), environment, warnings, noise_floor: None };
    record::write_line(&Line::System(system), &mut std::io::stdout().lock())?;
    Ok(())
}
