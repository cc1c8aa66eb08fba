//! Failures, by the stage of a request and the system's name for the cause.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

use rustls::AlertDescription;
use serde::{Deserialize, Serialize};

use crate::client::ResponseError;
use crate::http2::Http2Fault;
use crate::network::TlsFault;

/// The stage of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStage {
    /// The connection was being made.
    Connect,
    /// The request was being sent.
    Send,
    /// Nothing of the response had come.
    FirstByte,
    /// The response was coming.
    Body,
    /// The response was there, and the server was to close.
    Close,
    /// No request was under way.
    Idle,
}

impl RequestStage {
    /// The stage in reports.
    pub fn name(self) -> &'static str {
        match self {
            RequestStage::Connect => "connect",
            RequestStage::Send => "send",
            RequestStage::FirstByte => "first byte",
            RequestStage::Body => "body",
            RequestStage::Close => "close",
            RequestStage::Idle => "idle",
        }
    }
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Cause {
    /// An error of the system.
    Errno(i32),
    Timeout,
    /// The server announced that it closes the connection, and left it open.
    LeftOpen,
    ResponseError(ResponseError),
    Tls(TlsFault),
    Http2(Http2Fault),
    /// An error of the system without a number.
    Other,
}

/// A cause of which something is known: where it lies, or what helps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// No server accepts connections.
    Refused,
    /// There is no socket of that path.
    NoSocket,
    /// Nothing answers at that address.
    Unreachable,
    /// The response did not come in time.
    Timeout,
    /// The server closed the connection without an announcement.
    Closed,
    /// The server announced that it closes the connection, and left it open.
    LeftOpen,
    /// The response has another status than expected.
    Status(u16),
    /// The response has another content than expected.
    Content,
    /// No trusted authority has signed the certificate.
    CertificateUntrusted,
    /// The certificate is not valid today.
    CertificateNotValidToday,
    /// The certificate is for another name.
    CertificateForOtherName,
    /// Something else is wrong with the certificate.
    CertificateInvalid,
    /// The server does not speak TLS.
    NoTls,
    /// The server speaks none of the protocols that it was offered in TLS.
    NoProtocol,
    /// The server demands a certificate.
    CertificateRequired,
    /// The server refused the handshake; TLS 1.2 has no other alert for a missing certificate.
    HandshakeRefused,
    /// The server does not speak HTTP/2.
    NoHttp2,
    /// Any other.
    #[default]
    Other,
}

impl Cause {
    fn kind(self) -> FailureKind {
        match self {
            Cause::Errno(number) => match io::Error::from_raw_os_error(number).kind() {
                ErrorKind::ConnectionRefused => FailureKind::Refused,
                ErrorKind::NotFound => FailureKind::NoSocket,
                ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
                    FailureKind::Unreachable
                }
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => FailureKind::Closed,
                _ => FailureKind::Other,
            },
            Cause::Timeout => FailureKind::Timeout,
            Cause::LeftOpen => FailureKind::LeftOpen,
            Cause::ResponseError(ResponseError::Status(status)) => FailureKind::Status(status),
            Cause::ResponseError(ResponseError::Content) => FailureKind::Content,
            Cause::ResponseError(ResponseError::Short) => FailureKind::Closed,
            Cause::ResponseError(ResponseError::Malformed | ResponseError::Unasked) => FailureKind::Other,
            Cause::Tls(fault) => of_tls(fault),
            Cause::Http2(Http2Fault::NotSpoken) => FailureKind::NoHttp2,
            Cause::Http2(_) | Cause::Other => FailureKind::Other,
        }
    }

    fn name(self) -> String {
        match self {
            Cause::Errno(number) => sys::error::name(&io::Error::from_raw_os_error(number)),
            Cause::Timeout => "timeout".to_owned(),
            Cause::LeftOpen => "left open".to_owned(),
            Cause::Tls(fault) => fault.to_string(),
            Cause::Http2(fault) => fault.to_string(),
            Cause::Other => "error".to_owned(),
            Cause::ResponseError(ResponseError::Malformed) => "malformed".to_owned(),
            Cause::ResponseError(ResponseError::Status(status)) => format!("status {status}"),
            Cause::ResponseError(ResponseError::Content) => "wrong content".to_owned(),
            Cause::ResponseError(ResponseError::Short) => "closed early".to_owned(),
            Cause::ResponseError(ResponseError::Unasked) => "unasked bytes".to_owned(),
        }
    }
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Cause {
        let tls = || TlsFault::in_error(&error).map(Cause::Tls);
        let http2 = || Http2Fault::in_error(&error).map(Cause::Http2);
        error.raw_os_error().map(Cause::Errno).or_else(tls).or_else(http2).unwrap_or(Cause::Other)
    }
}

fn of_tls(fault: TlsFault) -> FailureKind {
    match fault {
        TlsFault::Untrusted => FailureKind::CertificateUntrusted,
        TlsFault::Expired | TlsFault::NotYetValid => FailureKind::CertificateNotValidToday,
        TlsFault::OtherName => FailureKind::CertificateForOtherName,
        TlsFault::Certificate => FailureKind::CertificateInvalid,
        TlsFault::NoTls => FailureKind::NoTls,
        TlsFault::Truncated => FailureKind::Closed,
        TlsFault::Alert(number) => match AlertDescription::from(number) {
            AlertDescription::NoApplicationProtocol => FailureKind::NoProtocol,
            AlertDescription::CertificateRequired => FailureKind::CertificateRequired,
            AlertDescription::HandshakeFailure | AlertDescription::BadCertificate => {
                FailureKind::HandshakeRefused
            }
            _ => FailureKind::Other,
        },
        TlsFault::Incompatible | TlsFault::Unfinished | TlsFault::Broken => FailureKind::Other,
    }
}

/// Failures of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The stage of the requests.
    pub stage: RequestStage,
    /// `ECONNRESET`, `timeout`, `status 503`, `wrong content`…
    pub cause: String,
    /// Its kind.
    #[serde(default)]
    pub kind: FailureKind,
    /// How many.
    pub count: u64,
}

/// The counts while a generator runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    /// There are few kinds, and failures are no hot path.
    counts: BTreeMap<(RequestStage, Cause), u64>,
}

impl Failures {
    pub(super) fn count(&mut self, stage: RequestStage, cause: Cause) {
        *self.counts.entry((stage, cause)).or_default() += 1;
    }

    pub(super) fn take(&mut self) -> Vec<Failure> {
        let counts = std::mem::take(&mut self.counts);
        counts
            .into_iter()
            .map(|((stage, cause), count)| Failure { stage, cause: cause.name(), kind: cause.kind(), count })
            .collect()
    }
}

/// Failures of several generators together, the most frequent first.
pub(super) fn merged(lists: impl Iterator<Item = Vec<Failure>>) -> Vec<Failure> {
    let mut sums: BTreeMap<(RequestStage, String, FailureKind), u64> = BTreeMap::new();
    for failure in lists.flatten() {
        *sums.entry((failure.stage, failure.cause, failure.kind)).or_default() += failure.count;
    }
    let of = |((stage, cause, kind), count)| Failure { stage, cause, kind, count };
    let mut merged: Vec<Failure> = sums.into_iter().map(of).collect();
    merged.sort_by_key(|failure| std::cmp::Reverse(failure.count));
    merged
}
