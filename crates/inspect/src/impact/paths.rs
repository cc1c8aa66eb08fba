//! Paths that stand beside a user's own: that of 1996, and some of today.
//!
//! Today's are typical values rounded to a digit, from what is published of each technology: FCC, *Measuring
//! Fixed Broadband* (fibre, cable, DSL and geostationary satellites), the operators' and Ookla's figures for
//! mobile networks and low orbits. They show the order of magnitude; `--path` has the real one.

use super::path::NetworkPath;

/// A path with a name.
#[derive(Clone, Debug)]
pub struct KnownPath {
    /// What it is called.
    pub name: &'static str,
    /// The path as `--path` takes it.
    pub text: &'static str,
}

/// The fastest first.
pub const KNOWN_PATHS: &[KnownPath] = &[
    KnownPath { name: "another machine, same rack", text: "rack 0.05ms 25gbit" },
    KnownPath { name: "local network", text: "lan 0.3ms 1gbit" },
    KnownPath { name: "another zone, same region", text: "region 1ms 10gbit" },
    KnownPath { name: "fibre to the home", text: "internet 10ms, fibre 3ms 1gbit" },
    KnownPath { name: "5G", text: "internet 10ms, 5g 30ms 200mbit" },
    KnownPath { name: "cable", text: "internet 10ms, cable 15ms 250mbit" },
    KnownPath { name: "DSL", text: "internet 10ms, dsl 20ms 16mbit" },
    KnownPath { name: "satellite, low orbit", text: "internet 10ms, satellite 40ms 100mbit" },
    KnownPath { name: "another continent, fibre", text: "ocean 150ms, fibre 3ms 1gbit" },
    KnownPath { name: "satellite, geostationary", text: "internet 10ms, satellite 600ms 25mbit" },
    KnownPath { name: "modem of 1996", text: "internet 50ms, modem 150ms 28.8kbit" },
];

impl KnownPath {
    /// The path; `None` cannot be, because a test reads all of them.
    pub fn path(&self) -> Option<NetworkPath> {
        NetworkPath::parse(self.text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_path_is_one_with_a_delay_and_a_rate() {
        for known in KNOWN_PATHS {
            let path = NetworkPath::parse(known.text).unwrap();
            assert!(path.delay_seconds() > 0.0 && path.bottleneck().is_some(), "{}", known.name);
        }
    }
}
