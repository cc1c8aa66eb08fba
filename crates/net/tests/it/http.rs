//! The service `http` from the client's side: bytes in, bytes out, cut at every place.

mod connection;
mod descriptors;
mod files;
mod fixture;
mod properties;
mod statuses;
