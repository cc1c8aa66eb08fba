//! Whether connections are encrypted, and what becomes of a host that cannot do so.

use std::collections::HashSet;
use std::io;
use std::net::IpAddr;

use net::TlsClient;
use net::load::TlsSettings;

use crate::error::MailError;
use crate::transport::Transport;

/// Whether connections are encrypted by STARTTLS (RFC 3207).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsPolicy {
    /// Never: the server is not asked.
    #[default]
    Off,
    /// Where the server offers it. A host with which it does not come about is spoken to without (RFC 7435).
    Opportunistic,
    /// Always: a server without it is one that cannot be reached.
    Required,
}

/// TLS of an engine.
#[derive(Clone, Debug, Default)]
pub struct MailTls {
    /// Whether connections are encrypted.
    pub policy: TlsPolicy,
    /// Which certificates are accepted; `None` accepts all.
    pub certificates: Option<TlsSettings>,
}

/// TLS of an engine at work.
pub(crate) struct EngineTls {
    policy: TlsPolicy,
    client: Option<TlsClient>,
    /// Hosts with which it did not come about.
    given_up: HashSet<u32>,
}

impl EngineTls {
    pub(crate) fn new(settings: &MailTls) -> Result<EngineTls, MailError> {
        let client = match settings.policy {
            TlsPolicy::Off => None,
            _ => Some(TlsClient::new(settings.certificates.as_ref())?),
        };
        Ok(EngineTls { policy: settings.policy, client, given_up: HashSet::new() })
    }

    pub(crate) fn is_required(&self) -> bool {
        self.policy == TlsPolicy::Required
    }

    /// What holds for a connection to the host.
    pub(crate) fn of_host(&self, host: u32) -> TlsPolicy {
        if self.given_up.contains(&host) { TlsPolicy::Off } else { self.policy }
    }

    /// Connections to the host are not encrypted any more.
    pub(crate) fn give_up(&mut self, host: u32) {
        self.given_up.insert(host);
    }

    pub(crate) fn start(&self, transport: &mut Transport, to: IpAddr) -> io::Result<()> {
        match &self.client {
            Some(client) => transport.start_tls(client, to),
            // Not reached: without a client no session asks for it.
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}
