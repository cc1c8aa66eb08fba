//! DNS for the delivery of mail: which hosts take the mail of a domain, and at which addresses.
//!
//! - `client` a resolver with its sockets, for a loop, `servers` which ones, `stream` one query over TCP;
//! - `resolver` from a domain to its exchangers, without sockets and without a clock;
//! - `lookup` one name and type, `cache` what is known of them, `message` queries and responses,
//!   `settings` limits and times;
//! - `answer` what comes of it;
//! - `authority` our own server, `response` what it says, `zone` what it knows, `conduct` how it behaves,
//!   `process` that server in a process of its own.

mod answer;
mod authority;
mod cache;
mod client;
mod conduct;
mod lookup;
mod message;
mod process;
mod resolver;
mod response;
pub mod servers;
mod settings;
mod stream;
#[cfg(test)]
mod tests;
mod zone;

pub use answer::{DnsFailure, Exchanger, RouteAnswer};
pub use authority::Authority;
pub use client::{DnsClient, DnsError};
pub use conduct::{AuthorityConduct, AuthorityCounts};
pub use lookup::{Transmit, Transport};
pub use process::{NAMES_ROLE, NameServer, NameServerPlan, serve_names};
pub use resolver::Resolver;
pub use response::respond;
pub use settings::ResolverSettings;
pub use zone::{DomainKind, ZoneHost, ZonePlan};
