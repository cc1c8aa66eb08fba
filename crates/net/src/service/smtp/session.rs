//! One connection of a client that sends mail.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::faults::{Fault, Step, asked_for, domain_of};
use super::transaction::{End, Message, Pause, Transaction, write_ledger};
use crate::output::Output;
use crate::service::{Flow, Session, SessionStage};
use crate::smtp::{
    COMMAND_BYTES_MAX, Command, CommandError, DotDecoder, EnhancedCode, LineBuffer, Mailbox, write_reply,
};

/// The other end of a client that sends mail.
pub(super) struct SmtpSession {
    shared: Arc<Shared>,
    peer: Option<SocketAddr>,
    random: fastrand::Rng,
    line: LineBuffer,
    expected: Expected,
    is_greeted: bool,
    tls: TlsState,
    pause: Option<Box<Pause>>,
    transaction: Option<Box<Transaction>>,
    /// Of the recipient accepted last, for a fault of QUIT.
    domain: String,
}

/// Whether the connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TlsState {
    Off,
    /// The reply to STARTTLS was sent.
    Begins,
    On,
}

/// The kind of input that comes next.
#[derive(Clone, Copy, Debug)]
enum Expected {
    Command,
    /// A message, up to the dot.
    Lines(DotDecoder),
    /// So many octets of a message; after them a reply. Without a transaction they are dropped.
    Chunk {
        bytes: u64,
        is_last: bool,
    },
}

impl SmtpSession {
    pub(super) fn new(shared: Arc<Shared>, peer: Option<SocketAddr>, random: fastrand::Rng) -> SmtpSession {
        SmtpSession {
            shared,
            peer,
            random,
            line: LineBuffer::default(),
            expected: Expected::Command,
            is_greeted: false,
            tls: TlsState::Off,
            pause: None,
            transaction: None,
            domain: String::new(),
        }
    }

    /// Whether TLS begins with the next input. True once.
    pub(super) fn takes_tls(&mut self) -> bool {
        let takes_tls = self.tls == TlsState::Begins && self.pause.is_none();
        if takes_tls {
            self.tls = TlsState::On;
        }
        takes_tls
    }

    /// Replies with a line that begins with a code and an enhanced status code, such as `250 2.0.0 ok`.
    #[inline]
    fn say(&self, reply: &str, output: &mut Output) -> Flow {
        output.answered();
        let bytes = output.bytes();
        if self.shared.extensions.enhanced_status_codes {
            bytes.extend_from_slice(reply.as_bytes());
        } else {
            bytes.extend_from_slice(&reply.as_bytes()[..4]);
            bytes.extend_from_slice(&reply.as_bytes()[10..]);
        }
        bytes.extend_from_slice(b"\r\n");
        Flow::More
    }

    fn fail(&mut self, fault: Fault, output: &mut Output) -> Flow {
        match fault {
            Fault::Drop => {
                self.end_transaction(0, End::Lost, output);
                Flow::Close
            }
            Fault::Reset => {
                self.end_transaction(0, End::Lost, output);
                Flow::Reset
            }
            Fault::Reply(421) => {
                self.end_transaction(421, End::Lost, output);
                self.say("421 4.3.2 as it was asked for", output);
                Flow::Linger
            }
            // Not reached: a delay goes on with the step behind it.
            Fault::Delay(_) => Flow::More,
            Fault::Reply(code) => {
                let class = if code < 500 { 4 } else { 5 };
                self.say(&format!("{code} {class}.0.0 as it was asked for"), output)
            }
        }
    }

    /// The domain is that of a recipient that is just named.
    #[inline]
    fn fault(&mut self, step: Step, domain: &str) -> Option<Fault> {
        if self.shared.faults.is_empty() {
            return None;
        }
        match &self.transaction {
            Some(transaction) if matches!(step, Step::Data | Step::Message | Step::Rset) => {
                self.shared.faults.choose(step, &transaction.domains, &mut self.random)
            }
            _ if step == Step::Quit => self.shared.faults.choose(step, &[&self.domain], &mut self.random),
            _ => self.shared.faults.choose(step, &[domain], &mut self.random),
        }
    }

