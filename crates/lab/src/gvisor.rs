//! gVisor: a sandbox whose own kernel, a program, serves the system calls of what runs in it.

use crate::{Error, start};

/// The command of a sandbox.
#[derive(Debug)]
pub struct Gvisor;

impl Gvisor {
    /// The program where the user names none.
    pub const PROGRAM: &str = "runsc";

    /// The command that leads into a sandbox of this program: with a loopback interface of its own and no
    /// other network, which would take rules of a firewall.
    ///
    /// # Errors
    /// [`Error::NoGvisor`] for a program that cannot be started.
    pub fn sandbox(program: &[String]) -> Result<Vec<String>, Error> {
        let failed = |reason| Error::NoGvisor { program: program.join(" "), reason };
        start::version(program).map_err(failed)?;
        let (first, options) = program.split_first().ok_or_else(|| failed(start::NO_WORD.to_owned()))?;
        let words = [first.as_str(), "--network=none"].into_iter().chain(options.iter().map(String::as_str));
        Ok(words.chain(["do"]).map(str::to_owned).collect())
    }
}
