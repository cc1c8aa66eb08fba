//! The generator against servers that do what each test needs, and know what they have done.

mod accounts;
mod clients;
mod connections;
mod failures;
#[path = "../../src/network/tls/tests/identity.rs"]
mod identity;
mod loops;
mod server;
mod tls;