    /// Performs the step now, and replies later.
    fn later(
        &mut self,
        time: Duration,
        output: &mut Output,
        act: impl FnOnce(&mut Self, &mut Output) -> Flow,
    ) -> Flow {
        let mut later = Output::default();
        std::mem::swap(&mut later.log, &mut output.log);
        let flow = act(self, &mut later);
        std::mem::swap(&mut later.log, &mut output.log);
        match &mut self.pause {
            // Its outcome has a delay of its own.
            Some(pause) => pause.time = pause.time.saturating_add(time),
            None => {
                let (replies, reply) = (later.take_responses(), std::mem::take(later.bytes()));
                self.pause = Some(Box::new(Pause { time, reply, replies, flow, input: Vec::new() }));
            }
        }
        Flow::More
    }

    /// Takes the next command, line or piece from the input.
    fn go_on(&mut self, input: &mut &[u8], output: &mut Output) -> Flow {
        match &mut self.expected {
            Expected::Command => self.command(input, output),
            Expected::Lines(decoder) => {
                let keeps_ledger = self.shared.keeps_ledger;
                let mut ignored = Message::default();
                let message = match &mut self.transaction {
                    Some(transaction) => &mut transaction.message,
                    None => &mut ignored,
                };
                if decoder.decode(input, &mut |piece| message.take(piece, keeps_ledger)) {
                    self.end_message(output)
                } else {
                    Flow::More
                }
            }
            Expected::Chunk { bytes, is_last } => {
                let count = usize::try_from(*bytes).unwrap_or(usize::MAX).min(input.len());
                let (piece, rest) = input.split_at(count);
                *input = rest;
                *bytes -= count as u64;
                let (is_whole, is_last) = (*bytes == 0, *is_last);
                if let Some(transaction) = &mut self.transaction {
                    transaction.message.take(piece, self.shared.keeps_ledger);
                }
                match (is_whole, &self.transaction) {
                    (false, _) => Flow::More,
                    (true, None) => self.end_dropped_chunk(output),
                    (true, Some(_)) if is_last => self.end_message(output),
                    (true, Some(_)) => {
                        self.expected = Expected::Command;
                        self.say("250 2.0.0 chunk taken", output)
                    }
                }
            }
        }
    }

    fn end_dropped_chunk(&mut self, output: &mut Output) -> Flow {
        self.expected = Expected::Command;
        self.say("503 5.5.1 BDAT needs MAIL and RCPT before it", output)
    }

    /// A message has come to its end.
    fn end_message(&mut self, output: &mut Output) -> Flow {
        self.expected = Expected::Command;
        let bytes = self.transaction.as_ref().map_or(0, |transaction| transaction.message.bytes());
        let fault = self.fault(Step::Message, "");
        let is_too_large = bytes > self.shared.message_bytes;
        let reply = if is_too_large { "552 5.3.4 too large" } else { "250 2.0.0 taken" };
        let code = if is_too_large { 552 } else { 250 };
        match fault {
            None => {
                self.end_transaction(code, End::Message, output);
                self.say(reply, output)
            }
            Some(Fault::Delay(time)) => {
                self.end_transaction(code, End::Message, output);
                self.later(time, output, |session, output| session.say(reply, output))
            }
            Some(fault) => {
                self.end_transaction(fault.code(), End::Message, output);
                self.fail(fault, output)
            }
        }
    }

    fn end_transaction(&mut self, code: u16, end: End, output: &mut Output) {
        let Some(transaction) = self.transaction.take() else { return };
        let message = (end == End::Message).then_some(&transaction.message);
        for recipient in &transaction.recipients {
            write_ledger(self.peer, recipient, code, end, message, &mut output.log);
        }
    }

    fn command(&mut self, input: &mut &[u8], output: &mut Output) -> Flow {
        // Out of the way of the borrow: the line may lie in it.
        let mut buffer = std::mem::take(&mut self.line);
        let flow = match buffer.take(input, COMMAND_BYTES_MAX + 1) {
            Ok(None) => Flow::More,
            Ok(Some(line)) => match Command::parse(line) {
                Ok(command) => self.obey(command, output),
                Err(error) => self.refuse(error, output),
            },
            Err(_) => {
                // The rest of the line follows, and could be taken for a command.
                self.say("500 5.5.6 the line is too long", output);
                Flow::Linger
            }
        };
        buffer.release();
        self.line = buffer;
        flow
    }

    fn refuse(&mut self, error: CommandError, output: &mut Output) -> Flow {
        let code = error.code();
        let detail = if code == 555 { 4 } else { 2 };
        let enhanced = self.shared.extensions.enhanced_status_codes.then_some(EnhancedCode(5, 5, detail));
        write_reply(output.bytes(), code, enhanced, &error.to_string());
        output.answered();
        Flow::More
    }

