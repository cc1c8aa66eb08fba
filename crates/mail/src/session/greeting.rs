//! The steps before the first transaction: the greeting, the introduction, and TLS.

use net::output::Output;
use net::smtp::{ArgumentText, Command, Extensions, Reply};

use super::{Progress, Session, Stage};
use crate::connection::TlsPolicy;
use crate::context::DeliveryContext;
use crate::measured::MailStep;
use crate::transaction::Answer;

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
