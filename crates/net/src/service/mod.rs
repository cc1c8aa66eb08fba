//! Services: the server's side of protocols, state machines that take bytes and give bytes, without a socket.
//!
//! A new service is a new file here, its `mod` line and its line in [`ALL`]. The file declares its settings;
//! `serve`, `list`, `explain` and the conformance table use that declaration, and every architecture serves
//! it unchanged.

pub mod busy;
mod definition;
pub mod echo;
pub mod http;
pub mod smtp;

pub use definition::{Flow, OpenService, Service, ServiceSettings, Session, SessionStage};

use crate::Error;

/// Every service.
pub const ALL: &[Service] = &[
    Service::of::<busy::BusySettings>(),
    Service::of::<echo::EchoSettings>(),
    Service::of::<http::HttpSettings>(),
    Service::of::<smtp::SmtpSettings>(),
];

/// The service of that name.
///
/// # Errors
/// [`Error::Unknown`].
pub fn find(name: &str) -> Result<&'static Service, Error> {
    ALL.iter().find(|service| service.name == name).ok_or_else(|| Error::Unknown {
        kind: "service",
        name: name.to_owned(),
        known: ALL.iter().map(|service| service.name).collect::<Vec<_>>().join(", "),
    })
}