    #[inline]
    fn obey(&mut self, command: Command<'_>, output: &mut Output) -> Flow {
        if let Some(step) = Step::from_command(&command)
            && let Some(fault) = self.fault(step, domain_of(&command))
        {
            if let Fault::Delay(time) = fault {
                return self.later(time, output, |session, output| session.carry_out(command, output));
            }
            if let Command::Rcpt(recipient) = &command {
                self.refused(*recipient, fault, output);
            }
            return self.fail(fault, output);
        }
        self.carry_out(command, output)
    }

    #[inline]
    fn carry_out(&mut self, command: Command<'_>, output: &mut Output) -> Flow {
        match command {
            Command::Ehlo(_) => self.greet(true, output),
            Command::Helo(_) => self.greet(false, output),
            Command::Mail { sender, size, .. } => self.mail(sender, size, output),
            Command::Rcpt(recipient) => self.rcpt(recipient, output),
            Command::Data => self.data(output),
            Command::Bdat { bytes, is_last } => self.bdat(bytes, is_last, output),
            Command::Rset => {
                self.end_transaction(250, End::Reset, output);
                self.say("250 2.0.0 ok", output)
            }
            Command::Noop => self.say("250 2.0.0 ok", output),
            Command::Vrfy(_) => self.say("252 2.5.0 send it, and see", output),
            Command::Help => self.say("214 2.0.0 RFC 5321", output),
            Command::StartTls if self.shared.tls.is_some() => self.start_tls(output),
            Command::StartTls | Command::Unknown => self.say("500 5.5.1 unknown command", output),
            Command::Quit => {
                self.end_transaction(250, End::Reset, output);
                self.say("221 2.0.0 bye", output);
                Flow::Close
            }
        }
    }

    fn greeting(&mut self, output: &mut Output) -> Flow {
        output.bytes().extend_from_slice(self.shared.greeting.as_bytes());
        Flow::More
    }

    fn greet(&mut self, is_extended: bool, output: &mut Output) -> Flow {
        self.end_transaction(250, End::Reset, output);
        self.is_greeted = true;
        let reply = match (is_extended, self.tls) {
            (true, TlsState::Off) => &self.shared.ehlo[..],
            (true, _) => &self.shared.ehlo_encrypted[..],
            (false, _) => self.shared.helo.as_bytes(),
        };
        output.bytes().extend_from_slice(reply);
        output.answered();
        Flow::More
    }

    /// Earlier commands of the client are forgotten (RFC 3207, section 4.2).
    fn start_tls(&mut self, output: &mut Output) -> Flow {
        if self.tls != TlsState::Off {
            return self.say("503 5.5.1 TLS is there already", output);
        }
        self.end_transaction(250, End::Reset, output);
        self.is_greeted = false;
        self.tls = TlsState::Begins;
        self.say("220 2.0.0 begin TLS", output)
    }

    fn mail(&mut self, sender: Option<Mailbox<'_>>, size: Option<u64>, output: &mut Output) -> Flow {
        if !self.is_greeted {
            return self.say("503 5.5.1 EHLO first", output);
        }
        if self.transaction.is_some() {
            return self.say("503 5.5.1 there is a sender already", output);
        }
        if size.is_some_and(|size| size > self.shared.message_bytes) {
            return self.say("552 5.3.4 too large", output);
        }
        let mut transaction = Box::<Transaction>::default();
        if self.shared.greylist.is_some() {
            transaction.sender = sender.map_or("", |sender| sender.text()).to_owned();
        }
        self.transaction = Some(transaction);
        self.say("250 2.1.0 sender ok", output)
    }

    fn rcpt(&mut self, recipient: Mailbox<'_>, output: &mut Output) -> Flow {
        let Some(transaction) = &self.transaction else {
            return self.say("503 5.5.1 MAIL first", output);
        };
        if transaction.is_chunked {
            return self.say("503 5.5.1 the message has begun", output);
        }
        match asked_for(recipient.local()) {
            None => self.accept(recipient, output),
            Some(Fault::Delay(time)) => {
                self.later(time, output, |session, output| session.accept(recipient, output))
            }
            Some(fault) => {
                self.refused(recipient, fault, output);
                self.fail(fault, output)
            }
        }
    }

