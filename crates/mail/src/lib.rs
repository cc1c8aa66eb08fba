//! A mail engine: it delivers one message to many recipients over SMTP (RFC 5321), or makes every step of a
//! delivery but the message.
//!
//! - `recipients` is the list, grouped by domain, with the names of a generated list;
//! - `route` finds the hosts for the mail of a domain, by `dns` or as a relay;
//! - `queue` holds the recipients that wait;
//! - `session` speaks in one connection, by `settings` that all share; `transaction` keeps the replies,
//!   `message` is delivered;
//! - `engine` is the loop that drives all connections, `connection` one of them, `context` their shared
//!   state, `events` the event interfaces, `threads` several engines, `joint` several processes of them;
//! - `permission` lists the addresses that may be connected to;
//! - `result` is the outcome of each recipient, `spool` keeps it beyond a kill, `measured` has counts and
//!   times;
//! - `loads` is the group `mail`: the engine as a workload, against a sink.
//!
//! Must never: print, write a record, or keep a statistic.

mod connection;
mod context;
pub mod dns;
mod engine;
mod events;
mod joint;
mod loads;
mod measured;
mod message;
mod permission;
mod queue;
mod recipients;
mod result;
mod route;
mod session;
mod settings;
mod spool;
mod threads;
mod transaction;

pub use connection::{MailTls, TlsPolicy};
pub use engine::{Engine, EngineSettings, Until};
pub use events::{DeliveryEngine, EVENT_INTERFACES, open};
pub use joint::{DeliveryReport, JoinedDelivery, JointDelivery, MailList, MailWorker};
pub use loads::GROUP;
pub use measured::{MailCounts, MailMeasured, MailStep};
pub use message::{Message, MessageChecksum, RepeatedField};
pub use permission::{NotPermitted, Permission};
pub use queue::QueueSettings;
pub use recipients::{DomainName, DomainSizes, GeneratedList, Recipients, list_text};
pub use result::{DeliveryEnding, DeliveryResult, JsonLines, NoResults, Results};
pub use route::Routing;
pub use settings::{Mode, SessionSettings};
pub use spool::{EarlierResults, Spool, SpoolError, SpoolFolder, SpoolTerms};
pub use threads::{Delivered, DeliveryPlan, deliver};

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
