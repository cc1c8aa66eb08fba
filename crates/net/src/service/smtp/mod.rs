//! Takes mail over SMTP and throws it away: a sink for programs that send.
//!
//! It speaks RFC 5321 with PIPELINING, SIZE, 8BITMIME, SMTPUTF8, ENHANCEDSTATUSCODES, CHUNKING and STARTTLS;
//! `--without KEYWORD` does not offer one of them. The key and the certificate of STARTTLS are made at the
//! start, signed by nobody else, for the name of `--host`. With an access log it keeps a ledger: a line of
//! JSON for each recipient, with the code of the reply that decided about it and, for a message that was
//! taken, its identifier, length and CRC-32. A server that cannot write a line ends: its ledger would not be
//! whole.
//!
//! Local parts can request a reply, so that a test needs no configuration: `450@`, `551-any-text@` get that
//! code, `tempfail@` 451, `permfail@` 550; `busy@` gets 421 and a close, `drop@` a close without a reply,
//! `reset@` a reset, and `delay-500ms@` its reply that much later. A `+tag` behind these is ignored.
//!
//! `--fault 'STEP[@DOMAIN] ACTION PERCENT'` makes chance decide. STEP is connect, ehlo, starttls, mail, rcpt,
//! data, message (the reply to a whole message), rset or quit. A DOMAIN is that of a recipient of the
//! message, for quit that of the recipient accepted last, for mail that of the sender, for ehlo the name of
//! the client; connect and starttls have none. ACTION is the code of a reply from 400 to 599, drop, reset, or
//! a time such as 500ms or 2s, by which the reply is late. The first fault that chance chooses counts. 421
//! closes the connection. Times are exact to 0.2 s. `--fault-seed` and the client's port seed these choices.
//!
//! `--greylist SECONDS` puts off each new recipient of a client and a sender with 451, until it has waited
//! for so long. The known recipients lie in memory that all processes of the server share: a million of them;
//! then the oldest are forgotten.

mod faults;
mod session;
mod transaction;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::faults::{Faults, Greylist};
use self::session::SmtpSession;
use super::{Flow, OpenService, ServiceSettings, Session, SessionStage};
use crate::Error;
use crate::network::{TlsFault, TlsIdentity, TlsServer, TlsSession};
use crate::options::{count, to_value};
use crate::output::Output;
use crate::smtp::Extensions;

/// The extensions and the limits of the server, and its faults.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmtpSettings {
    /// Name that a mail server gives itself
    #[arg(long, value_name = "NAME", default_value_t = SmtpSettings::default().host)]
    pub host: String,
    /// Largest message of smtp, in bytes; 0 for no limit
    #[arg(
        long = "max-message",
        value_name = "BYTES",
        default_value_t = SmtpSettings::default().message_bytes,
        value_parser = count::<u64>()
    )]
    pub message_bytes: u64,
    /// Recipients of one message of smtp, at most
    #[arg(
        long = "max-recipients",
        value_name = "N",
        default_value_t = SmtpSettings::default().recipients,
        value_parser = count::<usize>()
    )]
    pub recipients: usize,
    /// Extension of SMTP that is not offered; may be repeated
    #[arg(long, value_name = "KEYWORD")]
    pub without: Vec<String>,
    /// Fault of smtp by chance, such as 'rcpt 450 5%'; may be repeated
    #[arg(long = "fault", value_name = "STEP ACTION PERCENT")]
    pub faults: Vec<String>,
    /// Seed of the chance of --fault
    #[arg(
        long,
        value_name = "N",
        default_value_t = SmtpSettings::default().fault_seed,
        value_parser = count::<u64>()
    )]
    pub fault_seed: u64,
    /// Time for which smtp puts off each new recipient; 0 for none
    #[arg(
        long = "greylist",
        value_name = "SECONDS",
        default_value_t = SmtpSettings::default().greylist_seconds,
        value_parser = count::<u64>()
    )]
    pub greylist_seconds: u64,
    /// The descriptor of the memory of known recipients, in a program that serves one connection.
    #[arg(skip)]
    pub greylist_memory: Option<i32>,
    /// The key and the certificate of STARTTLS; without them they are made when the service opens.
    #[arg(skip)]
    pub identity: Option<TlsIdentity>,
}

impl Default for SmtpSettings {
    fn default() -> SmtpSettings {
        SmtpSettings {
            host: "sink.test".to_owned(),
            message_bytes: 64 << 20,
            recipients: 1000,
            without: Vec::new(),
            faults: Vec::new(),
            fault_seed: 1,
            greylist_seconds: 0,
            greylist_memory: None,
            identity: None,
        }
    }
}

impl SmtpSettings {
    fn extensions(&self) -> Result<Extensions, Error> {
        let mut extensions = Extensions {
            pipelining: true,
            size_max: Some(self.message_bytes),
            eight_bit_mime: true,
            smtp_utf8: true,
            enhanced_status_codes: true,
            chunking: true,
            start_tls: true,
        };
        for keyword in &self.without {
            match &keyword.to_ascii_uppercase()[..] {
                "PIPELINING" => extensions.pipelining = false,
                "SIZE" => extensions.size_max = None,
                "8BITMIME" => extensions.eight_bit_mime = false,
                "SMTPUTF8" => extensions.smtp_utf8 = false,
                "ENHANCEDSTATUSCODES" => extensions.enhanced_status_codes = false,
                "CHUNKING" => extensions.chunking = false,
                "STARTTLS" => extensions.start_tls = false,
                _ => return Err(unknown_keyword(keyword)),
            }
        }
        Ok(extensions)
    }

