//! Commands (RFC 5321, section 4.1), as a client writes them and a server reads them.

use std::io::Write as _;

use super::{Mailbox, MailboxError, quoted_bytes};

/// The longest command line, in octets without CR LF. RFC 5321, section 4.5.3.1.4, allows 512; the extensions
/// that we know add less than 512.
pub const COMMAND_BYTES_MAX: usize = 1022;

/// Text of one line: without control characters, and no longer than a command may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArgumentText<'a>(&'a str);

impl<'a> ArgumentText<'a> {
    /// The text, if it has no control character and at most 500 octets.
    pub fn new(text: &'a str) -> Option<ArgumentText<'a>> {
        let is_allowed = text.len() <= 500 && !text.chars().any(char::is_control);
        is_allowed.then_some(ArgumentText(text))
    }

    /// It.
    pub fn get(self) -> &'a str {
        self.0
    }
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// The name by which a client introduces itself.
    Ehlo(ArgumentText<'a>),
    /// The same, for a client without extensions.
    Helo(ArgumentText<'a>),
    /// Begins a transaction.
    Mail {
        /// The address for reports of failures; `None` is the null path `<>`.
        sender: Option<Mailbox<'a>>,
        /// SIZE: how many octets the message will have.
        size: Option<u64>,
        /// BODY=8BITMIME: whether it will have octets beyond 127.
        is_8bit: bool,
        /// SMTPUTF8: whether addresses, or the header, have characters beyond ASCII.
        is_utf8: bool,
    },
    /// A recipient.
    Rcpt(Mailbox<'a>),
    /// The message follows the reply.
    Data,
    /// A piece of the message follows the line.
    Bdat {
        /// How long the piece is.
        bytes: u64,
        /// Whether it is the last.
        is_last: bool,
    },
    /// Ends the transaction without a message.
    Rset,
    /// Nothing.
    Noop,
    /// Ends the session.
    Quit,
    /// Queries a user.
    Vrfy(ArgumentText<'a>),
    /// Requests help.
    Help,
    /// The connection is to be encrypted from here on.
    StartTls,
    /// Any other command.
    Unknown,
}

/// Why a line is no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// It has a control character, or is not UTF-8.
    #[error("the line has a control character or is not UTF-8")]
    NotText,
    /// It is too long.
    #[error("the line is longer than {COMMAND_BYTES_MAX} octets")]
    TooLong,
    /// The command needs an argument of another form.
    #[error("the argument is not {0}")]
    Argument(&'static str),
    /// The address is not well formed.
    #[error("{0}")]
    Mailbox(#[from] MailboxError),
    /// A parameter of MAIL or RCPT is unknown.
    #[error("a parameter is unknown or has an unknown value")]
    Parameter,
}

impl CommandError {
    /// The code of the reply to such a line (RFC 5321, section 4.2.2).
    pub fn code(&self) -> u16 {
        match self {
            CommandError::NotText | CommandError::TooLong => 500,
            CommandError::Argument(_) | CommandError::Mailbox(_) => 501,
            CommandError::Parameter => 555,
        }
    }
}

impl<'a> Command<'a> {
    /// Writes its line.
    pub fn write(&self, output: &mut Vec<u8>) {
        // A vector takes everything.
        let _ = match self {
            Command::Ehlo(name) => write!(output, "EHLO {}\r\n", name.get()),
            Command::Helo(name) => write!(output, "HELO {}\r\n", name.get()),
            Command::Mail { .. } => {
                self.write_mail(output);
                Ok(())
            }
            Command::Rcpt(recipient) => {
                for piece in ["RCPT TO:<", recipient.text(), ">\r\n"] {
                    output.extend_from_slice(piece.as_bytes());
                }
                Ok(())
            }
            Command::Bdat { bytes, is_last: true } => write!(output, "BDAT {bytes} LAST\r\n"),
            Command::Bdat { bytes, is_last: false } => write!(output, "BDAT {bytes}\r\n"),
            Command::Vrfy(user) => write!(output, "VRFY {}\r\n", user.get()),
            Command::Data => output.write_all(b"DATA\r\n"),
            Command::Rset => output.write_all(b"RSET\r\n"),
            Command::Noop | Command::Unknown => output.write_all(b"NOOP\r\n"),
            Command::Quit => output.write_all(b"QUIT\r\n"),
            Command::Help => output.write_all(b"HELP\r\n"),
            Command::StartTls => output.write_all(b"STARTTLS\r\n"),
        };
    }

    fn write_mail(&self, output: &mut Vec<u8>) {
        let Command::Mail { sender, size, is_8bit, is_utf8 } = self else { return };
        for piece in ["MAIL FROM:<", sender.map_or("", |sender| sender.text()), ">"] {
            output.extend_from_slice(piece.as_bytes());
        }
        if let Some(size) = size {
            let _ = write!(output, " SIZE={size}");
        }
        if *is_8bit {
            output.extend_from_slice(b" BODY=8BITMIME");
        }
        if *is_utf8 {
            output.extend_from_slice(b" SMTPUTF8");
        }
        output.extend_from_slice(b"\r\n");
    }

    /// The command of a line, which is given without its end.
    ///
    /// # Errors
    /// [`CommandError`], which has the code of the reply.
    pub fn parse(line: &'a [u8]) -> Result<Command<'a>, CommandError> {
        if line.len() > COMMAND_BYTES_MAX {
            return Err(CommandError::TooLong);
        }
        let line = std::str::from_utf8(line).map_err(|_| CommandError::NotText)?;
        if line.contains(|character: char| character.is_control() && character != '\t') {
            return Err(CommandError::NotText);
        }
        // White space behind a command is ignored (section 4.1.1).
        let line = line.trim_end_matches(is_space);
        let (verb, argument) = line.split_once(is_space).unwrap_or((line, ""));
        let argument = argument.trim_start_matches(is_space);
        let is = |name: &str| verb.eq_ignore_ascii_case(name);
        if is("MAIL") {
            mail(argument)
        } else if is("RCPT") {
            rcpt(argument)
        } else if is("RSET") {
            without_argument(Command::Rset, argument)
        } else if is("DATA") {
            without_argument(Command::Data, argument)
        } else if is("QUIT") {
            without_argument(Command::Quit, argument)
        } else if is("EHLO") {
            Ok(Command::Ehlo(needed(argument, "a name")?))
        } else if is("HELO") {
            Ok(Command::Helo(needed(argument, "a name")?))
        } else if is("BDAT") {
            bdat(argument)
        } else if is("NOOP") {
            Ok(Command::Noop)
        } else if is("VRFY") {
            Ok(Command::Vrfy(needed(argument, "a user")?))
        } else if is("STARTTLS") {
            without_argument(Command::StartTls, argument)
        } else if is("HELP") {
            Ok(Command::Help)
        } else {
            Ok(Command::Unknown)
        }
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

fn without_argument<'a>(command: Command<'a>, argument: &str) -> Result<Command<'a>, CommandError> {
    if argument.is_empty() { Ok(command) } else { Err(CommandError::Argument("empty")) }
}

fn needed<'a>(argument: &'a str, what: &'static str) -> Result<ArgumentText<'a>, CommandError> {
    let text = ArgumentText::new(argument).filter(|_| !argument.is_empty());
    text.ok_or(CommandError::Argument(what))
}

fn mail(argument: &str) -> Result<Command<'_>, CommandError> {
    let (path, parameters) = path(argument, "FROM:", "FROM:<address>")?;
    let sender = if path.is_empty() { None } else { Some(Mailbox::parse(path)?) };
    let (mut size, mut is_8bit, mut is_utf8) = (None, false, false);
    for parameter in parameters.split(is_space).filter(|parameter| !parameter.is_empty()) {
        let (keyword, value) = match parameter.split_once('=') {
            Some((keyword, value)) => (keyword, Some(value)),
            None => (parameter, None),
        };
        match (&keyword.to_ascii_uppercase()[..], value) {
            ("SIZE", Some(value)) => {
                size = Some(decimal(value).ok_or(CommandError::Argument("SIZE=octets"))?)
            }
            ("BODY", Some(value)) if value.eq_ignore_ascii_case("8BITMIME") => is_8bit = true,
            ("BODY", Some(value)) if value.eq_ignore_ascii_case("7BIT") => is_8bit = false,
            ("SMTPUTF8", None) => is_utf8 = true,
            _ => return Err(CommandError::Parameter),
        }
    }
    Ok(Command::Mail { sender, size, is_8bit, is_utf8 })
}

fn rcpt(argument: &str) -> Result<Command<'_>, CommandError> {
    let (path, parameters) = path(argument, "TO:", "TO:<address>")?;
    if !parameters.is_empty() {
        return Err(CommandError::Parameter);
    }
    match Mailbox::postmaster(path) {
        Some(postmaster) => Ok(Command::Rcpt(postmaster)),
        None => Ok(Command::Rcpt(Mailbox::parse(path)?)),
    }
}

/// The text in the brackets, without a route through other hosts (section 4.1.1.3: it is ignored), and the
/// rest behind them.
fn path<'a>(
    argument: &'a str,
    keyword: &str,
    form: &'static str,
) -> Result<(&'a str, &'a str), CommandError> {
    let wrong = CommandError::Argument(form);
    let begin = argument.get(..keyword.len()).filter(|begin| begin.eq_ignore_ascii_case(keyword));
    let path = &argument[begin.ok_or(wrong)?.len()..];
    // A space behind the colon is wrong, and frequent.
    let mut path = path.trim_start_matches(is_space).strip_prefix('<').ok_or(wrong)?;
    if path.starts_with('@') {
        path = path.split_once(':').ok_or(wrong)?.1;
    }
    let quoted = if path.starts_with('"') { quoted_bytes(path).ok_or(wrong)? } else { 0 };
    let end = quoted + path[quoted..].find('>').ok_or(wrong)?;
    let (address, rest) = (&path[..end], &path[end + 1..]);
    if !rest.is_empty() && !rest.starts_with(is_space) {
        return Err(wrong);
    }
    Ok((address, rest.trim_matches(is_space)))
}

fn bdat(argument: &str) -> Result<Command<'_>, CommandError> {
    let (bytes, last) = argument.split_once(is_space).unwrap_or((argument, ""));
    let last = last.trim_start_matches(is_space);
    let is_last = last.eq_ignore_ascii_case("LAST");
    match decimal(bytes) {
        Some(bytes) if is_last || last.is_empty() => Ok(Command::Bdat { bytes, is_last }),
        _ => Err(CommandError::Argument("a number of octets, or one and LAST")),
    }
}

/// At most 20 digits (RFC 1870, section 4), without a sign.
fn decimal(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailbox(text: &str) -> Mailbox<'_> {
        Mailbox::parse(text).unwrap()
    }

    fn text(text: &str) -> ArgumentText<'_> {
        ArgumentText::new(text).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let (sender, utf8) = (Some(mailbox("\"a>b\"@c.test")), Some(mailbox("ж@c.test")));
        for command in [
            Command::Ehlo(text("[127.0.0.1]")),
            Command::Helo(text("a.test")),
            Command::Mail { sender: None, size: None, is_8bit: false, is_utf8: false },
            Command::Mail { sender, size: Some(u64::MAX), is_8bit: true, is_utf8: false },
            Command::Mail { sender: utf8, size: None, is_8bit: false, is_utf8: true },
            Command::Rcpt(mailbox("\"a\\\">\"@c.test")),
            Command::Rcpt(Mailbox::postmaster("Postmaster").unwrap()),
            Command::Data,
            Command::Bdat { bytes: 0, is_last: true },
            Command::Bdat { bytes: 86, is_last: false },
            Command::Rset,
            Command::Noop,
            Command::Quit,
            Command::Vrfy(text("a b")),
            Command::Help,
            Command::StartTls,
        ] {
            let mut line = Vec::new();
            command.write(&mut line);
            assert_eq!(Command::parse(line.strip_suffix(b"\r\n").unwrap()), Ok(command));
        }
    }

