//! A connection that begins in plain text and may change to TLS (RFC 3207) around the same session.

use std::sync::Arc;

use super::Shared;
use super::session::SmtpSession;
use crate::network::{TlsFault, TlsSession};
use crate::output::Output;
use crate::service::{Flow, Session, SessionStage};

pub(super) struct SmtpConnection {
    shared: Arc<Shared>,
    session: SmtpSession,
    tls: Option<TlsSession>,
}

impl SmtpConnection {
    pub(super) fn new(shared: Arc<Shared>, session: SmtpSession) -> SmtpConnection {
        SmtpConnection { shared, session, tls: None }
    }

    /// Begins TLS if the session has accepted STARTTLS.
    fn begin_tls(&mut self, flow: Flow) -> Flow {
        if !self.session.takes_tls() {
            return flow;
        }
        match self.shared.tls.as_ref().map(|tls| tls.session()) {
            Some(Ok(tls)) => self.tls = Some(tls),
            _ => return Flow::Close,
        }
        flow
    }
}

/// Takes output of the session, and encrypts it.
fn encrypted(
    tls: &mut TlsSession,
    output: &mut Output,
    say: impl FnOnce(&mut Output) -> Flow,
) -> Result<Flow, TlsFault> {
    let mut plain = Output::default();
    std::mem::swap(&mut plain.log, &mut output.log);
    let flow = say(&mut plain);
    std::mem::swap(&mut plain.log, &mut output.log);
    for _ in 0..plain.take_responses() {
        output.answered();
    }
    for _ in 0..plain.take_recipients() {
        output.accepted_recipient();
    }
    tls.send(plain.bytes(), output.bytes())?;
    if matches!(flow, Flow::Close | Flow::Linger) {
        tls.close();
        tls.send(&[], output.bytes())?;
    }
    Ok(flow)
}

impl Session for SmtpConnection {
    fn begin(&mut self, output: &mut Output) -> Flow {
        self.session.begin(output)
    }

    fn on_input(&mut self, input: &[u8], output: &mut Output) -> Flow {
        let Some(tls) = &mut self.tls else {
            let flow = self.session.on_input(input, output);
            return self.begin_tls(flow);
        };
        let mut plain = Vec::new();
        let received = tls.receive(input, &mut plain);
        let session = &mut self.session;
        let flow = encrypted(tls, output, |output| match received {
            // The responses to earlier input are in the output, and the client gets the reason for the end.
            Err(_) => {
                session.end(output);
                Flow::Linger
            }
            Ok(has_ended) => match session.on_input(&plain, output) {
                Flow::More if has_ended => session.end(output),
                flow => flow,
            },
        });
        flow.unwrap_or(Flow::Close)
    }

    fn resume(&mut self, output: &mut Output) -> Flow {
        let session = &mut self.session;
        let flow = match &mut self.tls {
            None => session.resume(output),
            Some(tls) => encrypted(tls, output, |output| session.resume(output)).unwrap_or(Flow::Close),
        };
        self.begin_tls(flow)
    }

    fn end(&mut self, output: &mut Output) -> Flow {
        match &mut self.tls {
            None => self.session.end(output),
            Some(tls) => encrypted(tls, output, |output| self.session.end(output)).unwrap_or(Flow::Close),
        }
    }

    fn too_slow(&mut self, output: &mut Output) -> Flow {
        match &mut self.tls {
            None => self.session.too_slow(output),
            // The reply cannot be sent before the handshake.
            Some(tls) if tls.is_handshaking() => self.session.end(output),
            Some(tls) => {
                encrypted(tls, output, |output| self.session.too_slow(output)).unwrap_or(Flow::Close)
            }
        }
    }

    fn stage(&self) -> SessionStage {
        match &self.tls {
            Some(tls) if tls.is_handshaking() => SessionStage::Request,
            _ => self.session.stage(),
        }
    }
}
