//! DNS for the delivery of mail: which hosts take the mail of a domain, and at which addresses.
//!
//! - here are the answers: the route of a domain's mail, or the reason why there is none;
//! - `client` is a resolver with its sockets, for a loop;
//! - `resolver` finds the exchangers of a domain, without sockets and without a clock;
//! - `lookup` finds one name and type, with a cache; `message` writes queries and reads responses;
//! - `authority` is our own server, `response` writes its responses from a `zone`; `process` runs that server
//!   in a process of its own.

mod authority;
mod client;
mod lookup;
mod message;
mod process;
mod resolver;
mod response;
#[cfg(test)]
mod tests;
mod zone;

pub use authority::{Authority, AuthorityConduct, AuthorityCounts};
pub use client::{DnsClient, DnsError, servers_of_resolv_conf};
pub use lookup::{Transmit, Transport};
pub use process::{NAMES_ROLE, NameServer, NameServerPlan, serve_names};
pub use resolver::{Resolver, ResolverSettings};
pub use response::respond;
pub use zone::{DomainKind, ZoneHost, ZonePlan};

use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;

use domain::base::Name;

/// A name as it is in messages, in lower case.
type HostName = Name<Vec<u8>>;

/// Where the mail of a domain goes (RFC 5321, section 5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteAnswer {
    /// To these hosts, the first to be tried first; those of the same preference in random order. Each has an
    /// address.
    Exchangers(Vec<Exchanger>),
    /// Nowhere, which the domain declares (RFC 7505). Permanent.
    NullMx,
    /// There is no such domain. Permanent.
    NoSuchDomain,
    /// The domain has neither exchangers with an address nor, without exchangers, an address. Permanent.
    NoExchanger,
    /// The lookup failed; another attempt may succeed.
    Temporary(DnsFailure),
}

/// A host that takes mail for a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchanger {
    /// The lowest comes first.
    pub preference: u16,
    /// Its name, without the last dot; of a domain without records MX its own.
    pub host: String,
    /// One at least, those of IPv4 first.
    pub addresses: Vec<IpAddr>,
}

/// Why a lookup failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DnsFailure {
    /// No server has replied in time.
    NoReply,
    /// SERVFAIL.
    ServerFailure,
    /// REFUSED.
    Refused,
    /// FORMERR, NOTIMP, or a code that a query cannot be answered with.
    NotImplemented,
    /// The server named others instead of asking them.
    Lame,
    /// The response cannot be read.
    Malformed,
    /// The server cannot be reached, or closed the connection.
    Unreachable,
    /// A name is an alias of itself, or of an alias of it, or behind more than eight.
    AliasLoop,
}

impl Display for DnsFailure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            DnsFailure::NoReply => "no reply from DNS servers",
            DnsFailure::ServerFailure => "DNS server failure (SERVFAIL)",
            DnsFailure::Refused => "DNS server refused the query (REFUSED)",
            DnsFailure::NotImplemented => "DNS server does not understand the query",
            DnsFailure::Lame => "DNS server neither knows the domain nor asks others",
            DnsFailure::Malformed => "malformed response from DNS server",
            DnsFailure::Unreachable => "DNS server cannot be reached",
            DnsFailure::AliasLoop => "loop of CNAME records, or more than 8 in a row",
        })
    }
}

/// The answer for a name and a type.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Exchangers(Vec<(u16, HostName)>),
    Addresses(Vec<IpAddr>),
    /// The name exists, and has no such record.
    Nothing,
    NoSuchDomain,
    Failed(DnsFailure),
}
