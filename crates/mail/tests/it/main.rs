//! The engine and its DNS, over real sockets.

mod deliveries;
mod dns;
