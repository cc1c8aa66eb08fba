//! A program executed for every connection, with the connection as its standard input and output.
//!
//! **Design.** One process accepts, and starts a program for each connection. The program does not use
//! sockets: it reads, writes, and exits. Here it is the same executable, with a verb that serves one
//! connection.
//!
//! **Use.** inetd of 4.3BSD started telnet, ftp, finger and pop in this way; tcpserver and xinetd
//! followed, and systemd does it today with `Accept=yes`. One listener is enough for many services that
//! are rarely used, and none of them takes memory while idle. Any program can be a server, and each
//! connection starts with a fresh process.
//!
//! **Cost.** Every connection pays for starting a program: execve(2), the dynamic linker and reading the
//! configuration, half a millisecond and more. The process is started like posix_spawn(3), without a copy
//! of the parent's page tables, so the size of the server does not matter.
//!
//! The server and its programs count in shared memory. The parameters, one word of JSON, tell the program
//! where they are.

use std::io;
use std::process::{Command, Stdio};

use super::fork::process_for_each;
use super::{Architecture, ServedBy};
use crate::worker::WorkerContext;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "inetd",
    source: record::page!("inetd.rs"),
    served_by: ServedBy::Process,
    accepts: &[],
    probe: || Ok(()),
    serve: super::on_unix(serve),
};

fn serve(worker: &WorkerContext) -> io::Result<()> {
    let Some((program, words)) = worker.session_command.split_first() else {
        return Err(io::Error::other("no command was given that serves a connection"));
    };
    let mut command = Command::new(program);
    command.args(words);
    // The terminal's Ctrl-C would kill those that do not watch signals yet; this process passes the order on.
    sys::process::lead_group(&mut command);
    process_for_each(worker, sys::signal::send_nudge, |connection| {
        let (input, output) = connection.into_stdio()?;
        command.stdin(input).stdout(output);
        let child = command.spawn();
        // The command would hold the connection until the next.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(child?.id())
    })
}
