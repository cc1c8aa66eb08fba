//! The outcome of each recipient, as lines of JSON. `docs/mail.md` has their fields.

use std::io::{self, Write};
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The version of the lines. A field is added without another; one that changes its meaning takes one.
///
/// Version 1 had `reason` for the text of a reply too, none for accepted recipients, and `delivered` for
/// `tested`.
pub(crate) const RESULTS_VERSION: u32 = 2;

/// How a recipient ended. Each ends in exactly one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryEnding {
    /// The server took the message.
    Delivered,
    /// The server took the address. Test mode sends no message.
    Tested,
    /// It never can be: a reply 5xx, or a domain that takes no mail.
    Failed,
    /// Attempts or time were over: it is still to be delivered.
    Queued,
}

/// The outcome of one recipient.
#[derive(Clone, Debug, Serialize)]
pub struct DeliveryResult<'a> {
    /// The version of the lines; docs/mail.md has the fields of each.
    pub version: u32,
    /// Its place in the list that was given, from 0.
    pub number: u32,
    /// Its address, as it was given.
    pub recipient: &'a str,
    /// How it ended.
    pub ending: DeliveryEnding,
    /// The code of the reply that decided, where it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// The text of that reply.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reply: &'a str,
    /// Why no reply decided.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'a str,
    /// The exchanger of the last attempt, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchanger: Option<SocketAddr>,
    /// Attempts that were made.
    pub attempts: u8,
}

/// The destination of results.
pub trait Results {
    /// Takes a result.
    ///
    /// # Errors
    /// The error of writing: the engine then stops.
    fn put(&mut self, result: &DeliveryResult<'_>) -> io::Result<()>;

    /// The engine is about to wait: results that must survive it are given to the system.
    ///
    /// # Errors
    /// The error of writing: the engine then stops.
    fn turn_ended(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// All results are with the system.
    ///
    /// # Errors
    /// The error of writing.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Only the counts of the engine are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoResults;

impl Results for NoResults {
    fn put(&mut self, _result: &DeliveryResult<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// A line of JSON for each result.
#[derive(Debug)]
pub struct JsonLines<W: Write>(io::BufWriter<W>);

impl<W: Write> JsonLines<W> {
    /// Lines go there, in large pieces.
    pub fn new(writer: W) -> JsonLines<W> {
        JsonLines(io::BufWriter::with_capacity(64 << 10, writer))
    }
}

impl<W: Write> Results for JsonLines<W> {
    fn put(&mut self, result: &DeliveryResult<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, result)?;
        self.0.write_all(b"\n")
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
