//! The settings that all sessions of an engine share.

use std::sync::Arc;

use net::smtp::{ArgumentText, Mailbox};
use serde::{Deserialize, Serialize};

use crate::MailError;
use crate::message::Message;

/// The steps for each recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Every step of a delivery with RSET in place of DATA, each after the reply to the one before: the
    /// experiment of 2001.
    Test,
    /// The same with whole transactions sent back to back.
    TestPipelined,
    /// The message is delivered.
    Deliver,
}

/// The settings that all sessions of an engine share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionSettings {
    /// The steps for each recipient.
    pub mode: Mode,
    /// The name by which the engine introduces itself (RFC 5321, section 4.1.1.1).
    pub helo: String,
    /// The address to which failures would be reported; empty is the null path (section 4.5.5).
    pub sender: String,
    /// The message; test mode states its size only.
    pub message: Arc<Message>,
    /// Recipients for which one connection is used.
    pub deliveries_per_connection: u32,
}

impl SessionSettings {
    /// Whether the names in it can be sent.
    pub(crate) fn check(&self) -> Result<(), MailError> {
        if ArgumentText::new(&self.helo).is_none_or(|name| name.get().is_empty() || name.get().contains(' '))
        {
            return Err(MailError::Settings(format!("{:?} cannot be the name in EHLO", self.helo)));
        }
        match Mailbox::parse(&self.sender) {
            Err(reason) if !self.sender.is_empty() => {
                Err(MailError::Settings(format!("{:?} cannot be the sender: {reason}", self.sender)))
            }
            _ => Ok(()),
        }
    }
}
