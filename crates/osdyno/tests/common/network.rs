//! Other networks on this machine, each reached through a pair of virtual interfaces: ip(8) makes them for
//! root.

use std::process::Command;

use super::text;

/// A network. Dropped, it is removed, with the pair of interfaces.
pub(crate) struct Network {
    pub(crate) name: String,
    number: u32,
    /// Its place among the networks of a test.
    place: u32,
}

impl Network {
    /// Makes it, or says why that is not possible here.
    pub(crate) fn start(place: u32) -> Result<Network, String> {
        let number = std::process::id();
        let network = Network { name: format!("osdyno-{number}-{place}"), number, place };
        let (name, here, there) = (&network.name, network.interface('a'), network.interface('b'));
        tool(&format!("ip netns add {name}"))?;
        tool(&format!("ip link add {here} type veth peer name {there} netns {name}"))?;
        tool(&format!("ip addr add {}/24 dev {here}", network.here()))?;
        tool(&format!("ip link set {here} up"))?;
        tool(&format!("ip -n {name} addr add {}/24 dev {there}", network.there()))?;
        tool(&format!("ip -n {name} link set {there} up"))?;
        tool(&format!("ip -n {name} link set lo up"))?;
        // To the addresses of this machine in other networks.
        tool(&format!("ip -n {name} route add default via {}", network.here()))?;
        Ok(network)
    }

    fn interface(&self, end: char) -> String {
        format!("od{}{}{end}", self.number, self.place)
    }

    /// The address of this machine there.
    pub(crate) fn here(&self) -> String {
        self.address(1)
    }

    /// The address of the other end.
    pub(crate) fn there(&self) -> String {
        self.address(2)
    }

    /// The process that tests has private networks of its own.
    fn address(&self, host: u32) -> String {
        format!("10.{}.{}.{host}", 200 + self.place, self.number % 250)
    }

    /// Has what comes from there pass through a queue.
    pub(crate) fn shape(&self, queue: &str) -> Result<(), String> {
        tool(&format!("tc -n {} qdisc replace dev {} root {queue}", self.name, self.interface('b')))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Err(reason) = tool(&format!("ip netns del {}", self.name)) {
            println!("{reason}");
        }
    }
}

/// Runs a tool to a good end.
fn tool(line: &str) -> Result<(), String> {
    let words: Vec<&str> = line.split(' ').collect();
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.map_err(|error| format!("{line}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(format!("{line}: {}", text(&output.stderr).trim())) }
}
