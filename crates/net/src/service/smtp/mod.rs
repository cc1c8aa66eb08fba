//! Takes mail over SMTP and throws it away: a sink for programs that send.
//!
//! It speaks RFC 5321 with PIPELINING, SIZE, 8BITMIME, SMTPUTF8, ENHANCEDSTATUSCODES, CHUNKING and STARTTLS;
//! `--without KEYWORD` does not offer one of them. The key and the certificate of STARTTLS are made at the
//! start, signed by nobody else, for the name of `--host`. With an access log it keeps a ledger: a line of
//! JSON for each recipient, with the code of the reply that decided about it and, for a message that was
//! taken, its identifier, length and CRC-32.
//!
//! Local parts can ask for a reply, so that a test needs no configuration: `450@`, `551-any-text@` get that
//! code, `tempfail@` 451, `permfail@` 550; `busy@` gets 421 and a close, `drop@` a close without a reply,
//! and `reset@` a reset. A `+tag` behind these is ignored.
//!
//! `--fault 'STEP[@DOMAIN] ACTION PERCENT'` makes chance decide. STEP is connect, ehlo, starttls, mail, rcpt,
//! data, message (the reply to a whole message), rset or quit; a DOMAIN, that of a recipient, is for rcpt
//! only. ACTION is the code of a reply from 400 to 599, drop, or reset. The first fault that chance chooses
//! counts. 421 closes the connection. What chance decides is seeded by `--fault-seed` and by the client's
//! port.

mod connection;
mod faults;
mod ledger;
mod message;
mod session;
mod shared;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::connection::SmtpConnection;
use self::faults::Faults;
use self::session::SmtpSession;
use self::shared::Shared;
use super::definition::{OpenService, ServiceSettings, Session};
use crate::Error;
use crate::network::{TlsIdentity, TlsServer};
use crate::options::{OptionForm, OptionSpec, to_value};
use crate::smtp::Extensions;

/// What the server offers, and what goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmtpSettings {
    /// The name that it gives itself.
    pub host: String,
    /// The largest message, in octets; 0 for no limit.
    pub message_bytes: u64,
    /// Recipients of one message, at most.
    pub recipients: usize,
    /// Keywords of EHLO that it does not offer.
    pub without: Vec<String>,
    /// What goes wrong by chance.
    pub faults: Vec<String>,
    /// What chance begins with.
    pub fault_seed: u64,
    /// The key and the certificate of STARTTLS; without them they are made when the service opens.
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

    /// What TLS shows: none on a processor without its cryptography, unless it was asked for.
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
    const SOURCE: &'static str = include_str!("mod.rs");
    const OPTIONS: &'static [OptionSpec] = &[
        OptionSpec {
            name: "host",
            short: None,
            field: "host",
            form: OptionForm::Text("NAME"),
            help: "Name that a mail server gives itself",
        },
        OptionSpec {
            name: "max-message",
            short: None,
            field: "message_bytes",
            form: OptionForm::Number("BYTES"),
            help: "Largest message of smtp, in bytes; 0 for no limit",
        },
        OptionSpec {
            name: "max-recipients",
            short: None,
            field: "recipients",
            form: OptionForm::Number("N"),
            help: "Recipients of one message of smtp, at most",
        },
        OptionSpec {
            name: "without",
            short: None,
            field: "without",
            form: OptionForm::Texts("KEYWORD"),
            help: "Extension of SMTP that is not offered; may be repeated",
        },
        OptionSpec {
            name: "fault",
            short: None,
            field: "faults",
            form: OptionForm::Texts("STEP ACTION PERCENT"),
            help: "What goes wrong by chance in smtp, such as 'rcpt 450 5%'; may be repeated",
        },
        OptionSpec {
            name: "fault-seed",
            short: None,
            field: "fault_seed",
            form: OptionForm::Number("N"),
            help: "What the chance of --fault begins with",
        },
    ];

    fn open(&self, access_log: bool) -> Result<Arc<dyn OpenService>, Error> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-[]:".contains(&byte);
        if self.host.is_empty() || self.host.len() > 255 || !self.host.bytes().all(is_name) {
            return Err(Error::Settings(format!("{:?} is no name of a host", self.host)));
        }
        let mut extensions = self.extensions()?;
        let identity = if extensions.start_tls { self.identity()? } else { None };
        let tls = identity.as_ref().map(TlsServer::new).transpose()?;
        extensions.start_tls = tls.is_some();
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
            seed: self.fault_seed,
            sessions: AtomicU64::new(0),
            keeps_ledger: access_log,
        };
        let handed_on =
            identity.map(|identity| to_value(&SmtpSettings { identity: Some(identity), ..self.clone() }));
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
        Box::new(SmtpConnection::new(Arc::clone(&self.shared), session))
    }

    fn wants_peer(&self) -> bool {
        self.shared.keeps_ledger || !self.shared.faults.is_empty()
    }

    fn handed_on(&self) -> Option<&Value> {
        self.handed_on.as_ref()
    }
}
