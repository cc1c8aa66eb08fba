//! Cost of one more rule of the packet filter that does not match.
//!
//! **Question.** What does a packet pay for each rule that it is compared with, and what does it cost to add
//! one? Firewalls that block addresses have thousands.
//!
//! **Method.** The trial has a network of its own, with the loopback device only. A rule that drops what
//! comes from one address, which nobody has, is added by a program of the system, timed with its start. Then
//! a byte goes from one UDP socket to another and back, timed. At the end the rules are removed
//! in random order. `list`: nft(8) adds a rule to a chain; `set`:
//! it adds an element to a set, which one rule looks up; `iptables`: iptables(8) appends a rule.
//!
//! **Expected answer.** `list` and `iptables`: linear, for a packet is compared with one rule after the
//! other; `set`: flat, a look-up in a hash table (nft(8), "SETS"). Adding to a list is linear too where the
//! program reads, or replaces, all rules each time.

use workload::resource::MEMORY;
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "filter",
    source: workload::page!("filter.rs"),
    grows: "rules that do not match",
    variants: &[
        Variant { name: "list", summary: "rules of nftables, one after the other" },
        Variant { name: "set", summary: "elements of a set of nftables" },
        Variant { name: "iptables", summary: "rules of iptables(8)" },
    ],
    operations: &[
        Operation::up("add", Expect::Linear, "one execution of nft(8) or iptables(8)")
            .except(&[("set", Expect::Constant)])
            .detail(),
        Operation::down("remove", Expect::Linear, "the same that removes it, in random order")
            .except(&[("set", Expect::Constant)])
            .detail(),
        Operation::up("round trip", Expect::Linear, "a byte over UDP and back")
            .except(&[("set", Expect::Constant)]),
    ],
    needs: &[Need::new(MEMORY, 4 << 10)],
    // A program is executed for each n.
    top: Some(300),
    run: on_linux!(measured::run, "the packet filters of other systems have no private networks"),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
pub(crate) use measured::{nft, unsupported};

#[cfg(target_os = "linux")]
mod measured {
    use std::io::{self, Write};
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};
    use std::process::{Command, Stdio};

    use sys::datagram::{DatagramAddress, DatagramSocket};
    use workload::{Trial, TrialError};

    const TABLE: &str = "\
        add table inet osdyno\n\
        add set inet osdyno blocked { type ipv4_addr; }\n\
        add chain inet osdyno input { type filter hook input priority 0; }\n";
    const LOOK_UP: &str = "add rule inet osdyno input ip saddr @blocked drop\n";

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let _network = trial.own_network()?;
        let variant = trial.variant();
        let prepare = || match variant {
            "list" => nft(TABLE),
            "set" => nft(&format!("{TABLE}{LOOK_UP}")),
            _ => load("iptables", &["-w", "-P", "INPUT", "ACCEPT"], ""),
        };
        prepare().map_err(unsupported).map_err(TrialError::at("to prepare the packet filter"))?;
        let (one, other) = pair().map_err(TrialError::at("to open two UDP sockets"))?;
        trial.warm(|| round_trip(&one, &other));
        let rules = trial.compact_steps(&["add", "round trip"], |number, lap| {
            let address = Ipv4Addr::from_bits(0x0a00_0001_u32.wrapping_add(number as u32)).to_string();
            lap.skip();
            let told = match variant {
                "list" => nft(&format!("add rule inet osdyno input ip saddr {address} drop"))?,
                "set" => nft(&format!("add element inet osdyno blocked {{ {address} }}"))?,
                _ => load("iptables", &["-w", "-A", "INPUT", "-s", &address, "-j", "DROP"], "")?,
            };
            lap.mark();
            round_trip(&one, &other)?;
            lap.mark();
            // nft(8) removes a rule by the number that it gave it.
            let handle =
                told.split_once("# handle ").and_then(|(_, behind)| behind.split_whitespace().next());
            let handle = handle.map(str::to_owned);
            Ok((address, handle))
        })?;
        let has_handles = variant != "list" || rules.iter().all(|(_, handle)| handle.is_some());
        trial.check("every rule has a number", has_handles);
        let rules = trial.shuffled(rules);
        trial.compact_down("remove", rules, |(address, handle)| {
            let removed = match (variant, handle) {
                ("list", handle) => {
                    let handle = handle.unwrap_or_default();
                    nft(&format!("delete rule inet osdyno input handle {handle}"))
                }
                ("set", _) => nft(&format!("delete element inet osdyno blocked {{ {address} }}")),
                _ => load("iptables", &["-w", "-D", "INPUT", "-s", &address, "-j", "DROP"], ""),
            };
            removed.map(drop)
        })
    }

    /// The first command is refused by kernels without the packet filter, and to users who may not change it.
    pub(crate) fn unsupported(error: io::Error) -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, error)
    }

    /// Has nft(8) execute a command, and returns its answer.
    pub(crate) fn nft(command: &str) -> io::Result<String> {
        load("nft", &["--echo", "--handle", "-f", "-"], command)
    }

    /// Executes a program of the packet filter with this input, and returns its output.
    fn load(program: &str, arguments: &[&str], input: &str) -> io::Result<String> {
        let missing =
            || io::Error::new(io::ErrorKind::Unsupported, format!("{program}(8) is not in PATH; install it"));
        let path = sys::process::find_program(program).ok_or_else(missing)?;
        let mut command = Command::new(path);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // Where it has ended already, its own words tell why.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let words = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " / ");
        Err(io::Error::other(format!("{program}(8) failed: {words}")))
    }

    /// Two sockets on loopback, each connected to the other.
    fn pair() -> io::Result<(DatagramSocket, DatagramSocket)> {
        let any = DatagramAddress::Ip(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0));
        let (one, other) = (DatagramSocket::open(&any)?, DatagramSocket::open(&any)?);
        one.bind(&any)?;
        other.bind(&any)?;
        one.connect(&other.local()?)?;
        other.connect(&one.local()?)?;
        Ok((one, other))
    }

    /// Over loopback a message is at its receiver when the call that sends it returns; one that is not there
    /// was dropped.
    fn round_trip(one: &DatagramSocket, other: &DatagramSocket) -> io::Result<()> {
        let mut byte = [0];
        one.send(b"?")?;
        other.receive(&mut byte)?;
        other.send(&byte)?;
        match one.receive(&mut byte)? {
            1 if byte == *b"?" => Ok(()),
            _ => Err(io::Error::other("another byte came back")),
        }
    }
}