    fn accept(&mut self, recipient: Mailbox<'_>, output: &mut Output) -> Flow {
        let recipients_max = self.shared.recipients;
        let Some(transaction) = &mut self.transaction else { return Flow::More };
        if let Some(greylist) = &self.shared.greylist
            && greylist.puts_off(self.peer.map(|peer| peer.ip()), &transaction.sender, recipient.text())
        {
            self.refused(recipient, Fault::Reply(451), output);
            return self.say("451 4.7.1 come again later", output);
        }
        if transaction.recipient_count >= recipients_max {
            self.refused(recipient, Fault::Reply(452), output);
            return self.say("452 4.5.3 too many recipients", output);
        }
        transaction.recipient_count += 1;
        output.accepted_recipient();
        if self.shared.keeps_ledger {
            transaction.recipients.push(recipient.text().to_owned());
        }
        if self.shared.faults.are_of_domains() {
            transaction.domains.push(recipient.domain().to_owned());
            recipient.domain().clone_into(&mut self.domain);
        }
        self.say("250 2.1.5 recipient ok", output)
    }

    fn refused(&self, recipient: Mailbox<'_>, fault: Fault, output: &mut Output) {
        if self.shared.keeps_ledger {
            write_ledger(self.peer, recipient.text(), fault.code(), End::Refused, None, &mut output.log);
        }
    }

    fn data(&mut self, output: &mut Output) -> Flow {
        match &self.transaction {
            None => self.say("503 5.5.1 MAIL first", output),
            Some(transaction) if transaction.is_chunked => self.say("503 5.5.1 BDAT has begun", output),
            Some(transaction) if transaction.recipient_count == 0 => {
                self.say("554 5.5.1 no valid recipient", output)
            }
            Some(_) => {
                self.expected = Expected::Lines(DotDecoder::default());
                // Has no enhanced status code (RFC 2034, section 4).
                output.bytes().extend_from_slice(b"354 end with a dot alone\r\n");
                output.answered();
                Flow::More
            }
        }
    }

    fn bdat(&mut self, bytes: u64, is_last: bool, output: &mut Output) -> Flow {
        self.expected = Expected::Chunk { bytes, is_last };
        match &mut self.transaction {
            Some(transaction) if transaction.recipient_count > 0 => transaction.is_chunked = true,
            // The octets come all the same.
            _ => self.transaction = None,
        }
        // A chunk of no octets is whole.
        if bytes == 0 { self.go_on(&mut &[][..], output) } else { Flow::More }
    }
}

impl Session for SmtpSession {
    fn begin(&mut self, output: &mut Output) -> Flow {
        match self.fault(Step::Connect, "") {
            Some(Fault::Reply(code)) => {
                self.fail(Fault::Reply(code), output);
                Flow::Linger
            }
            Some(Fault::Delay(time)) => self.later(time, output, |session, output| session.greeting(output)),
            Some(fault) => self.fail(fault, output),
            None => self.greeting(output),
        }
    }

    fn on_input(&mut self, mut input: &[u8], output: &mut Output) -> Flow {
        while !input.is_empty() {
            if let Some(pause) = &mut self.pause {
                return pause.hold(input);
            }
            let flow = self.go_on(&mut input, output);
            if flow != Flow::More {
                return flow;
            }
            // Plain text behind STARTTLS may not be of the client that the TLS connection is with: it is
            // dropped.
            if self.tls == TlsState::Begins {
                self.line = LineBuffer::default();
                return Flow::More;
            }
        }
        Flow::More
    }

    fn end(&mut self, output: &mut Output) -> Flow {
        self.end_transaction(0, End::Lost, output);
        Flow::Close
    }

    fn too_slow(&mut self, output: &mut Output) -> Flow {
        self.end_transaction(421, End::Lost, output);
        self.say("421 4.4.2 too slow", output);
        Flow::Linger
    }

    fn resume(&mut self, output: &mut Output) -> Flow {
        let Some(pause) = self.pause.take() else { return Flow::More };
        output.bytes().extend_from_slice(&pause.reply);
        (0..pause.replies).for_each(|_| output.answered());
        match pause.flow {
            // Input in plain text behind STARTTLS is dropped.
            Flow::More if self.tls != TlsState::Begins => self.on_input(&pause.input, output),
            flow => flow,
        }
    }

    fn stage(&self) -> SessionStage {
        if let Some(pause) = &self.pause {
            return SessionStage::Paused(pause.time);
        }
        match self.expected {
            Expected::Command if !self.line.is_within_line() => SessionStage::Idle,
            Expected::Command => SessionStage::Request,
            Expected::Lines(_) | Expected::Chunk { .. } => SessionStage::Data,
        }
    }
}
