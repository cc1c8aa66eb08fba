//! The replies of a server: which of them accept and refuse, those to the commands of a transaction under
//! way, and those before the first one: the greeting, the introduction, and TLS.

use net::output::Output;
use net::smtp::{ArgumentText, Command, Extensions, Reply, ReplyError};

use super::{Progress, Session, Stage};
use crate::connection::TlsPolicy;
use crate::context::{DeliveryContext, MailStep};
use crate::queue::Transaction;

/// Why a recipient, or a server, was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: Option<u16>,
    pub(crate) is_permanent: bool,
    pub(crate) reason: String,
}

impl Refusal {
    pub(crate) fn from_reply(reply: &Reply<'_>) -> Refusal {
        let code = reply.code();
        Refusal { code: Some(code), is_permanent: (500..600).contains(&code), reason: reply.text() }
    }

    /// For now, without a reply.
    pub(crate) fn temporary(reason: &str) -> Refusal {
        Refusal { code: None, is_permanent: false, reason: reason.to_owned() }
    }

    /// For ever, without having asked.
    pub(crate) fn permanent(reason: &str) -> Refusal {
        Refusal { code: None, is_permanent: true, reason: reason.to_owned() }
    }
}

/// How a server broke the protocol.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("{0}")]
    Reply(#[from] ReplyError),
    #[error("reply {code} came before its command")]
    Unasked { code: u16 },
    /// Before TLS anyone on the path can have inserted them.
    #[error("more came behind the reply to STARTTLS")]
    Injected,
    #[error("reply {code} to {step}")]
    OutOfStep { code: u16, step: &'static str },
}

/// A reply that decided for a recipient, or may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acceptance {
    pub(crate) code: u16,
    /// Kept of replies that decide.
    pub(crate) text: String,
}

/// The reply of a server to one command.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    None,
    Accepted(Acceptance),
    Refused(Refusal),
}

impl Answer {
    /// The meaning of a reply for its step; `None` if it is a reply to something else.
    pub(crate) fn from_reply(reply: &Reply<'_>, step: MailStep) -> Option<Answer> {
        let code = reply.code();
        let is_accepted = match step {
            MailStep::Banner | MailStep::Tls => code == 220,
            MailStep::Rcpt => (250..=252).contains(&code),
            MailStep::Data => code == 354,
            MailStep::Quit => (200..300).contains(&code),
            _ => code == 250,
        };
        match code {
            _ if is_accepted => {
                let decides = matches!(step, MailStep::Rcpt | MailStep::Message);
                let text = if decides { reply.text() } else { String::new() };
                Some(Answer::Accepted(Acceptance { code, text }))
            }
            400..600 => Some(Answer::Refused(Refusal::from_reply(reply))),
            _ => None,
        }
    }
}

/// A transaction and the answers to it.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(crate) transaction: Transaction,
    pub(crate) taken_ns: u64,
    pub(crate) sender: Answer,
    pub(crate) recipients: Vec<Answer>,
    /// RSET, or the message.
    pub(crate) end: Answer,
}

impl InFlight {
    pub(crate) fn new(transaction: Transaction, taken_ns: u64) -> InFlight {
        let recipients = vec![Answer::None; transaction.recipients.len()];
        InFlight { transaction, taken_ns, sender: Answer::None, recipients, end: Answer::None }
    }

    pub(crate) fn has_accepted_recipient(&self) -> bool {
        self.recipients.iter().any(|answer| matches!(answer, Answer::Accepted(_)))
    }
}

impl Session {
    /// The connection is made: the server speaks first.
    pub(crate) fn on_connect(&mut self, now_ns: u64) {
        self.await_reply(MailStep::Banner, now_ns);
    }

    /// The connection is encrypted. Earlier replies of the server are forgotten (RFC 3207, section 4.2).
    pub(crate) fn on_tls<R>(&mut self, context: &mut DeliveryContext<'_, R>, output: &mut Output) {
        if let Some(expected) = self.expected.pop_front() {
            context.took(expected.step, expected.sent_ns);
        }
        (self.tls, self.extensions) = (TlsPolicy::Off, Extensions::default());
        self.has_said_helo = false;
        self.send_ehlo(context.now_ns, output);
    }

    /// The greeting and the introduction.
    pub(super) fn greet(
        &mut self,
        step: MailStep,
        answer: Answer,
        reply: &Reply<'_>,
        now_ns: u64,
        output: &mut Output,
    ) -> Progress {
        match (step, &answer) {
            (MailStep::Banner, Answer::Accepted(_)) => self.send_ehlo(now_ns, output),
            (MailStep::Ehlo, Answer::Accepted(_)) => {
                // To HELO no server lists any.
                self.extensions = Extensions::parse(reply);
                return self.introduced(now_ns, output);
            }
            (MailStep::Tls, Answer::Accepted(_)) => return Progress::StartTls,
            (MailStep::Tls, _) if self.tls == TlsPolicy::Opportunistic => self.stage = Stage::Ready,
            // A server of the time before extensions (RFC 5321, section 3.2).
            (MailStep::Ehlo, Answer::Refused(refusal)) if refusal.is_permanent && !self.has_said_helo => {
                self.has_said_helo = true;
                Command::Helo(self.name()).write(output.bytes());
                self.await_reply(MailStep::Ehlo, now_ns);
            }
            (_, Answer::Refused(refusal)) => {
                let code = refusal.code.unwrap_or_default();
                return Progress::SentAway(format!("{code} {}", refusal.reason));
            }
            _ => {}
        }
        Progress::Wait
    }

    /// Both have introduced themselves: TLS comes next, if it does.
    fn introduced(&mut self, now_ns: u64, output: &mut Output) -> Progress {
        match (self.tls, self.extensions.start_tls) {
            (TlsPolicy::Off, _) | (TlsPolicy::Opportunistic, false) => self.stage = Stage::Ready,
            (_, true) => {
                Command::StartTls.write(output.bytes());
                self.await_reply(MailStep::Tls, now_ns);
            }
            (TlsPolicy::Required, false) => {
                return Progress::SentAway(
                    "the server does not offer STARTTLS, which is required".to_owned(),
                );
            }
        }
        Progress::Wait
    }

    /// By which the engine introduces itself; it has checked that this is a name.
    fn name(&self) -> ArgumentText<'_> {
        ArgumentText::new(&self.settings.helo).unwrap_or_default()
    }

    pub(super) fn send_ehlo(&mut self, now_ns: u64, output: &mut Output) {
        Command::Ehlo(self.name()).write(output.bytes());
        self.await_reply(MailStep::Ehlo, now_ns);
    }
}
