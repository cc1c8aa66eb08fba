//! The client's side of one SMTP connection (RFC 5321), without a socket and without a clock.
//!
//! A session begins with the transaction for which its connection was made, asks for further ones, and ends
//! with QUIT. Lock-step, every command waits for the reply to the one before. Pipelined (RFC 2920), the
//! commands of a batch are sent together, with EHLO at their end, whose reply is like no other: if it comes
//! in its place, none was lost and none was too many, and the results of the batch count.

mod reply;

pub(crate) use reply::{Acceptance, Refusal};

use std::collections::VecDeque;
use std::sync::Arc;

use net::output::Output;
use net::smtp::{Command, Extensions, Mailbox, Reply, ReplyParser};
use reply::{Answer, Fault, InFlight};

use crate::connection::TlsPolicy;
use crate::context::{DeliveryContext, DeliveryEnding, MailStep, Results};
use crate::queue::Transaction;
use crate::settings::{Mode, SessionSettings};

/// The next step of the connection once the output has left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Wait for more input.
    Wait,
    /// Begin TLS, and call [`Session::on_tls`] when it is there.
    StartTls,
    /// Close: all is done.
    Close,
    /// Close: the server wants no more of this client for now.
    SentAway(String),
}

#[derive(Clone, Copy, Debug)]
struct Expected {
    step: MailStep,
    sent_ns: u64,
    /// Which transaction of the batch, and which recipient of it.
    transaction: u16,
    recipient: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Until the server has said which extensions it has.
    Greeting,
    Ready,
    Quitting,
}

/// One connection's side.
#[derive(Debug)]
pub(crate) struct Session {
    settings: Arc<SessionSettings>,
    host: u32,
    /// Off once it is there.
    tls: TlsPolicy,
    /// Transactions that are sent together, at most.
    batch_max: usize,
    stage: Stage,
    has_said_helo: bool,
    parser: ReplyParser,
    extensions: Extensions,
    expected: VecDeque<Expected>,
    /// Taken, and nothing of it sent.
    next: Option<InFlight>,
    batch: Vec<InFlight>,
    /// Recipients for which this connection may still be used.
    left: u32,
    has_delivered: bool,
}

impl Session {
    /// A session for a connection that is being made to the host, for that transaction.
    pub(crate) fn new(
        settings: Arc<SessionSettings>,
        host: u32,
        tls: TlsPolicy,
        batch_max: usize,
        first: Transaction,
        now_ns: u64,
    ) -> Session {
        Session {
            host,
            tls,
            batch_max,
            stage: Stage::Greeting,
            has_said_helo: false,
            parser: ReplyParser::default(),
            extensions: Extensions::default(),
            expected: VecDeque::new(),
            next: Some(InFlight::new(first, now_ns)),
            batch: Vec::new(),
            left: settings.deliveries_per_connection,
            has_delivered: false,
            settings,
        }
    }

    pub(crate) fn host(&self) -> u32 {
        self.host
    }

    /// The step whose reply is waited for.
    pub(crate) fn step(&self) -> MailStep {
        self.expected.front().map_or(MailStep::Connect, |expected| expected.step)
    }

    fn await_reply(&mut self, step: MailStep, sent_ns: u64) {
        self.await_reply_of(step, sent_ns, 0, 0);
    }

    fn await_reply_of(&mut self, step: MailStep, sent_ns: u64, transaction: usize, recipient: usize) {
        let (transaction, recipient) = (transaction as u16, recipient as u16);
        self.expected.push_back(Expected { step, sent_ns, transaction, recipient });
    }

    /// Takes input, of any length, cut anywhere.
    pub(crate) fn on_input<R: Results>(
        &mut self,
        input: &[u8],
        context: &mut DeliveryContext<'_, R>,
        output: &mut Output,
    ) -> Result<Progress, Fault> {
        // Replies are read in the parser's buffer.
        let mut parser = std::mem::take(&mut self.parser);
        let progress = self.on_replies(&mut parser, input, context, output);
        self.parser = parser;
        progress
    }

