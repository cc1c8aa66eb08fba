//! The first process of a guest: sets up its system, starts the agent on the second serial line, and powers
//! off when the agent has ended. The kernel's console has the first serial line, and gets every error.

use std::fs;
use std::io;
use std::path::Path;

use sys::init::{bring_up_loopback, open_serial_line, power_off, raise_descriptor_limit, set_sysctl};

use crate::Ending;

/// The last argument of this program where it is the first process. A kernel hands on the words behind `--`
/// on its command line, and before them each word that it does not know itself.
pub const INIT: &str = "init";

/// How a word begins that holds a setting of the kernel, such as `sysctl:vm.swappiness=10`.
pub const SYSCTL: &str = "sysctl:";

/// Where an initramfs has the programs that trials need.
pub const PROGRAMS: &str = "/osdyno";

/// The agent's folder: not on the file system of the initramfs, which may be a simpler one.
const FOLDER: &str = "/tmp/osdyno";

/// The second serial line.
const LINE: &str = "/dev/ttyS1";

/// The mounts. Without the first three nothing works.
const MOUNTS: [(&str, &str); 5] =
    [("proc", "/proc"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp"), ("sysfs", "/sys"), ("tmpfs", "/dev/shm")];

/// Does the work of the first process, whose other words are these. It returns where the machine cannot be
/// powered off, and the kernel panics then.
///
/// # Errors
/// Why the machine cannot be powered off.
pub fn init(words: &[&str]) -> io::Result<()> {
    match set_up().and_then(|()| set(words)).and_then(|()| work()) {
        Ok(Ending { is_success: true, .. }) => {}
        Ok(Ending { words, .. }) => eprintln!("osdyno: the agent in the guest has ended: {words}"),
        Err(error) => eprintln!("osdyno: {error}"),
    }
    Err(power_off())
}

fn set_up() -> io::Result<()> {
    for (kind, folder) in MOUNTS {
        tell(&format!("mount {kind} on {folder}"), mount(kind, Path::new(folder)));
    }
    tell("bring up the loopback interface", bring_up_loopback());
    tell("raise the limit of descriptors", raise_descriptor_limit());
    fs::create_dir_all(FOLDER).map_err(|error| failed(&format!("make {FOLDER}"), &error))?;
    move_files(Path::new(PROGRAMS), Path::new(FOLDER))
        .map_err(|error| failed(&format!("move {PROGRAMS} to {FOLDER}"), &error))
}

/// Makes the requested settings. Without them the name of this system would be wrong.
fn set(words: &[&str]) -> io::Result<()> {
    for setting in words.iter().filter_map(|word| word.strip_prefix(SYSCTL)) {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        set_sysctl(key, value).map_err(|error| failed(&format!("set {setting}"), &error))?;
    }
    Ok(())
}

/// Mounts a file system that has no device, on a folder that is made if need be.
fn mount(kind: &str, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    sys::mount::mount(Path::new(kind), folder, kind, &[])
}

/// A mount that fails here may not be needed; if it is, the console has the reason.
fn tell(attempted: &str, done: io::Result<()>) {
    if let Err(error) = done {
        eprintln!("osdyno: {}", failed(attempted, &error));
    }
}

fn failed(attempted: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {attempted}: {error}"))
}

fn move_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
        fs::remove_file(entry.path())?;
    }
    Ok(())
}

/// Runs the agent in a child: the first process cannot be killed, and outlives it.
fn work() -> io::Result<Ending> {
    let line = open_serial_line(LINE).map_err(|error| failed(&format!("open {LINE}"), &error))?;
    let program = sys::process::own_program()?;
    let mut agent = crate::role(&program, &["agent", FOLDER]);
    agent.stdin(line.try_clone()?).stdout(line);
    Ok(Ending::from_status(agent.status().map_err(|error| failed("start the agent", &error))?))
}
