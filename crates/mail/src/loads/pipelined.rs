//! Test deliveries per second over simultaneous connections, all commands back to back.
//!
//! **Question.** How many envelopes per second can one thread have checked over n connections at once, when
//! it does not wait for each reply? How much of the cost of `mail-lockstep` is the waiting?
//!
//! **Method.** That of `mail-lockstep`, with a connection for 50 test deliveries, which `--set deliveries=N`
//! changes: after EHLO the engine sends MAIL, RCPT and RSET for all of them, 50 at most, in one piece, as RFC
//! 2920 allows without DATA, and then EHLO, whose reply proves that none is missing. It counts them when all
//! replies have come, so the time of a delivery is that of its batch, and commands that were sent together
//! begin together. The list (`--set domains=N`), the sink, the DNS server, the levels and the checks are the
//! same.
//!
//! **Expected answer.** Throughput and `engine cpu` are flat up to hundreds of connections. One system call
//! moves a hundred commands, so a delivery takes a tenth of the processor time of one in `mail-lockstep` or
//! less, and what is left is the making and parsing of commands. With thousands of connections DNS is the
//! limit: one delivery in 22 waits for it, the engine has 100 queries under way at most, and connections for
//! which there are less than 50 deliveries at the time cost more for each. The times grow linearly with n.
//! The event interfaces hardly differ, because a wait is shared by thousands of commands; select(2) stops at
//! `FD_SETSIZE`.

use workload::{Trial, TrialError, Workload};

use super::measured::{self, MeasuredMode};
use super::{DOMAINS, MESSAGE_BYTES, MODE, TEST_OPERATIONS, TEST_STEPS, deliveries};
use crate::Mode;

pub(super) const WORKLOAD: Workload = Workload {
    name: "mail-pipelined",
    source: workload::page!("pipelined.rs"),
    settings: &[deliveries("50"), DOMAINS],
    operations: &TEST_OPERATIONS,
    run: Ok(run),
    ..MODE
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let (steps, message_bytes) = (&TEST_STEPS, MESSAGE_BYTES);
    measured::run(trial, &MeasuredMode { mode: Mode::TestPipelined, steps, message_bytes })
}
