//! A site that answers only requests which know its secret and name the host that listens.

use std::net::IpAddr;
use std::sync::Arc;

use net::service::http::{MadePage, PageMaker, PageRequest};

use crate::site::{Site, SitePage};

/// Nothing is loaded from elsewhere, no other page may frame these, and their addresses, which have the
/// secret, go nowhere.
const FIELDS: &str = "Content-Security-Policy: default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
    script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\n\
    Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-store\r\n";

/// Stack for the page of a run.
const STACK_BYTES: usize = 4 << 20;

/// A site for those who know its secret.
pub struct PrivateSite {
    site: Site,
    secret: String,
    /// Another name of this host.
    name: Option<String>,
}

impl PrivateSite {
    /// A site that is served under a path with this secret. `name` is a name by which users reach
    /// the host, besides its addresses.
    pub fn new(site: Site, secret: String, name: Option<String>) -> PrivateSite {
        PrivateSite { site, secret, name }
    }

    fn found(&self, request: &PageRequest<'_>) -> SitePage {
        if !self.is_ours(request.host) {
            return SitePage::error(421, "this host is not served here");
        }
        let below = request.path.strip_prefix('/').and_then(|path| path.split_once('/'));
        match below {
            Some((secret, path)) if is_same(secret, &self.secret) => self.site.page(path, request.query),
            _ => SitePage::error(404, "no such page; the address that osdyno view printed leads to the runs"),
        }
    }

    /// Whether a client named this host. A name that somebody else let lead here belongs to a page of theirs,
    /// which a browser would let read ours; an address cannot.
    fn is_ours(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
            _ => host,
        };
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        address.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.name.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name))
    }
}

/// Compares in a time that does not depend on how many letters are right.
fn is_same(one: &str, other: &str) -> bool {
    let differ = one.bytes().zip(other.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    one.len() == other.len() && differ == 0
}

impl PageMaker for PrivateSite {
    fn page(&self, request: &PageRequest<'_>) -> MadePage {
        let found = self.found(request);
        let location = match found.location {
            // Made of our own names alone.
            Some(location) => format!("Location: {location}\r\n"),
            None => String::new(),
        };
        MadePage {
            status: found.status,
            media_type: found.media_type,
            fields: format!("{FIELDS}{location}"),
            body: Arc::clone(&found.body),
        }
    }

    fn stack_bytes(&self) -> usize {
        STACK_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_host_and_the_secret_lead_to_pages() {
        let folder = tempfile::tempdir().expect("a folder");
        let site = PrivateSite::new(Site::new(folder.path(), false), "secret".into(), Some("box".into()));
        let status = |host: &str, path: &str| site.page(&PageRequest { path, query: "", host }).status;
        for host in ["127.0.0.1:80", "localhost:80", "[::1]:80", "box:80", "BOX", "10.0.0.7"] {
            assert_eq!(status(host, "/secret/"), 200, "{host}");
        }
        for host in ["", "evil.example", "127.0.0.1.evil.example:80", "localhost.evil:80", "box.evil"] {
            assert_eq!(status(host, "/secret/"), 421, "{host}");
        }
        for path in
            ["/", "/secre/", "/secret", "/secrets/", "/secret/../", "/secret/run/..%2f..%2fetc", "/x/y"]
        {
            assert_eq!(status("localhost", path), 404, "{path}");
        }
    }
}
