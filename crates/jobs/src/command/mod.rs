//! Time and resources of a command of your own, at each level of n.
//!
//! **Question.** How much time, processor time and memory does a command take, how do they grow with n, and
//! which of several commands is fastest?
//!
//! **Method.** `osdyno run command -- './sort data-{n}.txt'`; `{n}` stands for the level, and `{scratch}` for
//! the folder for files. The command is executed without a shell, unless `--shell` is given, in a process
//! group of its own, without a terminal, in the current folder. Its standard input is empty or the file of
//! `--stdin`; its standard output is a pipe that is drained. `time` begins right before its process is made
//! and lasts until the end of the process is known; user and system time, peak memory, faults and switches
//! come from wait4(2), read and written bytes from proc_pid_io(5), each with those of the children that the
//! command waited for. One trial is one execution; a command that takes less than 100 ms is executed once, by
//! fork(2), to know its peak memory and how often to repeat it, and then by posix_spawn(3) so often that all
//! of it takes 100 ms; the other values are the means of these. `start` is `true`, executed ten times in
//! between in the same way: the cost of starting a program. It is not subtracted. Each execution must end
//! with the exit status of `--expect-exit`; with `--same-output` all executions of a run must print the same.
//! Processes that a command leaves running are killed.
//!
//! Peaks of memory below 1 MB may be those of the process that executes the command. The record has the
//! options of `osdyno run` as settings: `--set command=TEXT`, `--set shell=yes`, `--set expect-exit=1`,
//! `--set same-output=yes`, `--set prepare=TEXT`, `--set cleanup=TEXT`, `--set stdin=FILE`,
//! `--set warm-up=3`.
//!
//! **Expected answer.** None: it is your command.

use workload::{Expect, Operation, Setting, Unit, Values, Workload};

#[cfg(unix)]
mod execute;
#[cfg(unix)]
mod measure;

/// The setting of a command that is not given.
const NONE: &str = "none";

pub(crate) const WORKLOAD: Workload = Workload {
    name: "command",
    source: workload::page!("mod.rs"),
    grows: "n",
    // The command decides how many processors it uses.
    all_processors: true,
    rivals: true,
    is_own: true,
    settings: &[
        Setting {
            name: "command",
            default: "true",
            values: Values::Text("a command"),
            summary: "the command to execute",
        },
        Setting {
            name: "shell",
            default: "no",
            values: Values::OneOf(&["no", "yes"]),
            summary: "whether sh(1) executes it",
        },
        Setting {
            name: "expect-exit",
            default: "0",
            values: Values::Text("an exit status, or any"),
            summary: "the exit status that each execution must have",
        },
        Setting {
            name: "same-output",
            default: "no",
            values: Values::OneOf(&["no", "yes"]),
            summary: "whether all executions of a level must print the same",
        },
        Setting {
            name: "prepare",
            default: NONE,
            values: Values::Text("a command of sh(1), or none"),
            summary: "executed before each execution, untimed",
        },
        Setting {
            name: "cleanup",
            default: NONE,
            values: Values::Text("a command of sh(1), or none"),
            summary: "executed after each execution, untimed",
        },
        Setting {
            name: "stdin",
            default: NONE,
            values: Values::WordOrFile(NONE),
            summary: "the file that is standard input",
        },
        Setting {
            name: "warm-up",
            default: "0",
            values: Values::Number { least: 0, most: 1000 },
            summary: "executions before those that are timed, in each trial",
        },
    ],
    operations: &[
        Operation::phase("time", Expect::Any, "from right before the command is started to its end"),
        Operation::phase("start", Expect::Any, "the same of `true`, started in the same way").companion(),
        Operation::phase("user time", Expect::Any, "processor time in user mode").companion(),
        Operation::phase("system time", Expect::Any, "processor time in the kernel").companion(),
        Operation::reported("peak memory", Unit::Bytes, Expect::Any, "the most resident in one process")
            .companion(),
        Operation::reported("faults", Unit::None, Expect::Any, "page faults").companion(),
        Operation::reported("switches", Unit::None, Expect::Any, "context switches").companion(),
        Operation::reported("read", Unit::Bytes, Expect::Any, "bytes of read(2) and its kin").companion(),
        Operation::reported("written", Unit::Bytes, Expect::Any, "bytes of write(2) and its kin").companion(),
    ],
    top: Some(1),
    run: cfg_select! {
        unix => { Ok(measure::run) }
        _ => { Err("commands are executed on Unix only, as far as is written") }
    },
    ..Workload::JOB
};
