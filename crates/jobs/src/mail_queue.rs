//! Time to take a message through a mail queue while n writers do the same.
//!
//! **Question.** How long does a mail server need to put a message safely into its queue, deliver and remove
//! it, and how many messages per second do n writers achieve together? A file system may serve them one by
//! one, or write the data of several in one go.
//!
//! **Method.** Each of n threads takes one message after the other through one shared queue, until the window
//! of time ends: it creates a file in the folder `incoming`, appends the message, calls fsync(2), closes it,
//! renames it into the folder `active`, reads it back and removes it. `message` is all of that, `rate` the
//! messages per second of all writers. Each call is timed; the value is the mean, and the record has the
//! distribution of each call. A message has `--set bytes=COUNT` (4096) of random content, different in each,
//! and is compared when it is read. The writers use all processors. The queue is in the scratch folder of
//! the run: `--scratch DIR` puts it on another file system.
//!
//! **Expected answer.** With one writer, fsync(2) takes most of the time. With more of them, the time of each
//! message grows at most in proportion to n, and the rate grows as far as the file system writes several
//! messages together.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sys::file;
use workload::resource::{DESCRIPTORS, DISK, INODES, MEMORY, THREADS};
use workload::{Expect, Need, Operation, Setting, Sizes, Trial, TrialError, Unit, Values, Workload, levels};

use crate::work::{Calls, Content, Refused, at_once};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "mail-queue",
    source: workload::page!("mail_queue.rs"),
    grows: "writers",
    sizes: Sizes::Levels(levels::one_two_five),
    all_processors: true,
    settings: &[Setting {
        name: "bytes",
        default: "4096",
        values: Values::Number { least: 16, most: 16 << 20 },
        summary: "bytes of a message",
    }],
    operations: &[
        Operation::phase("message", Expect::Linear, "one message, from its creation to its removal"),
        Operation::reported("rate", Unit::PerSecond, Expect::Any, "messages per second of all writers"),
        Operation::phase("create", Expect::Any, "one open(2) that creates the file").of_unit(),
        Operation::phase("append", Expect::Any, "one write(2) of the whole message").of_unit(),
        Operation::phase("fsync", Expect::Linear, "one fsync(2) of the file, which is then closed").of_unit(),
        Operation::phase("rename", Expect::Any, "one rename(2) from one folder into the other").of_unit(),
        Operation::phase("read", Expect::Any, "open(2), read(2) of the whole message, close(2)").of_unit(),
        Operation::phase("unlink", Expect::Any, "one unlink(2)").of_unit(),
    ],
    // A stack of a thread as far as it is used, and the histograms of its calls.
    needs: &[
        Need::new(DESCRIPTORS, 1),
        Need::new(THREADS, 1),
        Need::new(MEMORY, 2 << 20),
        Need::new(DISK, 64 << 10),
        Need::new(INODES, 1),
    ],
    top: Some(100),
    classic_n: 10,
    run: Ok(run),
    ..Workload::JOB
};

const CALLS: [&str; 6] = ["create", "append", "fsync", "rename", "read", "unlink"];

const CLAIM_CONTENT: &str = "every message was read as it was written";
const CLAIM_EMPTY: &str = "the queue was empty in the end";

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let queue = Queue::below(trial.scratch());
    // A trial that was killed may have left it.
    let _ = fs::remove_dir_all(&queue.folder);
    let bytes = trial.number("bytes")? as usize;
    let (window, clock, seed) = (trial.window(), trial.clock(), trial.seed());
    let outcome = trial.job(|writers, job| {
        queue.create()?;
        let make = |number: u64| -> io::Result<Writer<'_>> {
            Ok(Writer {
                number,
                queue: &queue,
                bytes,
                content: Content::new(seed ^ number, bytes),
                calls: Calls::new(clock, &CALLS)?,
                messages: 0,
                all_equal: true,
            })
        };
        let mut all = (0..writers).map(make).collect::<io::Result<Vec<_>>>()?;
        let begun = Instant::now();
        let ended = at_once(&mut all, |writer, is_stopped| writer.work(begun + window, is_stopped));
        let elapsed = begun.elapsed();
        if let Err(refused) = ended {
            job.level().doing(refused.operation);
            return Err(refused.error);
        }
        let mut calls = Calls::new(clock, &CALLS)?;
        all.iter().for_each(|writer| calls.add_all(&writer.calls));
        calls.report(job);
        let messages: u64 = all.iter().map(|writer| writer.messages).sum();
        job.value("message", CALLS.iter().map(|name| calls.mean_seconds(name)).sum());
        job.value("rate", rate(messages, elapsed));
        job.level().check(CLAIM_CONTENT, all.iter().all(|writer| writer.all_equal));
        job.level().check(CLAIM_EMPTY, queue.is_empty()?);
        queue.remove()
    });
    // Remains of a level that was refused; the error is that of the level.
    let _ = fs::remove_dir_all(&queue.folder);
    outcome
}

