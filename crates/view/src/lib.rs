//! A folder of runs as pages for a browser: served, or written as files.
//!
//! - [`Site`] is the folder, and makes each page from its address.
//! - [`PrivateSite`] answers requests for it: the path has a secret, and the host is the one that listens.
//! - [`export`] writes the same pages as files for any web server.
//!
//! Addresses hold all of the state, so that a link is a finding. Pages work without scripts.
//!
//! Must never: measure, judge, or write into the folder of runs.

#![forbid(unsafe_code)]

mod list;
mod private_site;
mod site;

pub use private_site::PrivateSite;
pub use site::{Exported, Site, SitePage, export};
