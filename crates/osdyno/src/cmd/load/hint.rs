//! What to do about failures: the option that a user may have missed, or where the cause lies.

use net::load::{Failure, LoadSettings, RequestStage};

/// What to do about the first of these failures of which something is known: those of a protocol come first,
/// because they are why connections are closed.
pub(super) fn first(failures: &[&Failure], settings: &LoadSettings) -> Option<String> {
    let of_protocol = failures.iter().find_map(|failure| protocol_hint(&failure.cause)).map(str::to_owned);
    let status = |cause: &str| status_hint(cause.strip_prefix("status ")?, settings.tls.is_some());
    let of_another = |Failure { stage, cause, .. }: &&Failure| {
        connection_hint(*stage, cause, settings).or_else(|| status(cause))
    };
    of_protocol.or_else(|| failures.iter().find_map(of_another))
}

/// What to do about a response or a certificate, or where the server speaks something else.
fn protocol_hint(cause: &str) -> Option<&'static str> {
    Some(match cause {
        "wrong content" => "if the page differs from response to response, add --any-body",
        "untrusted certificate" => {
            "the certificate of the server is signed by none that is trusted: name the one that signed it, \
             or itself, with --cacert FILE, or accept any with --insecure"
        }
        "expired certificate" | "certificate not yet valid" => {
            "the certificate of the server is not valid today: renew it, or accept any with --insecure"
        }
        "certificate for another name" => {
            "the certificate of the server is for other names: load it by one of those, or accept any with \
             --insecure"
        }
        "invalid certificate" => "accept any certificate with --insecure",
        "no TLS" => "the server does not speak TLS at this port: load it as http://",
        "no HTTP/2" => "the server does not speak HTTP/2 at this port: leave --http2 out",
        "TLS alert NoApplicationProtocol" => {
            "the server does not speak this version of HTTP at this port: try it with --http2, or without"
        }
        "TLS alert CertificateRequired" => {
            "the server demands a certificate of its clients (mutual TLS), and osdyno load has none: load it \
             at a port that demands none"
        }
        // TLS 1.2 has no alert of its own for it.
        "TLS alert HandshakeFailure" | "TLS alert BadCertificate" => {
            "the server refused the handshake: it may demand a certificate of its clients (mutual TLS), and \
             osdyno load has none"
        }
        _ => return None,
    })
}

/// What to do about connections that are refused, closed, or not closed.
fn connection_hint(stage: RequestStage, cause: &str, settings: &LoadSettings) -> Option<String> {
    let target = &settings.target;
    Some(match (stage, cause) {
        (_, "ECONNREFUSED") => {
            format!("no server accepts connections at {target}: start it, or check the port")
        }
        (RequestStage::Connect, "ENOENT") => {
            format!("there is no socket {target}: start the server, or check the path")
        }
        (RequestStage::Connect, "timeout" | "ETIMEDOUT" | "EHOSTUNREACH" | "ENETUNREACH") => {
            format!("no connection to {target} came about: check the address, and firewalls on the way")
        }
        (_, "left open") => "the server announces that it closes the connection, and leaves it open: it was \
                             closed from this side after 100 ms (RFC 9112, section 9.6)"
            .to_owned(),
        (_, "closed early" | "ECONNRESET" | "EPIPE" | "closed without close_notify") => {
            "the server closes connections without an announcement (Connection: close): it may limit their \
             requests or their number; stay below with --per-connection N or a lower -c, or use \
             --new-connections"
                .to_owned()
        }
        _ => return None,
    })
}

fn status_hint(status: &str, is_secure: bool) -> Option<String> {
    Some(match status {
        "301" | "302" | "303" | "307" | "308" => {
            format!("the server redirects: load the address that it names, or add --expect-status {status}")
        }
        "401" => "the server demands credentials: give them with -H @FILE, as Authorization: …".to_owned(),
        // nginx refuses a client without a certificate by this status.
        "400" if is_secure => {
            "if 400 is the correct status, add --expect-status 400; a server may also mean that it demands a \
             certificate of its clients (mutual TLS), and osdyno load has none"
                .to_owned()
        }
        _ => format!("if {status} is the correct status, add --expect-status {status}"),
    })
}
