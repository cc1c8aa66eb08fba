//! Every architecture that is driven by events, under the same table of clients: well-behaved, slow, broken,
//! many.

mod exchange;
mod limits;
mod patience;
mod server;
