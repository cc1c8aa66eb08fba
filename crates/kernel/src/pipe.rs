//! Cost of one more pipe while n are open.
//!
//! **Question.** What do pipe(2), a byte through one of n pipes, and close(2) cost? Servers have a pipe or a
//! pair of sockets for each child, and shells one for each stage.
//!
//! **Method.** Pipes, pairs of stream sockets, or pipes with names are opened and kept, each call timed; of
//! the last, mkfifo(3) in a folder of the trial, 1 000 per folder, and the open(2) of both ends are timed
//! apart. After each, a byte goes through one of them, chosen at random: one write(2) and one read(2), timed
//! together. At the end both ends are closed in random order. Where one process cannot hold as many, helpers
//! hold their part.
//!
//! **Expected answer.** Flat. A user without privileges has pipes of 16 pages until `fs.pipe-user-pages-soft`
//! is reached, and pipes of 2 pages from there on, which are cheaper to create (pipe(7), fs/pipe.c): a step
//! down. mkfifo(3) is the work of the file system: ext4 searches for an inode that was not deleted within the
//! last five seconds (`recently_deleted` in fs/ext4/ialloc.c), so it grows while the trial before is recent.

use workload::resource::{DESCRIPTORS, INODES, MEMORY, PIPE_PAGES};
use workload::{Expect, Need, Operation, Variant, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "pipe",
    source: workload::page!("pipe.rs"),
    grows: "open pipes",
    variants: &[
        Variant { name: "pipe", summary: "pipe(2)" },
        Variant { name: "socketpair", summary: "socketpair(2), stream sockets" },
        Variant { name: "fifo", summary: "pipes with names, mkfifo(3)" },
    ],
    operations: &[
        Operation::up("create", Expect::Constant, "one pipe(2), socketpair(2) or mkfifo(3)"),
        Operation::up("open", Expect::Constant, "one open(2) for each end of the named pipe").only(&["fifo"]),
        Operation::up("byte", Expect::Constant, "one write(2) and one read(2) of a byte"),
        Operation::down("close", Expect::Constant, "one close(2) of each end, in random order"),
    ],
    // Two pages of a pipe stay with it after they were read.
    needs: &[
        Need::new(DESCRIPTORS, 2),
        Need::new(PIPE_PAGES, 2).only_in(&["pipe", "fifo"]),
        Need::new(INODES, 1).only_in(&["fifo"]),
        Need::new(MEMORY, 12 << 10),
    ],
    helpers: true,
    run: on_unix!(measured::run, "pipes with two plain ends exist on Unix only"),
    ..Workload::CURVE
};

#[cfg(unix)]
mod measured {
    use std::io;

    use sys::channel::{Channel, make_named_pipe};
    use sys::file::Path;
    use workload::{Trial, TrialError};

    const PER_FOLDER: usize = 1000;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let is_named = trial.variant() == "fifo";
        let create = if trial.variant() == "pipe" { Channel::pipe } else { Channel::socket_pair };
        let folder = trial.own_folder()?;
        let paths = if is_named { paths(folder.path(), trial.n()) } else { Ok(Vec::new()) };
        let paths = paths.map_err(TrialError::at("to make folders for the pipes"))?;
        let mut choice = fastrand::Rng::with_seed(trial.seed());
        let (mut channels, mut wrong): (Vec<Channel>, usize) = (Vec::with_capacity(trial.n()), 0);
        if !is_named {
            trial.warm(|| create()?.close());
        }
        let names: &[&str] = if is_named { &["create", "open", "byte"] } else { &["create", "byte"] };
        let kept = trial.compact_steps(names, |n, lap| {
            let channel = if is_named {
                make_named_pipe(&paths[n])?;
                lap.mark();
                Channel::named(&paths[n])
            } else {
                create()
            }?;
            lap.mark();
            channels.push(channel);
            let (chosen, byte) = (&channels[choice.usize(..channels.len())], choice.u8(..));
            lap.skip();
            let arrived = chosen.pass(byte)?;
            lap.mark();
            wrong += usize::from(arrived != byte);
            Ok(())
        })?;
        trial.check("every byte arrived", wrong == 0);
        // One may have been opened that could not be used.
        channels.truncate(kept.len());
        let channels = trial.shuffled(channels);
        trial.compact_down("close", channels, Channel::close)
    }

    /// The names of the pipes, in folders that exist.
    fn paths(root: &std::path::Path, count: usize) -> io::Result<Vec<Path>> {
        let path = |number: usize| {
            let folder = root.join((number / PER_FOLDER).to_string());
            if number.is_multiple_of(PER_FOLDER) {
                std::fs::create_dir(&folder)?;
            }
            Path::try_from(folder.join(number.to_string()).as_path())
        };
        (0..count).map(path).collect()
    }
}
