//! A mail engine: it delivers one message to many recipients over SMTP (RFC 5321), or makes every step of a
//! delivery but the message.
//!
//! - `recipients` the list, grouped by domain, and `names` those of a generated list;
//! - `route` where the mail of a domain goes, by `dns` or to a relay;
//! - `queue` which recipients wait, and for what;
//! - `session` what is said in one connection, `settings` what all have in common, `transaction` what was
//!   answered, `message` what is delivered, `header` the fields that it has;
//! - `engine` the loop that drives all connections, `connection` one of them, `transport` what it is spoken
//!   over, `tls` whether that is encrypted, `context` what they share, `events` what it waits over, `threads`
//!   several engines, `share` what each has;
//! - `permission` which addresses may be connected to at all;
//! - `result` what became of each recipient, `spool` keeps that beyond a kill, `measured` what was counted
//!   and how long each step took;
//! - `loads` the group `mail`: the engine as a workload, against a sink.
//!
//! Must never: print, write a record, or keep a statistic.

mod connection;
mod context;
pub mod dns;
mod engine;
mod error;
mod events;
mod header;
mod loads;
mod measured;
mod message;
pub mod names;
mod permission;
mod queue;
mod recipients;
mod result;
mod route;
mod session;
mod settings;
mod share;
mod spool;
mod threads;
mod tls;
mod transaction;
mod transport;

pub use engine::{Engine, EngineSettings, Until};
pub use error::MailError;
pub use events::{DeliveryEngine, EVENT_INTERFACES, open};
pub use loads::GROUP;
pub use measured::{MailCounts, MailMeasured, MailStep};
pub use message::{Message, MessageChecksum, RepeatedField};
pub use permission::{NotPermitted, Permission};
pub use queue::QueueSettings;
pub use recipients::{DomainSizes, GeneratedList, Recipients, list_text};
pub use result::{DeliveryEnding, DeliveryResult, JsonLines, NoResults, Results};
pub use route::Routing;
pub use settings::{Mode, SessionSettings};
pub use spool::{EarlierResults, Spool, SpoolError, SpoolFolder, SpoolTerms};
pub use threads::{Delivered, DeliveryPlan, deliver};
pub use tls::{MailTls, TlsPolicy};
