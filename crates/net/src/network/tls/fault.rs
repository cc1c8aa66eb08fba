//! What can go wrong with TLS, each under one name, as failures of a load are counted.

use std::fmt;
use std::io;

use rustls::{AlertDescription, CertificateError, Error};

/// Why a connection cannot be used, or not any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TlsFault {
    /// Nobody that is trusted has signed the certificate.
    Untrusted,
    /// Its time is over.
    Expired,
    /// Its time has not begun.
    NotYetValid,
    /// It is for other names.
    OtherName,
    /// Something else is wrong with it.
    Certificate,
    /// The server speaks something else than TLS.
    NoTls,
    /// No version or cipher that both ends have.
    Incompatible,
    /// The server has said so; the number of its alert (RFC 8446, section 6).
    Alert(u8),
    /// The connection ended before the handshake did.
    Unfinished,
    /// The connection ended without a word that it would: bytes may be missing.
    Truncated,
    /// The server broke the protocol, or somebody on the way did.
    Broken,
}

impl TlsFault {
    pub(super) fn of(error: Error) -> TlsFault {
        match error {
            Error::InvalidCertificate(error) => TlsFault::of_certificate(&error),
            Error::InvalidMessage(_) => TlsFault::NoTls,
            Error::PeerIncompatible(_) | Error::NoApplicationProtocol => TlsFault::Incompatible,
            Error::AlertReceived(alert) => TlsFault::Alert(alert.into()),
            _ => TlsFault::Broken,
        }
    }

    fn of_certificate(error: &CertificateError) -> TlsFault {
        match error {
            // An authority of that name is trusted, and has another key.
            CertificateError::BadSignature => TlsFault::Untrusted,
            // Mostly one that `openssl req -x509` made, which nobody has named as trusted: see `Named`.
            CertificateError::UnknownIssuer | CertificateError::Other(_) => TlsFault::Untrusted,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsFault::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                TlsFault::NotYetValid
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                TlsFault::OtherName
            }
            _ => TlsFault::Certificate,
        }
    }

    /// The fault that an error of a socket stands for.
    pub(crate) fn in_error(error: &io::Error) -> Option<TlsFault> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<TlsFault> for io::Error {
    fn from(fault: TlsFault) -> io::Error {
        let kind = match fault {
            TlsFault::Unfinished | TlsFault::Truncated => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, fault)
    }
}

impl std::error::Error for TlsFault {}

impl fmt::Display for TlsFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            TlsFault::Alert(number) => {
                return write!(out, "TLS alert {:?}", AlertDescription::from(number));
            }
            TlsFault::Untrusted => "untrusted certificate",
            TlsFault::Expired => "expired certificate",
            TlsFault::NotYetValid => "certificate not yet valid",
            TlsFault::OtherName => "certificate for another name",
            TlsFault::Certificate => "invalid certificate",
            TlsFault::NoTls => "no TLS",
            TlsFault::Incompatible => "no TLS version or cipher in common",
            TlsFault::Unfinished => "closed during the TLS handshake",
            TlsFault::Truncated => "closed without close_notify",
            TlsFault::Broken => "TLS protocol violated",
        };
        out.write_str(name)
    }
}
