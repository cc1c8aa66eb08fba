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

use workload::{Operation, Sizes, Trial, TrialError, Workload};

use super::measured::{self, MeasuredMode};
use super::series::{self, CORE_VARIANTS, CPU, P50, P99, P999, THROUGHPUT, VARIANTS, sizes, step};
use crate::Mode;
use crate::measured::MailStep::{self, Banner, Connect, Dns, Ehlo, Mail, Quit, Rcpt, Rset};

const STEPS: [MailStep; 8] = [Dns, Connect, Banner, Ehlo, Mail, Rcpt, Rset, Quit];

const OPERATIONS: [Operation; 13] = [
    THROUGHPUT,
    CPU,
    P50,
    P99,
    P999,
    step(Dns),
    step(Connect),
    step(Banner),
    step(Ehlo),
    step(Mail),
    step(Rcpt),
    step(Rset),
    step(Quit),
];

pub(super) const WORKLOAD: Workload = Workload {
    name: "mail-pipelined",
    source: include_str!("pipelined.rs"),
    grows: "simultaneous connections",
    sizes: Sizes::Levels(sizes),
    warms_up: false,
    variants: VARIANTS,
    rivals: true,
    core_variants: CORE_VARIANTS,
    settings: &[series::deliveries("50"), series::DOMAINS],
    operations: &OPERATIONS,
    needs: &series::NEEDS,
    classic_n: 2500,
    run: Ok(run),
    ..Workload::LOAD
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let plan =
        MeasuredMode { mode: Mode::TestPipelined, steps: &STEPS, message_bytes: series::MESSAGE_BYTES };
    measured::run(trial, &plan)
}
