//! Services: the server's side of protocols, state machines that take bytes and give bytes, without a socket.
//!
//! A new service is a new file here, its `mod` line and its line in [`ALL`]. The file declares its settings;
//! `serve`, `list`, `explain` and the conformance table use that declaration, and every architecture serves
//! it unchanged.

pub mod busy;
pub mod echo;
pub mod http;
pub mod smtp;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgMatches, Args, Command};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Error;
use crate::options::{from_matches, from_value};
use crate::output::Output;

/// Every service.
pub const ALL: &[Service] = &[
    Service::new::<busy::BusySettings>(),
    Service::new::<echo::EchoSettings>(),
    Service::new::<http::HttpSettings>(),
    Service::new::<smtp::SmtpSettings>(),
];

/// The service of that name.
///
/// # Errors
/// [`Error::Unknown`].
pub fn find(name: &str) -> Result<&'static Service, Error> {
    let found = ALL.iter().find(|service| service.name == name);
    found.ok_or_else(|| Error::unknown("service", name, ALL.iter().map(|one| one.name)))
}

/// Settings of a service, with its options on the command line, and its other declarations.
pub trait ServiceSettings: Default + Args + Serialize + DeserializeOwned {
    /// Name on the command line.
    const NAME: &'static str;
    /// The leading `//!` lines of its own file.
    const SOURCE: &'static str;
    /// The field of the settings that names a folder whose files are served; a server on another host is sent
    /// them.
    const FOLDER: Option<&'static str> = None;

    /// Makes the service ready. With `access_log` sessions write lines into [`Output::log`].
    ///
    /// # Errors
    /// [`Error::Settings`] names invalid settings, [`Error::System`] has the error of the system.
    fn open(&self, access_log: bool) -> Result<Arc<dyn OpenService>, Error>;

    /// The service and its address, in a few words.
    fn describe(&self, address: SocketAddr) -> String {
        format!("{} at {address}", Self::NAME)
    }
}

/// A service that is ready, or why it cannot be.
type Opened = Result<Arc<dyn OpenService>, Error>;

/// A protocol that can be served, as it is listed and chosen.
#[derive(Debug)]
pub struct Service {
    /// Name on the command line.
    pub name: &'static str,
    /// The leading `//!` lines of its own file.
    pub source: &'static str,
    /// Adds its options to a command.
    pub options: fn(Command) -> Command,
    /// Its settings as a command line gives them.
    pub settings: fn(&ArgMatches) -> Result<Value, clap::Error>,
    /// The field of its settings that names a folder whose files are served.
    pub(crate) folder: Option<&'static str>,
    open: fn(&Value, bool) -> Opened,
    describe: fn(&Value, SocketAddr) -> Result<String, Error>,
}

impl Service {
    const fn new<S: ServiceSettings>() -> Service {
        Service {
            name: S::NAME,
            source: S::SOURCE,
            options: S::augment_args,
            settings: from_matches::<S>,
            folder: S::FOLDER,
            open: |settings, access_log| from_value::<S>(S::NAME, settings)?.open(access_log),
            describe: |settings, address| Ok(from_value::<S>(S::NAME, settings)?.describe(address)),
        }
    }

    /// The text that opens its file: its protocol and its use.
    pub fn page(&self) -> String {
        record::page(self.source)
    }

    /// The page's first sentence.
    pub fn summary(&self) -> String {
        record::summary(self.source)
    }

    /// Makes it ready, with settings that were handed on. See [`ServiceSettings::open`].
    ///
    /// # Errors
    /// Those of [`ServiceSettings::open`], and [`Error::Settings`] for settings of another service.
    pub fn open(&self, settings: &Value, access_log: bool) -> Result<Arc<dyn OpenService>, Error> {
        (self.open)(settings, access_log)
    }

    /// The service and its address, in a few words.
    ///
    /// # Errors
    /// [`Error::Settings`] for settings of another service.
    pub fn describe(&self, settings: &Value, address: SocketAddr) -> Result<String, Error> {
        (self.describe)(settings, address)
    }
}

/// A service that is ready; all sessions share it, over all threads.
pub trait OpenService: Send + Sync {
    /// A session for a new connection. `peer` is known only if the service needs it.
    fn session(&self, peer: Option<SocketAddr>) -> Box<dyn Session>;

    /// Whether sessions need the address of the peer, which costs a system call.
    fn wants_peer(&self) -> bool {
        false
    }

    /// Whether the server has to end when a line of its log cannot be written, because its log must be
    /// complete.
    fn needs_log(&self) -> bool {
        false
    }

    /// Stack that its sessions need beyond that of a connection; threads of connections have small ones.
    fn stack_bytes(&self) -> usize {
        0
    }

    /// Settings with which another process opens the same service, if it has made a part that all must share.
    fn handed_on(&self) -> Option<&Value> {
        None
    }
}

/// The server's side of one connection.
///
/// A session that is idle holds no buffers: thousands of them may be open.
pub trait Session: Send {
    /// Output before the client has sent anything.
    fn begin(&mut self, output: &mut Output) -> Flow {
        let _ = output;
        Flow::More
    }

    /// Takes input, of any length, cut anywhere, and gives the output. All of the input is taken.
    fn on_input(&mut self, input: &[u8], output: &mut Output) -> Flow;

    /// The other end has finished sending; it may still receive.
    fn end(&mut self, output: &mut Output) -> Flow {
        let _ = output;
        Flow::Close
    }

    /// The client took too long in the middle of a request.
    fn too_slow(&mut self, output: &mut Output) -> Flow {
        let _ = output;
        Flow::Close
    }

    /// The time of [`SessionStage::Paused`] is over.
    fn resume(&mut self, output: &mut Output) -> Flow {
        let _ = output;
        Flow::More
    }

    /// The stage of the session, which decides its time limit.
    fn stage(&self) -> SessionStage;
}

/// The next step of the connection once the output has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Wait for more input.
    More,
    /// Close: all input was taken.
    Close,
    /// Finish sending, then take and drop input for a while before closing. A close with input unread resets
    /// the connection and may take the response with it (RFC 9112, section 9.6).
    Linger,
    /// Drop the output, and close by a reset: the other end is to see a connection that broke.
    Reset,
}

/// The stage of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStage {
    /// Between requests: it may stay open and idle for long.
    Idle,
    /// In the middle of a request: the rest must come soon.
    Request,
    /// In the middle of data whose length is the client's choice: more of it must come soon, and the limit of
    /// a request begins anew with each piece (RFC 5321, section 4.5.3.2.5).
    Data,
    /// It pauses for so long, and then [`Session::resume`] is called: late by up to a tick of 128 ms, or of
    /// 200 ms where calls wait. Back-pressure: meanwhile nothing is received, neither input nor its end.
    /// Input that was received before the pause was known is taken all the same.
    Paused(Duration),
}
