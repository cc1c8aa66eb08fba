//! Remedies for failures: the option that a user may have missed, or the place of the cause.

use net::load::{Failure, FailureKind, LoadSettings, RequestStage};

/// The remedy for the first of these failures that has one: those of a protocol come first, because they
/// cause connections to be closed.
pub(super) fn first(failures: &[&Failure], settings: &LoadSettings) -> Option<String> {
    let of_protocol = failures.iter().find_map(|failure| protocol_hint(failure.kind)).map(str::to_owned);
    of_protocol.or_else(|| failures.iter().find_map(|failure| connection_hint(failure, settings)))
}

/// The remedy for a response, a certificate, or another protocol.
fn protocol_hint(kind: FailureKind) -> Option<&'static str> {
    Some(match kind {
        FailureKind::Content => "if the page differs from response to response, add --any-body",
        FailureKind::CertificateUntrusted => {
            "the certificate of the server is signed by none that is trusted: name the one that signed it, \
             or itself, with --cacert FILE, or accept any with --insecure"
        }
        FailureKind::CertificateNotValidToday => {
            "the certificate of the server is not valid today: renew it, or accept any with --insecure"
        }
        FailureKind::CertificateForOtherName => {
            "the certificate of the server is for other names: load it by one of those, or accept any with \
             --insecure"
        }
        FailureKind::CertificateInvalid => "accept any certificate with --insecure",
        FailureKind::NoTls => "the server does not speak TLS at this port: load it as http://",
        FailureKind::NoHttp2 => "the server does not speak HTTP/2 at this port: leave --http2 out",
        FailureKind::NoProtocol => {
            "the server does not speak this version of HTTP at this port: try it with --http2, or without"
        }
        FailureKind::CertificateRequired => {
            "the server demands a certificate of its clients (mutual TLS), and osdyno load has none: load it \
             at a port that demands none"
        }
        FailureKind::HandshakeRefused => {
            "the server refused the handshake: it may demand a certificate of its clients (mutual TLS), and \
             osdyno load has none"
        }
        _ => return None,
    })
}

/// What to do about connections that are refused, closed, or not closed, and about statuses.
fn connection_hint(failure: &Failure, settings: &LoadSettings) -> Option<String> {
    let target = &settings.target;
    Some(match (failure.stage, failure.kind) {
        (_, FailureKind::Refused) => {
            format!("no server accepts connections at {target}: start it, or check the port")
        }
        (RequestStage::Connect, FailureKind::NoSocket) => {
            format!("there is no socket {target}: start the server, or check the path")
        }
        (RequestStage::Connect, FailureKind::Timeout | FailureKind::Unreachable) => {
            format!("no connection to {target} came about: check the address, and firewalls on the way")
        }
        (_, FailureKind::LeftOpen) => {
            "the server announces that it closes the connection, and leaves it open: it was closed from this \
             side after 100 ms (RFC 9112, section 9.6)"
                .to_owned()
        }
        (_, FailureKind::Closed) => {
            "the server closes connections without an announcement (Connection: close): it may limit their \
             requests or their number; stay below with --per-connection N or a lower -c, or use \
             --new-connections"
                .to_owned()
        }
        (_, FailureKind::Status(status)) => status_hint(status, settings.tls.is_some()),
        _ => return None,
    })
}

fn status_hint(status: u16, is_secure: bool) -> String {
    match status {
        301 | 302 | 303 | 307 | 308 => {
            format!("the server redirects: load the address that it names, or add --expect-status {status}")
        }
        401 => "the server demands credentials: give them with -H @FILE, as Authorization: …".to_owned(),
        // nginx refuses a client without a certificate by this status.
        400 if is_secure => {
            "if 400 is the correct status, add --expect-status 400; a server may also mean that it demands a \
             certificate of its clients (mutual TLS), and osdyno load has none"
                .to_owned()
        }
        _ => format!("if {status} is the correct status, add --expect-status {status}"),
    }
}