fn rate(messages: u64, elapsed: Duration) -> f64 {
    messages as f64 / elapsed.as_secs_f64()
}

struct Queue {
    folder: PathBuf,
    incoming: PathBuf,
    active: PathBuf,
}

impl Queue {
    fn below(scratch: &Path) -> Queue {
        let folder = scratch.join("mail-queue");
        Queue { incoming: folder.join("incoming"), active: folder.join("active"), folder }
    }

    fn create(&self) -> io::Result<()> {
        fs::create_dir_all(&self.incoming)?;
        fs::create_dir_all(&self.active)
    }

    fn is_empty(&self) -> io::Result<bool> {
        let count = |folder: &Path| Ok::<usize, io::Error>(fs::read_dir(folder)?.count());
        Ok(count(&self.incoming)? + count(&self.active)? == 0)
    }

    /// Removes it, and waits for the disk, which must be idle when the next level is timed.
    fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.folder)?;
        self.folder.parent().map_or(Ok(()), file::write_back)
    }
}

/// One writer with its own content and its own figures.
struct Writer<'a> {
    number: u64,
    queue: &'a Queue,
    bytes: usize,
    content: Content,
    calls: Calls<'a>,
    messages: u64,
    all_equal: bool,
}

impl Writer<'_> {
    /// Messages until the deadline, one at least.
    fn work(&mut self, deadline: Instant, is_stopped: &dyn Fn() -> bool) -> Result<(), Refused> {
        loop {
            self.message()?;
            self.messages += 1;
            if is_stopped() || Instant::now() >= deadline {
                return Ok(());
            }
        }
    }

    fn message(&mut self) -> Result<(), Refused> {
        let number = self.number << 40 | self.messages;
        let name = format!("{:x}-{:x}", self.number, self.messages);
        let path = |folder: &Path| file::Path::try_from(folder.join(&name).as_path());
        let incoming = path(&self.queue.incoming).map_err(Refused::at("create"))?;
        let active = path(&self.queue.active).map_err(Refused::at("create"))?;
        let calls = &mut self.calls;
        let content = self.content.bytes(number, self.bytes);

        calls.begin();
        let mut written = file::create_new(&incoming).map_err(Refused::at("create"))?;
        calls.end("create");
        written.write_all(content).map_err(Refused::at("append"))?;
        calls.end("append");
        written.sync_all().and_then(|()| file::close(written)).map_err(Refused::at("fsync"))?;
        calls.end("fsync");
        file::rename(&incoming, &active).map_err(Refused::at("rename"))?;
        calls.end("rename");
        let buffer = &mut self.content.buffer()[..self.bytes];
        let mut read = file::open_read(&active).map_err(Refused::at("read"))?;
        read.read_exact(buffer).and_then(|()| file::close(read)).map_err(Refused::at("read"))?;
        calls.end("read");
        // Not part of a message: the comparison is not timed.
        self.all_equal &= self.content.verify(number, self.bytes).is_ok();
        calls.begin();
        file::unlink(&active).map_err(Refused::at("unlink"))?;
        calls.end("unlink");
        Ok(())
    }
}