    fn on_replies<R: Results>(
        &mut self,
        parser: &mut ReplyParser,
        mut input: &[u8],
        context: &mut DeliveryContext<'_, R>,
        output: &mut Output,
    ) -> Result<Progress, Fault> {
        // Commands that are sent from here on cannot have been answered yet.
        let mut asked = self.expected.len();
        while let Some(reply) = parser.parse(&mut input)? {
            if reply.code() == 421 {
                return Ok(Progress::SentAway(format!("421 {}", reply.text())));
            }
            let expected = self.expected.pop_front().filter(|_| asked > 0);
            let Some(expected) = expected else { return Err(Fault::Unasked { code: reply.code() }) };
            asked -= 1;
            if self.is_check(expected) {
                self.check(&reply)?;
                self.go_on(context, output);
                continue;
            }
            if expected.step != MailStep::Tls {
                context.took(expected.step, expected.sent_ns);
            }
            let progress = self.on_reply(expected, &reply, context, output)?;
            if progress == Progress::StartTls {
                // The step ends with the handshake.
                self.expected.push_front(expected);
                return if input.is_empty() { Ok(progress) } else { Err(Fault::Injected) };
            }
            if progress != Progress::Wait {
                return Ok(progress);
            }
            self.go_on(context, output);
        }
        Ok(Progress::Wait)
    }

    /// Begins the next batch once every reply is there. The results count at once: nothing that comes behind
    /// their replies, such as 421 or a reply too many, takes them back.
    fn go_on<R: Results>(&mut self, context: &mut DeliveryContext<'_, R>, output: &mut Output) {
        if self.expected.is_empty() && self.stage == Stage::Ready {
            self.settle(context);
            self.begin_batch(context, output);
        }
    }

    fn on_reply<R: Results>(
        &mut self,
        expected: Expected,
        reply: &Reply<'_>,
        context: &mut DeliveryContext<'_, R>,
        output: &mut Output,
    ) -> Result<Progress, Fault> {
        let (code, step) = (reply.code(), expected.step);
        let Some(answer) = Answer::from_reply(reply, step) else {
            return Err(Fault::OutOfStep { code, step: step.name() });
        };
        match step {
            MailStep::Banner | MailStep::Ehlo | MailStep::Tls => {
                return Ok(self.greet(step, answer, reply, context.now_ns, output));
            }
            MailStep::Quit => return Ok(Progress::Close),
            _ => {}
        }
        let number = usize::from(expected.transaction);
        let Some(in_flight) = self.batch.get_mut(number) else {
            return Err(Fault::OutOfStep { code, step: step.name() });
        };
        match step {
            MailStep::Mail => in_flight.sender = answer,
            MailStep::Rcpt => {
                if let Some(recipient) = in_flight.recipients.get_mut(usize::from(expected.recipient)) {
                    *recipient = answer;
                }
            }
            // The go-ahead is no end; a refusal is.
            MailStep::Data if matches!(answer, Answer::Accepted(_)) => {
                self.send_message(number, context, output)
            }
            // One that follows a refusal of DATA decides nothing.
            MailStep::Rset if !matches!(in_flight.end, Answer::None) => {}
            _ => {
                // A server may still hold the transaction whose DATA it has refused, and after a refusal of
                // BDAT only RSET ends it (RFC 3030, section 2).
                let is_chunk = step == MailStep::Message && self.extensions.chunking;
                let is_open = matches!(answer, Answer::Refused(_)) && (step == MailStep::Data || is_chunk);
                in_flight.end = answer;
                if is_open {
                    Command::Rset.write(output.bytes());
                    self.await_reply_of(MailStep::Rset, context.now_ns, number, 0);
                }
            }
        }
        if self.is_lock_step() {
            self.next_command(expected, context, output);
        }
        Ok(Progress::Wait)
    }

    /// Whether the EHLO is that at the end of a batch.
    fn is_check(&self, expected: Expected) -> bool {
        expected.step == MailStep::Ehlo && self.stage == Stage::Ready
    }

    /// The reply to EHLO must be where it belongs. The extensions stay as they are.
    fn check(&self, reply: &Reply<'_>) -> Result<(), Fault> {
        match reply.code() == 250 && Extensions::parse(reply).pipelining {
            true => Ok(()),
            false => Err(Fault::OutOfStep { code: reply.code(), step: MailStep::Ehlo.name() }),
        }
    }

    fn is_lock_step(&self) -> bool {
        self.settings.mode == Mode::Test || !self.extensions.pipelining
    }

