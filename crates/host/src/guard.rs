//! Leaves nothing behind: the guard of a system's command kills everything that it started, and the janitor
//! removes a folder that processes may still be writing to. Such a command may hang, leave processes
//! behind, or not detect the end of the process that started it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::pipe;

/// How long a command that leads to a shell may take to end by itself once its standard input is closed: the
/// agent behind it ends its processes and removes its folder meanwhile. Shorter than the time in which a
/// session waits for the guard.
pub(crate) const GRACE: Duration = Duration::from_secs(4);

const USAGE: &str = "the guard is started with SECONDS COMMAND";

/// A trial that is being ended at this moment may still be writing into the folder.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);

/// The message of a process to its janitor before the folder is removed: everything else has ended.
pub const ORDERLY: &[u8] = b"\n";

/// How long children of a killed process may go on: a guard gives its command time, and then ends.
const AFTERMATH: Duration = GRACE.saturating_add(Duration::from_secs(2));

/// The events that the guard waits for.
enum News {
    /// The command has ended.
    Exited(io::Result<ExitStatus>),
    /// Our standard input is closed: the command is not needed any more.
    Abandoned,
}

/// Runs a command to its end, or to that of standard input, which is handed on to it. All that it started is
/// killed then. The words are the time of grace in seconds, the program and its arguments.
///
/// # Errors
/// How the command ended, unless it was well, as a text.
pub fn guard(words: &[&str]) -> Result<(), String> {
    let [grace, program, arguments @ ..] = words else { return Err(USAGE.to_owned()) };
    let grace = Duration::from_secs(grace.parse().map_err(|_| USAGE.to_owned())?);
    sys::process::adopt_orphans();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    sys::process::lead_group(&mut command);
    let mut child = command.spawn().map_err(|error| format!("cannot start {program}: {error}"))?;
    let group = child.id();
    let stdin = child.stdin.take();
    let (sender, receiver) = channel();
    let tell_end = sender.clone();
    let listening = hand_on(stdin, sender).and_then(|()| {
        Builder::new().spawn(move || {
            let _ = tell_end.send(News::Exited(child.wait()));
        })
    });
    let ended = match listening.map(|_| receiver.recv()) {
        Ok(Ok(News::Exited(status))) => Some(status),
        // Without its standard input the agent ends by itself, and the command with it.
        Ok(Ok(News::Abandoned)) => match receiver.recv_timeout(grace) {
            Ok(News::Exited(status)) => Some(status),
            _ => None,
        },
        _ => None,
    };
    // Where orphans cannot be adopted, only the process group is known.
    sys::process::kill_group(group);
    let _ = sys::process::kill_descendants();
    match ended {
        Some(Ok(status)) if status.success() => Ok(()),
        Some(Ok(status)) => Err(format!("{program}: {}", sys::process::ending(status))),
        Some(Err(error)) => Err(format!("cannot wait for {program}: {error}")),
        None => Err(format!("{program} did not end by itself and was killed")),
    }
}

/// Hands standard input on to the command, until it ends. A command that does not read delays nothing: the
/// end of our input is noticed all the same.
fn hand_on(to: Option<ChildStdin>, sender: Sender<News>) -> io::Result<()> {
    let Some(to) = to else { return Ok(()) };
    let to = pipe::writer(to)?;
    let hand_on = move |bytes: &[u8]| {
        // The command may have closed its input; the guard goes on until its own input ends.
        let _ = to.send(pipe::whole(bytes.to_vec()));
        true
    };
    let reader = pipe::reader(io::stdin(), hand_on)?;
    Builder::new().spawn(move || {
        let _ = reader.join();
        let _ = sender.send(News::Abandoned);
    })?;
    Ok(())
}

/// Removes a folder, and the kernel objects whose names it has, when standard input ends, which happens when
/// the process that holds the other end has ended in any way: a killed process cannot clean up after itself.
/// Unless that process has written [`ORDERLY`] before, its children may still make the folder again, so the
/// folder is watched for a while.
///
/// # Errors
/// Those of unlink(2) and rmdir(2), when they last.
pub fn janitor(folder: &Path) -> io::Result<()> {
    let anchor = Anchor::new(folder);
    let mut stdin = io::stdin().lock();
    let (mut sink, mut is_orderly) = ([0_u8; 64], false);
    while matches!(stdin.read(&mut sink), Ok(1..)) {
        is_orderly = true;
    }
    let mut objects = sys::persistent::PersistentCleaner::new(folder);
    let mut remove = || {
        objects.remove();
        let anchored = anchor.as_ref().map_or(Ok(()), |anchor| remove_folder(&anchor.path));
        anchored.and(remove_folder(folder))
    };
    let begun = Instant::now();
    loop {
        remove()?;
        if is_orderly || begun.elapsed() > AFTERMATH {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
}

/// Removes a folder with all that is in it.
///
/// # Errors
/// Those of unlink(2) and rmdir(2), when they last.
pub(crate) fn remove_folder(folder: &Path) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match std::fs::remove_dir_all(folder) {
            Ok(()) => return Ok(()),
            Err(_) if !folder.exists() => return Ok(()),
            Err(_) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
}

/// The way to a folder through a descriptor of its parent: it still leads there when the file system was
/// unmounted lazily and another one lies behind the path.
#[derive(Debug)]
struct Anchor {
    path: PathBuf,
    /// Open as long as the path is used.
    _parent: File,
}

impl Anchor {
    /// On systems without such ways it leads nowhere.
    fn new(folder: &Path) -> Option<Anchor> {
        let parent = File::open(folder.parent()?).ok()?;
        let number = cfg_select! {
            unix => { std::os::fd::AsRawFd::as_raw_fd(&parent) }
            _ => { -1 }
        };
        let path = Path::new("/proc/self/fd").join(number.to_string()).join(folder.file_name()?);
        Some(Anchor { path, _parent: parent })
    }
}
