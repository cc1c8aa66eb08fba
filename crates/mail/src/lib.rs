//! A mail engine: it delivers one message to many recipients over SMTP (RFC 5321), or makes every step of a
//! delivery but the message. It is the client of the service `smtp`: the load generator has one target, sends
//! first, and takes every status for a failure; in SMTP the server speaks first and a refusal is no failure.
//!
//! - `recipients` is the list, grouped by domain, with the names of a generated list;
//! - `route` finds the hosts for the mail of a domain, by `dns` or as a relay;
//! - `queue` holds the recipients that wait;
//! - `session` speaks in one connection, by `settings` that all share, with the addresses that may be
//!   connected to; `message` is delivered;
//! - `engine` is the loop that drives all connections, over each event interface, `connection` one of them;
//! - `context` is their shared state: counts, times, and the outcome of each recipient, which `spool` keeps
//!   beyond a kill;
//! - `joint` has several engines for one list, in threads and in processes;
//! - `loads` is the group `mail`: the engine as a workload, against a sink.
//!
//! Must never: print, write a record, or keep a statistic.

mod connection;
mod context;
pub mod dns;
mod engine;
mod joint;
mod loads;
mod message;
mod queue;
mod recipients;
mod route;
mod session;
mod settings;
mod spool;

pub use connection::{MailTls, TlsPolicy};
pub use context::{
    DeliveryEnding, DeliveryResult, JsonLines, MailCounts, MailMeasured, MailStep, NoResults, Results,
};
pub use engine::{DeliveryEngine, EVENT_INTERFACES, Until, open};
pub use joint::{
    Delivered, DeliveryPlan, DeliveryReport, JoinedDelivery, JointDelivery, MailList, MailWorker, deliver,
};
pub use loads::GROUP;
pub use message::{Message, MessageChecksum, RepeatedField};
pub use queue::QueueSettings;
pub use recipients::{DomainName, DomainSizes, GeneratedList, Recipients, list_text};
pub use route::Routing;
pub use settings::{EngineSettings, Mode, NotPermitted, Permission, SessionSettings};
pub use spool::{EarlierResults, Spool, SpoolError, SpoolFolder, SpoolTerms};

use std::io;

/// An error of an engine as a whole; an error of a recipient is a result.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The system refused a resource that the whole engine needs.
    #[error("{attempted}: {source}")]
    System {
        /// The attempt.
        attempted: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// This system, or osdyno, has no such event interface.
    #[error("this system has no event interface {0}; there are poll, select, epoll, uring and kqueue")]
    NoInterface(String),
    /// Settings contradict each other. The message names them.
    #[error("{0}")]
    Settings(String),
    /// An address that must not be connected to.
    #[error(transparent)]
    NotPermitted(#[from] NotPermitted),
    /// The DNS that routes need.
    #[error(transparent)]
    Dns(#[from] crate::dns::DnsError),
    /// An error of the parts that the engine shares with servers and load generators.
    #[error(transparent)]
    Net(#[from] net::Error),
}

impl MailError {
    pub(crate) fn at(attempted: &'static str) -> impl Fn(io::Error) -> MailError {
        move |source| MailError::System { attempted, source }
    }
}
