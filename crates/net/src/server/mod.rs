//! A server: an architecture around a service, set up, watched and ended in order.
