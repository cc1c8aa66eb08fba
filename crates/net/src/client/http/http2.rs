//! Requests of HTTP/2: the same ones in another form (RFC 9113, section 8).

use super::request::{Message, message, refused};
use super::settings::HttpClientSettings;
use crate::Error;
use crate::http2::Request;

/// Fields that speak of the connection, which is not theirs (section 8.2.2).
const OF_CONNECTIONS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// A request for a path.
pub(super) fn compose(settings: &HttpClientSettings, path: &str, is_secure: bool) -> Result<Request, Error> {
    let Message { method, fields, body } = message(settings, path)?;
    let field = |name: &str, value: &str| (name.to_owned(), value.trim().to_owned());
    let scheme = if is_secure { "https" } else { "http" };
    let mut head = vec![field(":method", method), field(":scheme", scheme)];
    let mut rest = Vec::new();
    for text in &fields {
        let (name, value) = text.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "host" => head.push(field(":authority", value)),
            "te" if value.trim() != "trailers" => {
                return Err(refused("of HTTP/2 it may only name trailers", text));
            }
            name if OF_CONNECTIONS.contains(&name) => {
                return Err(refused("HTTP/2 has no such field; leave it out", text));
            }
            name => rest.push(field(name, value)),
        }
    }
    head.push(field(":path", path));
    head.extend(rest);
    Ok(Request { fields: head, body: body.to_vec() })
}
