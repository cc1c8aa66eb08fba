//! Test deliveries per second over simultaneous connections, command by command.
//!
//! **Question.** How many messages per second can one thread deliver, and how long does each step of a
//! delivery take, over n connections at once? Which event interface needs the least processor time for it?
//!
//! **Method.** The experiment of 2001. The engine of `osdyno mail` makes every step of a delivery with RSET
//! in place of DATA: it finds the exchanger of a domain by DNS, connects, reads the greeting, and sends EHLO,
//! MAIL, RCPT, RSET and QUIT, each after the reply to the one before. A connection is for one delivery;
//! `--set deliveries=N` uses it for N. The 200 000 recipients are generated, in 9 113 domains
//! (`--set domains=N`), all in `.test`. When those of a domain are used up they begin anew, and the domain is
//! looked up again; so one delivery in 22 waits for DNS.
//!
//! The sink, `osdyno serve --service smtp`, and the DNS server run in processes of their own, on a processor
//! of their own if there is one; `--server` names a sink elsewhere. First the engine finds every domain. At
//! each n it opens n connections, and opens another one for each that ends. When n connections existed at
//! once, and n deliveries were made, a window of time is measured: at least a thousand deliveries, unless
//! they take longer than a second, and at least twice as long as the first n. `throughput` is the number of
//! deliveries per second. p50, p99 and p999 are the times of a delivery that 50 %, 99 % and 99.9 % do not
//! exceed: from connect(2), or from the taking of the recipient on a connection that is there, to the reply
//! to RSET. `dns p99` to `quit p99` are those of the steps, from sending a command to its reply. A greeting
//! that was there when the engine noticed the connection took no time and is not shown. `engine cpu` is the
//! processor time of the engine for each delivery. At the end the engine, the sink and the DNS server must
//! have counted the same connections and recipients.
//!
//! **Expected answer.** On loopback a sink replies at once, so ten connections keep the engine busy:
//! throughput and `engine cpu` are flat, and the times of deliveries and of steps grow linearly with n,
//! because each waits for all others. In 2001, towards servers across a network, throughput rose with n and
//! gained little past 1 500 connections; the best system made 75 % more deliveries than the worst, and one
//! was short of resources past 2 500. select(2) stops at `FD_SETSIZE`. The sink takes nearly as much
//! processor time as the engine; where it was saturated, the report says *limited by the sink*: the
//! throughput is a lower bound, and `engine cpu` distinguishes the interfaces.

use workload::{Trial, TrialError, Workload};

use super::measured::{self, MeasuredMode};
use super::{DOMAINS, MESSAGE_BYTES, MODE, TEST_OPERATIONS, TEST_STEPS, deliveries};
use crate::Mode;

pub(super) const WORKLOAD: Workload = Workload {
    name: "mail-lockstep",
    source: workload::page!("lockstep.rs"),
    settings: &[deliveries("1"), DOMAINS],
    operations: &TEST_OPERATIONS,
    run: Ok(run),
    ..MODE
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let (steps, message_bytes) = (&TEST_STEPS, MESSAGE_BYTES);
    measured::run(trial, &MeasuredMode { mode: Mode::Test, steps, message_bytes })
}
