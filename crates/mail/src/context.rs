//! The context that all connections of an engine share: the queue, the counts and times, and the destination
//! of results, which are the outcome of each recipient (`docs/mail.md` has the fields of their lines of
//! JSON).

use std::io::{self, Write};
use std::net::SocketAddr;

use net::Error;
use net::load::Times;
use serde::{Deserialize, Serialize};

use crate::queue::{Queue, Transaction};
use crate::session::{Acceptance, Refusal};

/// The queue with its ledger. Every recipient that ends does so here.
pub(crate) struct DeliveryContext<'list, R> {
    pub(crate) queue: Queue<'list>,
    pub(crate) measured: MailMeasured,
    pub(crate) results: R,
    /// The time of the engine's clock at its last wait.
    pub(crate) now_ns: u64,
    /// The number of the next message, and how far apart numbers are: no two engines of a list have the same.
    pub(crate) message_id: u64,
    pub(crate) message_id_step: u64,
    /// No transaction begins any more.
    pub(crate) is_stopping: bool,
    /// A result could not be written: the engine must stop, because it would lose the outcome of later
    /// recipients.
    pub(crate) broken: Option<io::Error>,
}

/// The reply that decided how a recipient ended.
#[derive(Clone, Copy)]
enum Cause<'a> {
    /// A server, with the code and the text of its reply.
    Reply(u16, &'a str),
    /// The engine, for this reason.
    Own(&'a str),
}

impl<R> DeliveryContext<'_, R> {
    pub(crate) fn now_ms(&self) -> u64 {
        self.now_ns / 1_000_000
    }

    pub(crate) fn took(&mut self, step: MailStep, from_ns: u64) {
        self.measured.took(step, self.now_ns.saturating_sub(from_ns));
    }

    /// Another transaction for a connection to that host.
    pub(crate) fn next_transaction(&mut self, host: u32) -> Option<Transaction> {
        if self.is_stopping { None } else { self.queue.take_for(host) }
    }

    pub(crate) fn next_message_id(&mut self) -> u64 {
        let id = self.message_id;
        self.message_id += self.message_id_step;
        id
    }
}

impl<R: Results> DeliveryContext<'_, R> {
    /// The server took it: the message, or in test mode the address.
    pub(crate) fn accepted(
        &mut self,
        recipient: u32,
        host: u32,
        ending: DeliveryEnding,
        by: &Acceptance,
        from_ns: u64,
    ) {
        self.took(MailStep::Delivery, from_ns);
        match ending {
            DeliveryEnding::Tested => self.measured.counts.tested += 1,
            _ => self.measured.counts.delivered += 1,
        }
        self.queue.ended();
        self.put(recipient, ending, 1, Cause::Reply(by.code, &by.text), Some(self.queue.address(host)));
    }

    /// The server refused it, for now or for ever.
    pub(crate) fn refused(&mut self, recipient: u32, host: u32, refusal: &Refusal) {
        let exchanger = Some(self.queue.address(host));
        let cause =
            refusal.code.map_or(Cause::Own(&refusal.reason), |code| Cause::Reply(code, &refusal.reason));
        if refusal.is_permanent {
            self.measured.counts.failed += 1;
            self.queue.ended();
            self.put(recipient, DeliveryEnding::Failed, 1, cause, exchanger);
        } else if self.queue.retry(recipient, self.now_ms()) {
            self.measured.counts.deferred += 1;
        } else {
            // The queue has counted this attempt.
            self.measured.counts.queued += 1;
            self.put(recipient, DeliveryEnding::Queued, 0, cause, exchanger);
        }
    }

    /// There was no attempt for it: it waits for another connection.
    pub(crate) fn give_back(&mut self, recipient: u32, reason: &str) {
        if !self.queue.give_back(recipient) {
            self.end_waiting([recipient], DeliveryEnding::Queued, reason);
        }
    }

    /// These recipients, which the queue has let go, end without an attempt.
    pub(crate) fn end_waiting(
        &mut self,
        recipients: impl IntoIterator<Item = u32>,
        ending: DeliveryEnding,
        reason: &str,
    ) {
        for recipient in recipients {
            match ending {
                DeliveryEnding::Failed => self.measured.counts.failed += 1,
                _ => self.measured.counts.queued += 1,
            }
            self.put(recipient, ending, 0, Cause::Own(reason), None);
        }
    }

    /// No host of the domain can be reached, or it has none, for now.
    pub(crate) fn domain_failed(&mut self, domain: u32, reason: &str) {
        let given_up = self.queue.domain_failed(domain, self.now_ms());
        self.end_waiting(given_up, DeliveryEnding::Queued, reason);
    }

    /// The domain takes no mail, whenever it is asked.
    pub(crate) fn domain_refused(&mut self, domain: u32, reason: &str) {
        let waiting = self.queue.drain(domain);
        self.end_waiting(waiting, DeliveryEnding::Failed, reason);
    }

    /// A connection failed before anything was delivered over it, or the server sent it away.
    pub(crate) fn host_failed(&mut self, host: u32, domain: u32, reason: &str) {
        let given_up = self.queue.host_failed(host, domain, self.now_ms());
        self.end_waiting(given_up, DeliveryEnding::Queued, reason);
    }

    fn put(
        &mut self,
        number: u32,
        ending: DeliveryEnding,
        attempts_now: u8,
        cause: Cause<'_>,
        exchanger: Option<SocketAddr>,
    ) {
        let (version, recipients) = (RESULTS_VERSION, self.queue.recipients);
        let recipient = recipients.get(number).map_or("", |recipient| recipient.address);
        let (code, reply, reason) = match cause {
            Cause::Reply(code, reply) => (Some(code), reply, ""),
            Cause::Own(reason) => (None, "", reason),
        };
        let attempts = self.queue.attempts(number).saturating_add(attempts_now);
        let result =
            DeliveryResult { version, number, recipient, ending, code, reply, reason, exchanger, attempts };
        if let Err(error) = self.results.put(&result) {
            self.broken.get_or_insert(error);
        }
    }
}

