//! Sandboxes: containers, which have other files and name spaces under the kernel of this machine, and
//! gVisor, a program that serves the system calls of the programs in it.

use std::path::Path;

use runner::SCRATCH;

use crate::{Error, start};

/// Engines that start a container of an image; the first that works is used. Both take the same options.
const ENGINES: [&str; 2] = ["podman", "docker"];

/// Starts a container whose root is a folder: bwrap(1).
const BUBBLEWRAP: &str = "bwrap";

/// A container in which programs are measured.
#[derive(Debug)]
pub struct Container;

impl Container {
    /// The command that leads into a container with all name spaces of its own and a loopback interface: of a
    /// folder that is its root and is not written to, or else of an image by its name.
    ///
    /// # Errors
    /// [`Error::NoContainer`] where no engine is installed.
    pub fn command(image_or_root: &str) -> Result<Vec<String>, Error> {
        let words = match Path::new(image_or_root).is_dir() {
            true => of_root(image_or_root),
            false => of_image(image_or_root),
        };
        let failed = |reason| Error::NoContainer { image: image_or_root.to_owned(), reason };
        Ok(words.map_err(failed)?.into_iter().map(str::to_owned).collect())
    }
}

fn of_image(image: &str) -> Result<Vec<&str>, String> {
    if image.is_empty() || image.starts_with('-') {
        return Err("it names no image".to_owned());
    }
    if image.contains('/') && (image.starts_with('/') || image.starts_with('.')) {
        return Err("there is no such folder".to_owned());
    }
    // `version` contacts the server of docker, too.
    let works = |engine: &&str| start::printed(&[(*engine).to_owned(), "version".to_owned()]).is_ok();
    let engine = ENGINES.into_iter().find(works);
    let engine =
        engine.ok_or("neither podman nor docker works here; install podman, or start docker's server")?;
    Ok(vec![engine, "run", "--rm", "--interactive", "--network=none", image])
}

fn of_root(root: &str) -> Result<Vec<&str>, String> {
    start::version(&[BUBBLEWRAP.to_owned()])
        .map_err(|reason| format!("cannot start {BUBBLEWRAP}: {reason}; install bubblewrap"))?;
    let names = ["--unshare-all", "--die-with-parent", "--new-session"];
    // Trials work in the run's folder, on the same file system as on this machine.
    let mounts = [
        &["--ro-bind", root, "/"][..],
        &["--dev", "/dev", "--proc", "/proc", "--ro-bind", "/sys", "/sys"],
        &["--tmpfs", "/tmp", "--bind", SCRATCH, SCRATCH],
    ];
    Ok([&[BUBBLEWRAP][..], &names, &mounts.concat()].concat())
}

/// A gVisor in which programs are measured.
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
