//! Containers: other files and name spaces under the kernel of this machine.

use std::path::Path;

use runner::SCRATCH;

use crate::{Error, start};

/// What starts a container of an image; the first that is there is used. Both take the same options.
const ENGINES: [&str; 2] = ["podman", "docker"];

/// What starts one whose root is a folder: bwrap(1).
const BUBBLEWRAP: &str = "bwrap";

/// A container in which programs are measured.
#[derive(Debug)]
pub struct Container;

impl Container {
    /// The command that leads into a container with all name spaces of its own and a loopback interface: of a
    /// folder that is its root and is not written to, or else of an image by its name.
    ///
    /// # Errors
    /// [`Error::NoContainer`] where nothing is installed that starts one.
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
    // The verb asks a server too, where there must be one.
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
    // Work is done in the run's folder, on the same file system as that of this machine.
    let mounts = [
        &["--ro-bind", root, "/"][..],
        &["--dev", "/dev", "--proc", "/proc", "--ro-bind", "/sys", "/sys"],
        &["--tmpfs", "/tmp", "--bind", SCRATCH, SCRATCH],
    ];
    Ok([&[BUBBLEWRAP][..], &names, &mounts.concat()].concat())
}
