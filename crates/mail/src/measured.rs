//! The counts of an engine, and the time of each step of its deliveries.

use net::Error;
use net::load::Times;
use serde::{Deserialize, Serialize};

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
