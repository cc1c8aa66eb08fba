//! Cost of one more pseudo-terminal while n are open.
//!
//! **Question.** What does a terminal cost when n are open: to open both sides, to pass a line, and to close
//! it? Each login by sshd(8), each window and each job of a build service has one.
//!
//! **Method.** Both sides are opened, each timed: posix_openpt(3), which makes the terminal and its name
//! below /dev/pts, and unlockpt(3) with `TIOCGPTPEER`. After each, a line goes through one of them, chosen at
//! random, from the controlling side to the terminal, and is read there, both together timed: on Linux a
//! thread of the kernel passes it on. Lines are not echoed. At the end both sides are closed in random order.
//!
//! **Expected answer.** Flat: numbers are found in a tree of radix (fs/devpts/inode.c). The limit is
//! `kernel.pty.max`, 4 096 on most systems, less `kernel.pty.reserve`.

use workload::resource::{DESCRIPTORS, MEMORY, TERMINALS};
use workload::{Expect, Need, Operation, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "terminal",
    source: workload::page!("terminal.rs"),
    grows: "open pseudo-terminals",
    operations: &[
        Operation::up("create", Expect::Constant, "one posix_openpt(3)"),
        Operation::up("open", Expect::Constant, "unlockpt(3), and ioctl_tty(2) that opens the terminal"),
        Operation::up("line", Expect::Constant, "a line is written at one side and read at the other"),
        Operation::down("close", Expect::Constant, "one close(2) of each side, in random order"),
    ],
    needs: &[Need::new(DESCRIPTORS, 2), Need::new(TERMINALS, 1), Need::new(MEMORY, 64 << 10)],
    helpers: true,
    run: on_linux!(measured::run, "the other side of a terminal is opened without its name on Linux only"),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use sys::terminal::{PseudoTerminal, TerminalController};
    use workload::{Trial, TrialError};

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let mut choice = fastrand::Rng::with_seed(trial.seed());
        let (mut terminals, mut wrong): (Vec<PseudoTerminal>, usize) = (Vec::with_capacity(trial.n()), 0);
        trial.warm(|| TerminalController::open()?.open_terminal()?.close());
        let kept = trial.compact_steps(&["create", "open", "line"], |n, lap| {
            let controller = TerminalController::open()?;
            lap.mark();
            let terminal = controller.open_terminal()?;
            lap.mark();
            terminal.without_echo()?;
            terminals.push(terminal);
            let chosen = &terminals[choice.usize(..terminals.len())];
            let (line, mut buffer) = (format!("line {n}\n"), [0; 64]);
            lap.skip();
            let read = chosen.pass(line.as_bytes(), &mut buffer)?;
            lap.mark();
            wrong += usize::from(read != line.as_bytes());
            lap.skip();
            Ok(())
        })?;
        trial.check("every line arrived", wrong == 0);
        terminals.truncate(kept.len());
        let terminals = trial.shuffled(terminals);
        trial.compact_down("close", terminals, PseudoTerminal::close)
    }
}
