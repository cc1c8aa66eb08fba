//! The context that all connections of an engine share: the queue, the counts, and the destination of
//! results.

use std::io;
use std::net::SocketAddr;

use crate::measured::{MailMeasured, MailStep};
use crate::queue::{Queue, Transaction};
use crate::result::{DeliveryEnding, DeliveryResult, RESULTS_VERSION, Results};
use crate::transaction::{Acceptance, Refusal};

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

    /// The number of another message.
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