    /// Takes the next transactions and sends their commands, or QUIT if there are none.
    fn begin_batch<R: Results>(&mut self, context: &mut DeliveryContext<'_, R>, output: &mut Output) {
        let is_batched = self.settings.mode == Mode::TestPipelined && !self.is_lock_step();
        let most = if is_batched { self.batch_max } else { 1 };
        while self.batch.len() < most && self.left > 0 {
            let in_flight = self.next.take().or_else(|| {
                let transaction = context.next_transaction(self.host)?;
                Some(InFlight::new(transaction, context.now_ns))
            });
            let Some(mut in_flight) = in_flight else { break };
            if let Some(reason) = self.unsuitable_reason(&in_flight.transaction, context) {
                in_flight.sender = Answer::Refused(Refusal::permanent(reason));
                self.commit(in_flight, context);
                continue;
            }
            self.left = self.left.saturating_sub(in_flight.transaction.recipients.len() as u32);
            self.batch.push(in_flight);
        }
        if self.batch.is_empty() {
            Command::Quit.write(output.bytes());
            self.await_reply(MailStep::Quit, context.now_ns);
            self.stage = Stage::Quitting;
            return;
        }
        for number in 0..self.batch.len() {
            self.send_mail(number, context, output);
            if self.is_lock_step() {
                return;
            }
            for recipient in 0..self.batch[number].recipients.len() {
                self.send_recipient(number, recipient, context, output);
            }
            self.send_end(number, context, output);
        }
        if is_batched {
            self.send_ehlo(context.now_ns, output);
        }
    }

