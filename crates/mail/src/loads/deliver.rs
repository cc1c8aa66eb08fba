//! Messages delivered per second over simultaneous connections.
//!
//! **Question.** How many messages per second can one thread deliver over n connections at once, and how long
//! does each step take, when the message is really sent?
//!
//! **Method.** That of `mail-lockstep`, with the message: the engine sends MAIL, RCPT and DATA together, as
//! RFC 2920 allows, then, after the go-ahead, a message of 1 000 bytes (`--set bytes=N`), and QUIT after it
//! was accepted. The message is held in memory once; only its `Message-ID` is made for each recipient. A
//! connection is for one message; `--set deliveries=N` uses it for N. The sink reads the message to its dot
//! and drops it. The list (`--set domains=N`), the DNS server, the levels and the checks are the same. 99 %
//! of the messages do not exceed `data p99`, the time to the go-ahead, and `message p99`, that from the
//! message to its acceptance.
//!
//! **Expected answer.** Flat throughput and `engine cpu`, and times that grow linearly with n, as in
//! `mail-lockstep`. Three commands in one piece save two of its waits, and the message adds one, so a small
//! message costs no more than the test of its address. Larger ones cost the time to copy them as well.
//! select(2) stops at `FD_SETSIZE`.

use workload::{Operation, Trial, TrialError, Workload};

use super::measured::{self, MeasuredMode};
use super::{BYTES, DOMAINS, MODE, deliveries, operations};
use crate::Mode;
use crate::context::MailStep::{self, Banner, Connect, Data, Dns, Ehlo, Mail, Message, Quit, Rcpt};

const STEPS: [MailStep; 9] = [Dns, Connect, Banner, Ehlo, Mail, Rcpt, Data, Message, Quit];
const OPERATIONS: [Operation; 14] = operations(&STEPS);

pub(super) const WORKLOAD: Workload = Workload {
    name: "mail-deliver",
    source: workload::page!("deliver.rs"),
    settings: &[deliveries("1"), DOMAINS, BYTES],
    operations: &OPERATIONS,
    run: Ok(run),
    ..MODE
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let message_bytes = trial.number("bytes")? as usize;
    measured::run(trial, &MeasuredMode { mode: Mode::Deliver, steps: &STEPS, message_bytes })
}
