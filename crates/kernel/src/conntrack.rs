//! Cost of one more connection where the packet filter tracks all of them.
//!
//! **Question.** What does it cost to open a connection while the kernel keeps track of n, as it does on
//! every machine with a stateful firewall, with network address translation or with containers?
//!
//! **Method.** The trial has a network of its own, with the loopback device only, and in it one rule of
//! nftables, loaded by nft(8), that counts established connections; so all are tracked. Then connections are
//! opened, accepted and reset as `connect` does with IPv4, each call timed. The kernel's own count of tracked
//! connections must reach n.
//!
//! **Expected answer.** Flat, and slower than `connect` by the search and the entry: connections are in a
//! hash table whose size is fixed (nf_conntrack-sysctl.rst). Its chains grow where n is larger than
//! net.netfilter.nf_conntrack_buckets. The kernel drops packets beyond net.netfilter.nf_conntrack_max. As in
//! `connect`, the free ports of the local range run out.

use workload::resource::{DESCRIPTORS, MEMORY, PORTS, TRACKED};
use workload::{Need, Workload, on_linux};

use crate::connect;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "conntrack",
    source: workload::page!("conntrack.rs"),
    grows: "tracked connections",
    operations: connect::OPERATIONS,
    needs: &[
        Need::new(DESCRIPTORS, 2),
        Need::new(PORTS, 1),
        Need::new(TRACKED, 1),
        Need::new(MEMORY, 11 << 10),
    ],
    run: on_linux!(measured::run, "the packet filters of other systems have no private networks"),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use workload::{Trial, TrialError};

    use crate::{connect, filter};

    const RULES: &str = "\
        add table inet osdyno\n\
        add chain inet osdyno input { type filter hook input priority 0; }\n\
        add rule inet osdyno input ct state established counter\n";

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let _network = trial.own_network()?;
        filter::nft(RULES)
            .map_err(filter::unsupported)
            .map_err(TrialError::at("to load a rule with nft(8)"))?;
        let pairs = connect::open(trial)?;
        let tracked = std::fs::read_to_string("/proc/sys/net/netfilter/nf_conntrack_count");
        let tracked = tracked.ok().and_then(|text| text.trim().parse::<usize>().ok());
        trial.check("every connection was tracked", tracked.is_none_or(|tracked| tracked >= pairs.len()));
        connect::close(trial, pairs)
    }
}