    #[test]
    fn a_server_is_lenient_where_clients_are_careless() {
        let parsed = |line: &'static str| Command::parse(line.as_bytes());
        let plain = |sender| Command::Mail { sender, size: None, is_8bit: false, is_utf8: false };
        assert_eq!(parsed("mail from: <a@b>  "), Ok(plain(Some(mailbox("a@b")))));
        assert_eq!(parsed("MAIL FROM:<> body=7bit"), Ok(plain(None)));
        assert_eq!(parsed("Rcpt\tTo:<@x.test,@y.test:a@b>"), Ok(Command::Rcpt(mailbox("a@b"))));
        assert_eq!(parsed("quit "), Ok(Command::Quit));
        assert_eq!(parsed("NOOP whatever"), Ok(Command::Noop));
        assert_eq!(parsed("bdat 7 last"), Ok(Command::Bdat { bytes: 7, is_last: true }));
        for line in ["", " ", "EXPN list", "GET / HTTP/1.1", "MAILFROM:<a@b>", "ж"] {
            assert_eq!(parsed(line), Ok(Command::Unknown), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_has_the_code_of_its_reply() {
        for (line, code) in [
            ("MAIL", 501),
            ("MAIL FROM:a@b", 501),
            ("MAIL FROM:<a@b", 501),
            ("MAIL FROM:<a@b>x", 501),
            ("MAIL FROM:<a>", 501),
            ("MAIL FROM:<\"a@b>", 501),
            ("MAIL FROM:<@a@b>", 501),
            ("MAIL FRO\u{e4}:<a@b>", 501),
            ("MAIL FROM:<a@b> SIZE", 555),
            ("MAIL FROM:<a@b> SIZE=+1", 501),
            ("MAIL FROM:<a@b> SIZE=99999999999999999999999", 501),
            ("MAIL FROM:<a@b> BODY=BINARYMIME", 555),
            ("MAIL FROM:<a@b> SMTPUTF8=1", 555),
            ("RCPT TO:<>", 501),
            ("RCPT FROM:<a@b>", 501),
            ("RCPT TO:<a@b> NOTIFY=NEVER", 555),
            ("DATA now", 501),
            ("BDAT", 501),
            ("BDAT -1", 501),
            ("BDAT 1 FIRST", 501),
            ("EHLO", 501),
            ("VRFY ", 501),
            ("NOOP\0", 500),
            ("NOOP\rQUIT", 500),
        ] {
            assert_eq!(Command::parse(line.as_bytes()).map_err(|error| error.code()), Err(code), "{line:?}");
        }
        assert_eq!(Command::parse(b"NOOP \xff"), Err(CommandError::NotText));
        assert_eq!(Command::parse(&[b'A'; COMMAND_BYTES_MAX + 1]), Err(CommandError::TooLong));
    }

    #[test]
    fn text_cannot_carry_a_command() {
        for wrong in ["a\r\nQUIT", "a\nb", "a\0", "\u{85}", &"a".repeat(501)] {
            assert_eq!(ArgumentText::new(wrong), None, "{wrong:?}");
        }
    }
}
