//! The generator against servers that do what each test needs, and know what they have done.

mod accounts;
mod clients;
mod connections;
mod failures;
mod http2;
#[path = "../../src/network/tls/tests/identity.rs"]
mod identity;
mod loops;
#[path = "../../src/network/http2/tests/peer.rs"]
mod peer;
mod server;
mod tls;
