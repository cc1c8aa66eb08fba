//! Systems without timers that are descriptors.

use std::io;
use std::time::Duration;

use crate::Unsupported;
use crate::handle::Handle;

/// There is none.
#[derive(Debug)]
pub enum Alarm {}

impl Alarm {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn new() -> io::Result<Alarm> {
        Err(Unsupported("no timer of this system is a descriptor").into())
    }

    /// Not reached: there is no alarm.
    ///
    /// # Errors
    /// None.
    pub fn set(&self, _after: Duration) -> io::Result<()> {
        match *self {}
    }

    /// Not reached: there is no alarm.
    pub fn descriptor(&self) -> Handle<'_> {
        match *self {}
    }
}
