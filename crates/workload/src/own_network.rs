//! A network of one trial: no device but the loopback one, no address, rule or route of others.

use sys::namespace::{NamespaceKind, Namespaces, permit, renew};
use sys::route::RouteSocket;

use crate::{Trial, TrialError};

/// The network of the trial, until this is dropped; then it is that of before. It ends with the trial's
/// process.
#[derive(Debug)]
pub struct OwnNetwork {
    before: Namespaces,
}

impl Trial<'_> {
    /// Gives the trial a network namespace of its own, with a loopback device that is up. Users other than
    /// root get it in a user namespace.
    ///
    /// # Errors Those of unshare(2) and rtnetlink(7); unsupported elsewhere than on Linux.
    pub fn own_network(&self) -> Result<OwnNetwork, TrialError> {
        let make = || {
            permit()?;
            let before = Namespaces::own(&[NamespaceKind::Network])?;
            renew(&[NamespaceKind::Network])?;
            let network = OwnNetwork { before };
            RouteSocket::open()?.raise_loopback()?;
            Ok(network)
        };
        make().map_err(TrialError::at("to make a network of its own"))
    }
}

impl Drop for OwnNetwork {
    fn drop(&mut self) {
        // A process that is about to end needs none.
        let _ = self.before.enter();
    }
}
