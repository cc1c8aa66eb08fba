//! The service `http` as a client sees it: bytes in, bytes out, cut at every place.

mod connection;
mod descriptors;
mod files;
mod fixture;
mod properties;
mod statuses;
