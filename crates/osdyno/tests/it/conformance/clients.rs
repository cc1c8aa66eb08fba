//! Every client of a service, as the load generator drives it, against each architecture.

use std::time::Duration;

use net::client::{ClientKind, Endpoint};
use net::load::{Generator, Load, LoadSettings, OffersLoad, closed_loop, unwatched};

use super::case::{Case, POOL, Row};

/// Requests of each client.
const REQUESTS: u64 = 400;

/// Loads the server with a client as it declares itself, without any option.
pub(crate) fn load(case: &mut Case<'_>, row: &Row, client: &ClientKind) {
    let address = case.served.address;
    let endpoint = Endpoint { host: address.to_string(), paths: vec!["/".to_owned()] };
    let chosen = client.choose(&serde_json::json!({}), &endpoint).unwrap();
    let settings = LoadSettings::choosing(address, chosen);
    let is_one_each = settings.one_request_each();
    let load = Load { requests: Some(REQUESTS), ..closed_loop(POOL, Duration::from_secs(60)) };
    let level = Generator::new(settings).unwrap().offer(&load, &mut unwatched).unwrap();
    let done = (level.requests.started, level.requests.completed, level.requests.failed);
    assert_eq!(done, (REQUESTS, REQUESTS, 0), "{:?}", level.failures);
    case.book.connections += if is_one_each { REQUESTS } else { POOL as u64 };
    case.book.responses += if row.counts_requests { REQUESTS } else { 0 };
    case.book.sent_bytes += level.sent_bytes;
    case.book.received_bytes += level.received_bytes;
}
