//! The counts of a generator: times, in a histogram of three significant digits, from a nanosecond to ten
//! minutes, with the latencies of the last second for display; and failures, by the stage of a request and
//! the system's name for the cause.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use rustls::AlertDescription;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::client::ResponseError;
use crate::http2::Http2Fault;
use crate::network::TlsFault;

/// A histogram of nanoseconds. In JSON it is the compressed form of HdrHistogram V2 in base64, as other tools
/// of that family read and write it.
#[derive(Clone, Debug)]
pub struct Times(Histogram<u64>);

/// Longer times are counted as this.
const LONGEST_NS: u64 = 600_000_000_000;

/// Known to one part in a thousand.
const SIGNIFICANT_DIGITS: u8 = 3;

impl Times {
    /// An empty one, of 250 KB for any content.
    ///
    /// # Errors
    /// None: the bounds are sound.
    pub fn new() -> Result<Times, Error> {
        Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS)
            .map(Times)
            .map_err(|error| Error::at("make a histogram of ten minutes")(io::Error::other(error)))
    }

    /// Counts a time.
    #[inline(always)]
    pub fn record(&mut self, time_ns: u64) {
        self.0.saturating_record(time_ns);
    }

    /// Adds all of another.
    pub fn add(&mut self, other: &Times) {
        // Both have the same bounds, so nothing can be out of them.
        let _ = self.0.add(&other.0);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if !self.0.is_empty() {
            self.0.reset();
        }
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    pub(crate) fn max_ns(&self) -> u64 {
        self.0.max()
    }

    /// The smallest; 0 without any.
    pub(crate) fn min_ns(&self) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.min() }
    }

    pub(crate) fn mean_ns(&self) -> f64 {
        self.0.mean()
    }

    /// The time below which this share lies, from 0 to 1.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        self.0.value_at_quantile(share)
    }

    /// The times that came, and how often; to one part in a thousand.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// For each of these rising times, how many are not longer.
    pub fn counts_until(&self, rising_ns: &[u64]) -> Vec<u64> {
        let mut counts = Vec::with_capacity(rising_ns.len());
        let mut sum = 0;
        for step in self.0.iter_recorded() {
            while rising_ns.get(counts.len()).is_some_and(|&time| time < step.value_iterated_to()) {
                counts.push(sum);
            }
            sum += step.count_at_value();
        }
        counts.resize(rising_ns.len(), sum);
        counts
    }

    /// The compressed form of V2 in base64.
    pub fn encoded(&self) -> String {
        let mut bytes = Vec::new();
        // Writing into memory does not fail.
        let _ = V2DeflateSerializer::new().serialize(&self.0, &mut bytes);
        STANDARD.encode(bytes)
    }

    /// Reads the output of [`Times::encoded`].
    pub(crate) fn decoded(text: &str) -> Option<Times> {
        let bytes = STANDARD.decode(text).ok()?;
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
        // Its own bounds are as narrow as its contents.
        let mut times = Times::new().ok()?;
        times.0.add(&read).ok()?;
        Some(times)
    }
}

impl Serialize for Times {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.encoded())
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Times, D::Error> {
        let text = String::deserialize(from)?;
        Times::decoded(&text).ok_or_else(|| serde::de::Error::custom("not a histogram"))
    }
}

/// The latencies of the last second, rounded to one part in 32, and how often each came. Requests do not
/// record them: they are the difference of the slices since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recent(BTreeMap<u64, u64>);

/// Bits of a latency that are kept; the first one is always set.
const BITS: u32 = 6;

impl Recent {
    pub(super) fn from_times(times: &Times) -> Recent {
        let mut counts = BTreeMap::new();
        times.counts().for_each(|(ns, count)| *counts.entry(rounded(ns)).or_default() += count);
        Recent(counts)
    }

    /// Adds those of another generator.
    pub(super) fn add(&mut self, other: &Recent) {
        other.0.iter().for_each(|(ns, count)| *self.0.entry(*ns).or_default() += count);
    }

    /// Removes those that were there earlier.
    pub(super) fn subtract(&mut self, earlier: &Recent) {
        for (ns, count) in &mut self.0 {
            *count -= earlier.0.get(ns).copied().unwrap_or(0).min(*count);
        }
    }

    /// The latency that this share does not exceed, from 0 to 1, in seconds; `None` without any.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let all: u64 = self.0.values().sum();
        let mut left = ((all as f64 * share).ceil() as u64).max(1);
        let reaches = |(_, count): &(&u64, &u64)| {
            let is_there = left <= **count;
            left -= (**count).min(left);
            is_there
        };
        self.0.iter().find(reaches).map(|(ns, _)| *ns as f64 / 1e9)
    }
}

/// The middle of those that begin with the same bits.
fn rounded(ns: u64) -> u64 {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(BITS);
    ((ns >> shift) << shift) + (1_u64 << shift) / 2
}

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

/// A cause with a known place or remedy.
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
pub(super) fn merged_failures(lists: impl Iterator<Item = Vec<Failure>>) -> Vec<Failure> {
    let mut sums: BTreeMap<(RequestStage, String, FailureKind), u64> = BTreeMap::new();
    for failure in lists.flatten() {
        *sums.entry((failure.stage, failure.cause, failure.kind)).or_default() += failure.count;
    }
    let of = |((stage, cause, kind), count)| Failure { stage, cause, kind, count };
    let mut merged: Vec<Failure> = sums.into_iter().map(of).collect();
    merged.sort_by_key(|failure| std::cmp::Reverse(failure.count));
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_known_to_one_part_in_32() {
        for ns in [1, 31, 32, 63, 64, 1000, 123_456, 98_765_432_100_u64] {
            let error = (rounded(ns) as f64 - ns as f64).abs() / ns as f64;
            assert!(error <= 1.0 / 32.0, "{ns}: {error}");
        }
    }

    #[test]
    fn quantiles_are_those_of_sorted_latencies() {
        let mut times = Times::new().unwrap();
        (1..=50_u64).for_each(|ns| times.record(ns));
        let recent = Recent::from_times(&times);
        assert_eq!(recent.quantile(0.5), Some(25e-9));
        assert_eq!((recent.quantile(0.0), recent.quantile(1.0)), (Some(1e-9), Some(50e-9)));
        assert_eq!(Recent::default().quantile(0.5), None);
    }
}
