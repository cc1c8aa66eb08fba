//! A transaction under way, and the replies of the server to its commands.

use net::smtp::{Reply, ReplyError};

use crate::measured::MailStep;
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
pub(crate) enum Answer {
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
pub(crate) struct InFlight {
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