/// The version of the lines. A field is added without another; one that changes its meaning takes one.
///
/// Version 1 had `reason` for the text of a reply too, none for accepted recipients, and `delivered` for
/// `tested`.
pub(crate) const RESULTS_VERSION: u32 = 2;

/// How a recipient ended. Each ends in exactly one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryEnding {
    /// The server took the message.
    Delivered,
    /// The server took the address. Test mode sends no message.
    Tested,
    /// It never can be: a reply 5xx, or a domain that takes no mail.
    Failed,
    /// Attempts or time were over: it is still to be delivered.
    Queued,
}

/// The outcome of one recipient.
#[derive(Clone, Debug, Serialize)]
pub struct DeliveryResult<'a> {
    /// The version of the lines; docs/mail.md has the fields of each.
    pub version: u32,
    /// Its place in the list that was given, from 0.
    pub number: u32,
    /// Its address, as it was given.
    pub recipient: &'a str,
    /// How it ended.
    pub ending: DeliveryEnding,
    /// The code of the reply that decided, where it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// The text of that reply.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reply: &'a str,
    /// Why no reply decided.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'a str,
    /// The exchanger of the last attempt, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchanger: Option<SocketAddr>,
    /// Attempts that were made.
    pub attempts: u8,
}

/// The destination of results.
pub trait Results {
    /// Takes a result.
    ///
    /// # Errors
    /// The error of writing: the engine then stops.
    fn put(&mut self, result: &DeliveryResult<'_>) -> io::Result<()>;

    /// The engine is about to wait: results that must survive it are given to the system.
    ///
    /// # Errors
    /// The error of writing: the engine then stops.
    fn turn_ended(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// All results are with the system.
    ///
    /// # Errors
    /// The error of writing.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Only the counts of the engine are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoResults;

impl Results for NoResults {
    fn put(&mut self, _result: &DeliveryResult<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// A line of JSON for each result.
#[derive(Debug)]
pub struct JsonLines<W: Write>(io::BufWriter<W>);

impl<W: Write> JsonLines<W> {
    /// Lines go there, in large pieces.
    pub fn new(writer: W) -> JsonLines<W> {
        JsonLines(io::BufWriter::with_capacity(64 << 10, writer))
    }
}

impl<W: Write> Results for JsonLines<W> {
    fn put(&mut self, result: &DeliveryResult<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, result)?;
        self.0.write_all(b"\n")
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A step of a delivery: from sending a command to the last byte of its reply. Commands that are sent
/// together begin together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MailStep {
    /// The exchangers of a domain and their addresses.
    Dns,
    /// connect(2).
    Connect,
    /// The greeting of the server.
    Banner,
    /// EHLO, or HELO.
    Ehlo,
    /// STARTTLS and the handshake.
    Tls,
    /// MAIL FROM.
    Mail,
    /// RCPT TO.
    Rcpt,
    /// RSET.
    Rset,
    /// DATA, up to its go-ahead.
    Data,
    /// The message, by DATA or BDAT, until it was accepted.
    Message,
    /// QUIT.
    Quit,
    /// All of a delivery, from the moment the engine took the recipient: with a new connection from its
    /// connect(2) on.
    Delivery,
}

impl MailStep {
    /// Every step, in order.
    pub const ALL: [MailStep; 12] = [
        MailStep::Dns,
        MailStep::Connect,
        MailStep::Banner,
        MailStep::Ehlo,
        MailStep::Tls,
        MailStep::Mail,
        MailStep::Rcpt,
        MailStep::Rset,
        MailStep::Data,
        MailStep::Message,
        MailStep::Quit,
        MailStep::Delivery,
    ];

    /// Its name in tables and records.
    pub fn name(self) -> &'static str {
        match self {
            MailStep::Dns => "dns",
            MailStep::Connect => "connect",
            MailStep::Banner => "banner",
            MailStep::Ehlo => "ehlo",
            MailStep::Tls => "tls",
            MailStep::Mail => "mail",
            MailStep::Rcpt => "rcpt",
            MailStep::Rset => "rset",
            MailStep::Data => "data",
            MailStep::Message => "message",
            MailStep::Quit => "quit",
            MailStep::Delivery => "delivery",
        }
    }
}

/// The counts since the engine began, or since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailCounts {
    /// Recipients for which a server took the message.
    pub delivered: u64,
    /// Recipients accepted in test mode.
    #[serde(default)]
    pub tested: u64,
    /// Recipients that can never be delivered to.
    pub failed: u64,
    /// Recipients whose attempts or time were over.
    pub queued: u64,
    /// Attempts that are to be repeated.
    pub deferred: u64,
    /// Connections.
    pub connections: u64,
    /// Connections that speak TLS.
    #[serde(default)]
    pub encrypted: u64,
    /// Connections on which TLS began and failed.
    #[serde(default)]
    pub not_encrypted: u64,
    /// Connections that could not be made.
    pub not_connected: u64,
    /// Connections that ended or broke amid a transaction.
    pub lost: u64,
    /// Servers that broke the protocol.
    pub faults: u64,
    /// Steps that took too long.
    pub timeouts: u64,
    /// Connections that this machine had no descriptor, port or memory for.
    pub exhausted: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
}

impl MailCounts {
    /// Recipients that a server accepted, with the message or without.
    pub fn accepted(&self) -> u64 {
        self.delivered + self.tested
    }
}

impl std::ops::Add for MailCounts {
    type Output = MailCounts;

    fn add(self, other: MailCounts) -> MailCounts {
        MailCounts {
            delivered: self.delivered + other.delivered,
            tested: self.tested + other.tested,
            failed: self.failed + other.failed,
            queued: self.queued + other.queued,
            deferred: self.deferred + other.deferred,
            connections: self.connections + other.connections,
            encrypted: self.encrypted + other.encrypted,
            not_encrypted: self.not_encrypted + other.not_encrypted,
            not_connected: self.not_connected + other.not_connected,
            lost: self.lost + other.lost,
            faults: self.faults + other.faults,
            timeouts: self.timeouts + other.timeouts,
            exhausted: self.exhausted + other.exhausted,
            sent_bytes: self.sent_bytes + other.sent_bytes,
            received_bytes: self.received_bytes + other.received_bytes,
        }
    }
}

/// Counts and times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MailMeasured {
    /// The counts.
    pub counts: MailCounts,
    steps: Vec<Times>,
}

impl MailMeasured {
    /// Nothing was measured yet.
    ///
    /// # Errors
    /// None: the bounds of the histograms are sound.
    pub fn new() -> Result<MailMeasured, Error> {
        let steps = MailStep::ALL.iter().map(|_| Times::new()).collect::<Result<_, _>>()?;
        Ok(MailMeasured { counts: MailCounts::default(), steps })
    }

    /// How long a step took, each time.
    pub fn times(&self, step: MailStep) -> &Times {
        &self.steps[step as usize]
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counts = MailCounts::default();
        self.steps.iter_mut().for_each(Times::clear);
    }

    /// Adds the counts and times of another engine.
    pub(crate) fn add(&mut self, other: &MailMeasured) {
        self.counts = self.counts + other.counts;
        for (times, others) in self.steps.iter_mut().zip(&other.steps) {
            times.add(others);
        }
    }

    pub(crate) fn took(&mut self, step: MailStep, elapsed_ns: u64) {
        self.steps[step as usize].record(elapsed_ns);
    }
}