    fn greylist(&self) -> Result<Option<Greylist>, Error> {
        if self.greylist_seconds == 0 {
            return Ok(None);
        }
        let wait = Duration::from_secs(self.greylist_seconds);
        let opened = Greylist::open(wait, self.greylist_memory);
        opened.map(Some).map_err(Error::at("share the known recipients among processes"))
    }

    /// The identity for TLS: `None` on a processor without its cryptography, unless it was requested.
    fn identity(&self) -> Result<Option<TlsIdentity>, Error> {
        match &self.identity {
            Some(identity) => Ok(Some(identity.clone())),
            None => match TlsIdentity::new(&self.host) {
                Err(Error::Unsupported { .. }) => Ok(None),
                identity => identity.map(Some),
            },
        }
    }
}

fn unknown_keyword(keyword: &str) -> Error {
    let known = "PIPELINING, SIZE, 8BITMIME, SMTPUTF8, ENHANCEDSTATUSCODES, CHUNKING and STARTTLS";
    Error::Settings(format!("smtp cannot be without {keyword:?}: it offers {known}"))
}

impl ServiceSettings for SmtpSettings {
    const NAME: &'static str = "smtp";
    const SOURCE: &'static str = record::page!("mod.rs");

    fn open(&self, access_log: bool) -> Result<Arc<dyn OpenService>, Error> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-[]:".contains(&byte);
        if self.host.is_empty() || self.host.len() > 255 || !self.host.bytes().all(is_name) {
            return Err(Error::Settings(format!("{:?} is no name of a host", self.host)));
        }
        let mut extensions = self.extensions()?;
        let identity = if extensions.start_tls { self.identity()? } else { None };
        let tls = identity.as_ref().map(TlsServer::new).transpose()?;
        extensions.start_tls = tls.is_some();
        let greylist = self.greylist()?;
        let handed_on = SmtpSettings {
            identity,
            greylist_memory: greylist.as_ref().and_then(Greylist::inheritable),
            ..self.clone()
        };
        let has_made = tls.is_some() || greylist.is_some();
        let ehlo = |extensions: &Extensions| {
            let mut reply = Vec::new();
            extensions.write(&self.host, &mut reply);
            reply
        };
        let shared = Shared {
            greeting: format!("220 {} ESMTP osdyno sink\r\n", self.host),
            ehlo: ehlo(&extensions),
            ehlo_encrypted: ehlo(&Extensions { start_tls: false, ..extensions }),
            helo: format!("250 {}\r\n", self.host),
            extensions,
            tls,
            message_bytes: if self.message_bytes == 0 { u64::MAX } else { self.message_bytes },
            recipients: self.recipients.max(1),
            faults: Faults::parse(&self.faults)?,
            greylist,
            seed: self.fault_seed,
            sessions: AtomicU64::new(0),
            keeps_ledger: access_log,
        };
        let handed_on = has_made.then(|| to_value(&handed_on));
        Ok(Arc::new(Smtp { shared: Arc::new(shared), handed_on }))
    }
}

struct Smtp {
    shared: Arc<Shared>,
    /// The settings with the identity, for a program that serves one connection.
    handed_on: Option<Value>,
}

impl OpenService for Smtp {
    fn session(&self, peer: Option<SocketAddr>) -> Box<dyn Session> {
        let number = self.shared.sessions.fetch_add(1, Ordering::Relaxed);
        // Processes that serve one connection each are copies of one that has served none.
        let port = peer.map_or(0, |peer| u64::from(peer.port()));
        let random = fastrand::Rng::with_seed(self.shared.seed ^ (number << 32) ^ (port << 16));
        let session = SmtpSession::new(Arc::clone(&self.shared), peer, random);
        Box::new(SmtpConnection { shared: Arc::clone(&self.shared), session, tls: None })
    }

    fn wants_peer(&self) -> bool {
        self.shared.keeps_ledger || !self.shared.faults.is_empty() || self.shared.greylist.is_some()
    }

    fn needs_log(&self) -> bool {
        self.shared.keeps_ledger
    }

    /// A handshake overflows the stack of other services where it is not optimized.
    fn stack_bytes(&self) -> usize {
        if self.shared.tls.is_some() { 512 << 10 } else { 0 }
    }

    fn handed_on(&self) -> Option<&Value> {
        self.handed_on.as_ref()
    }
}

/// The state that all sessions share.
struct Shared {
    greeting: String,
    ehlo: Vec<u8>,
    /// The same over TLS, which is not offered twice.
    ehlo_encrypted: Vec<u8>,
    helo: String,
    extensions: Extensions,
    /// Where it is offered.
    tls: Option<TlsServer>,
    message_bytes: u64,
    recipients: usize,
    faults: Faults,
    greylist: Option<Greylist>,
    seed: u64,
    sessions: AtomicU64,
    keeps_ledger: bool,
}

/// A connection that begins in plain text and may change to TLS (RFC 3207) around the same session.
struct SmtpConnection {
    shared: Arc<Shared>,
    session: SmtpSession,
    tls: Option<TlsSession>,
}

impl SmtpConnection {
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
