//! SMTP (RFC 5321) without a socket and without a clock: the parts that its client and its server share.
//!
//! - `line` lines, whose bytes come cut anywhere;
//! - `reply` replies, written and read, and the extensions that a server lists;
//! - `command` commands, written and read;
//! - `mailbox` addresses;
//! - `message` dots at the beginning of lines, for DATA.
//!
//! A field that holds a control character does not exist here: [`Mailbox`] and [`ArgumentText`] refuse it,
//! and commands are made of these. So an address cannot smuggle in a command. No input of the other end
//! causes a panic, or takes more memory than a limit: `fuzz/fuzz_targets/smtp_*.rs`.
//!
//! Lines of commands and replies end in LF, with or without CR before it, as in most servers. The lines of a
//! message do not, because a server that accepts LF as their end could be sent a second message inside the
//! first ("SMTP smuggling", CVE-2023-51764): see [`DotDecoder`].

mod command;
mod line;
mod mailbox;
mod message;
mod reply;

pub use command::{ArgumentText, COMMAND_BYTES_MAX, Command, CommandError};
pub use line::{LineBuffer, LineTooLong};
pub use mailbox::{Mailbox, MailboxError};
pub use message::{DotDecoder, dot_stuffed};
pub use reply::Extensions;
pub use reply::{EnhancedCode, Reply, ReplyError, ReplyParser, write_reply};