    /// Why this server cannot take the transaction, which is then not sent.
    fn unsuitable_reason<R>(
        &self,
        transaction: &Transaction,
        context: &DeliveryContext<'_, R>,
    ) -> Option<&'static str> {
        let (extensions, message) = (&self.extensions, &self.settings.message);
        if extensions.size_max.is_some_and(|most| most > 0 && message.bytes_max() > most) {
            return Some("the message is larger than the server takes");
        }
        if self.settings.mode == Mode::Deliver && message.is_8bit() && !extensions.eight_bit_mime {
            return Some("the message has octets beyond 127, and the server does not offer 8BITMIME");
        }
        let is_ascii = |&recipient: &u32| {
            context.queue.recipients.get(recipient).is_none_or(|recipient| recipient.address.is_ascii())
        };
        if !extensions.smtp_utf8 && !transaction.recipients.iter().all(is_ascii) {
            return Some("the address is not in ASCII, and the server does not offer SMTPUTF8");
        }
        None
    }

    fn send_mail<R>(&mut self, number: usize, context: &mut DeliveryContext<'_, R>, output: &mut Output) {
        let recipients = &self.batch[number].transaction.recipients;
        let is_ascii = recipients.iter().all(|&recipient| {
            context.queue.recipients.get(recipient).is_none_or(|one| one.address.is_ascii())
        });
        let command = Command::Mail {
            sender: Mailbox::parse(&self.settings.sender).ok(),
            size: self.extensions.size_max.map(|_| self.settings.message.bytes_max()),
            is_8bit: self.extensions.eight_bit_mime && self.settings.message.is_8bit(),
            is_utf8: !is_ascii,
        };
        command.write(output.bytes());
        self.await_reply_of(MailStep::Mail, context.now_ns, number, 0);
    }

    fn send_recipient<R>(
        &mut self,
        number: usize,
        recipient: usize,
        context: &mut DeliveryContext<'_, R>,
        output: &mut Output,
    ) {
        let place = self.batch[number].transaction.recipients[recipient];
        let address = context.queue.recipients.get(place).map_or("", |recipient| recipient.address);
        // The list has valid addresses only.
        if let Ok(mailbox) = Mailbox::parse(address) {
            Command::Rcpt(mailbox).write(output.bytes());
        }
        self.await_reply_of(MailStep::Rcpt, context.now_ns, number, recipient);
    }

    /// RSET, DATA or BDAT, whichever ends the transaction.
    fn send_end<R>(&mut self, number: usize, context: &mut DeliveryContext<'_, R>, output: &mut Output) {
        let may_deliver = self.settings.mode == Mode::Deliver
            && (!self.is_lock_step() || self.batch[number].has_accepted_recipient());
        let step = match (may_deliver, self.extensions.chunking) {
            (false, _) => {
                Command::Rset.write(output.bytes());
                MailStep::Rset
            }
            (true, true) => {
                let id = context.next_message_id();
                self.settings.message.send_chunk(id, output);
                MailStep::Message
            }
            (true, false) => {
                Command::Data.write(output.bytes());
                MailStep::Data
            }
        };
        self.await_reply_of(step, context.now_ns, number, 0);
    }

    /// The server waits for the message.
    fn send_message<R>(&mut self, number: usize, context: &mut DeliveryContext<'_, R>, output: &mut Output) {
        if self.batch[number].has_accepted_recipient() {
            let id = context.next_message_id();
            self.settings.message.send_lines(id, output);
        } else {
            // It should have refused; a dot alone ends that (RFC 2920, section 3.1).
            output.bytes().extend_from_slice(b".\r\n");
        }
        self.await_reply_of(MailStep::Message, context.now_ns, number, 0);
    }

    /// Lock-step: the command that follows a reply.
    fn next_command<R>(
        &mut self,
        answered: Expected,
        context: &mut DeliveryContext<'_, R>,
        output: &mut Output,
    ) {
        let number = usize::from(answered.transaction);
        let Some(in_flight) = self.batch.get(number) else { return };
        match answered.step {
            MailStep::Mail if matches!(in_flight.sender, Answer::Accepted(_)) => {
                self.send_recipient(number, 0, context, output);
            }
            MailStep::Rcpt => {
                let next = usize::from(answered.recipient) + 1;
                if next < in_flight.recipients.len() {
                    self.send_recipient(number, next, context, output);
                } else {
                    self.send_end(number, context, output);
                }
            }
            _ => {}
        }
    }

    /// Every reply of the batch is there: its results count.
    fn settle<R: Results>(&mut self, context: &mut DeliveryContext<'_, R>) {
        let mut batch = std::mem::take(&mut self.batch);
        for in_flight in batch.drain(..) {
            self.commit(in_flight, context);
        }
        self.batch = batch;
    }

    fn commit<R: Results>(&mut self, in_flight: InFlight, context: &mut DeliveryContext<'_, R>) {
        let InFlight { transaction, taken_ns, sender, recipients, end } = in_flight;
        for (recipient, answer) in transaction.recipients.into_iter().zip(recipients) {
            match (&sender, answer, &end) {
                (Answer::Refused(refusal), _, _) => context.refused(recipient, self.host, refusal),
                (_, Answer::Refused(refusal), _) => context.refused(recipient, self.host, &refusal),
                (_, _, Answer::Refused(refusal)) => context.refused(recipient, self.host, refusal),
                (_, Answer::Accepted(address), Answer::Accepted(end)) => {
                    let (ending, by) = match self.settings.mode {
                        Mode::Deliver => (DeliveryEnding::Delivered, end),
                        Mode::Test | Mode::TestPipelined => (DeliveryEnding::Tested, &address),
                    };
                    self.has_delivered = true;
                    context.queue.host_is_well(self.host, transaction.domain);
                    context.accepted(recipient, self.host, ending, by, taken_ns);
                }
                _ => context.refused(recipient, self.host, &Refusal::temporary("no reply")),
            }
        }
        context.queue.transaction_ended(transaction.domain);
    }

    /// The connection is over, and the session did not end it.
    pub(crate) fn lost<R: Results>(mut self, reason: &str, context: &mut DeliveryContext<'_, R>) {
        let batch = std::mem::take(&mut self.batch);
        let is_attempt = match batch.len() {
            0 => false,
            // Lock-step: a connection that was good for others has ended before this one began.
            1 => !self.has_delivered || !matches!(batch[0].sender, Answer::None),
            // If a reply may have been lost, the answered ones are unknown. A smaller batch will show them.
            _ => {
                context.queue.halve_batch(self.host, self.batch_max);
                false
            }
        };
        for mut in_flight in self.next.take().into_iter().chain(batch) {
            if is_attempt {
                let is_complete = !matches!(in_flight.end, Answer::None);
                if !is_complete || !self.is_lock_step() {
                    in_flight.end = Answer::Refused(Refusal::temporary(reason));
                }
                self.commit(in_flight, context);
            } else {
                for &recipient in &in_flight.transaction.recipients {
                    context.give_back(recipient, reason);
                }
                context.queue.transaction_ended(in_flight.transaction.domain);
            }
        }
    }

    /// A domain of the transactions that the connection has, if it has any.
    pub(crate) fn domain(&self) -> Option<u32> {
        self.next.as_ref().or(self.batch.first()).map(|in_flight| in_flight.transaction.domain)
    }

    /// Whether a failure is one of the server rather than of an attempt: the server has not introduced
    /// itself.
    pub(crate) fn is_greeting(&self) -> bool {
        self.stage == Stage::Greeting
    }

    pub(crate) fn is_quitting(&self) -> bool {
        self.stage == Stage::Quitting
    }
}
