//! Pseudo-terminals, pty(7).

use std::fs::File;
use std::io;

use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

/// The side of a pseudo-terminal that a program such as sshd(8) holds.
#[derive(Debug)]
pub struct TerminalController(File);

/// A pseudo-terminal with both sides open.
#[derive(Debug)]
pub struct PseudoTerminal {
    controller: File,
    terminal: File,
}

impl TerminalController {
    /// One posix_openpt(3): the terminal exists from here on.
    ///
    /// # Errors
    /// Those of the call, `EAGAIN` at the limit.
    #[inline]
    pub fn open() -> io::Result<TerminalController> {
        Ok(TerminalController(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?.into()))
    }

    /// Opens the terminal itself, by unlockpt(3) and ioctl_tty(2) with `TIOCGPTPEER`.
    ///
    /// # Errors
    /// Those of both calls.
    #[inline]
    pub fn open_terminal(self) -> io::Result<PseudoTerminal> {
        unlockpt(&self.0)?;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let terminal = File::from(ioctl_tiocgptpeer(&self.0, flags)?);
        Ok(PseudoTerminal { controller: self.0, terminal })
    }
}

impl PseudoTerminal {
    /// Lines are not sent back to the controller: termios(3), `ECHO`.
    ///
    /// # Errors
    /// Those of tcgetattr(3) and tcsetattr(3).
    pub fn without_echo(&self) -> io::Result<()> {
        let mut attributes = tcgetattr(&self.terminal)?;
        attributes.local_modes.remove(LocalModes::ECHO);
        Ok(tcsetattr(&self.terminal, OptionalActions::Now, &attributes)?)
    }

    /// The controller writes a line, and it is read at the terminal: one write(2) and one read(2). Returns
    /// the bytes that were read.
    ///
    /// # Errors
    /// Those of both calls.
    #[inline]
    pub fn pass<'a>(&self, line: &[u8], buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        rustix::io::write(&self.controller, line)?;
        let length = rustix::io::read(&self.terminal, &mut *buffer)?;
        Ok(&buffer[..length])
    }

    /// Closes both sides, by two close(2).
    ///
    /// # Errors
    /// Those of close(2).
    #[inline]
    pub fn close(self) -> io::Result<()> {
        crate::file::close(self.terminal)?;
        crate::file::close(self.controller)
    }
}
