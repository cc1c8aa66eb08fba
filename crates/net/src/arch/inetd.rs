//! A program executed for every connection, with the connection as its standard input and output.
//!
//! **What it is.** One process accepts, and starts a program for each connection. The program knows nothing
//! of sockets: it reads, writes, and ends. Here it is the same program once more, with a verb that serves one
//! connection.
//!
//! **When.** inetd of 4.3BSD started telnet, ftp, finger and pop this way, tcpserver and xinetd after it, and
//! systemd with `Accept=yes` does so today. One listener for many services that are seldom asked for, each of
//! which takes no memory while nobody does; any program can be a server, and each connection begins with a
//! clean one.
//!
//! **What it costs.** Everything that starting a program costs, for every connection: execve(2), the dynamic
//! linker, reading the configuration, half a millisecond and more. The process is made as posix_spawn(3) does
//! it, without a copy of the parent's page tables, so the size of the server does not matter.
//!
//! The server and its programs count in memory that they share. The order, one word of JSON, tells the
//! program where.

use std::io;
use std::process::{Command, Stdio};

use super::Architecture;
use super::fork::process_for_each;
use crate::site::Site;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "inetd",
    source: include_str!("inetd.rs"),
    blocking: true,
    workers: false,
    probe: || Ok(()),
    serve: super::on_unix(serve),
};

fn serve(site: &Site) -> io::Result<()> {
    let Some((program, words)) = site.session_command.split_first() else {
        return Err(io::Error::other("no command was given that serves a connection"));
    };
    let mut command = Command::new(program);
    command.args(words);
    // The terminal's Ctrl-C would kill those that have not begun to watch signals; they hear of it from here.
    sys::process::lead_group(&mut command);
    process_for_each(site, sys::signal::send_nudge, |connection| {
        let (input, output) = connection.into_stdio()?;
        command.stdin(input).stdout(output);
        let child = command.spawn();
        // The command would hold the connection until the next.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(child?.id())
    })
}
