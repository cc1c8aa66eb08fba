//! The generator against servers that do what each test needs, and know what they have done.

mod accounts;
mod clients;
mod connections;
mod failures;
mod http2;
mod loops;
mod server;
mod tls;
