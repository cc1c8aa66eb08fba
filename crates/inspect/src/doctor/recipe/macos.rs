//! The recipe of macOS, by its manual.

use super::definition::{Recipe, RecipeStep};

pub(super) const RECIPE: Recipe = Recipe {
    system: "macos",
    title: "macOS",
    steps: &[
        RecipeStep {
            limits: "open files of the system",
            now: "sysctl -w kern.maxfiles={all}",
            lasting: "a job in /Library/LaunchDaemons that runs the same command at boot",
            manual: "sysctl(8), launchd.plist(5)",
        },
        RecipeStep {
            limits: "descriptors of a process",
            now: "sysctl -w kern.maxfilesperproc={all}; launchctl limit maxfiles {all}; ulimit -n {all}",
            lasting: "SoftResourceLimits and HardResourceLimits, NumberOfFiles, of the server's job",
            manual: "setrlimit(2), launchctl(1), launchd.plist(5)",
        },
        RecipeStep {
            limits: "connections that wait to be accepted",
            now: "sysctl -w kern.ipc.somaxconn={backlog}",
            lasting: "a job in /Library/LaunchDaemons that runs the same command at boot",
            manual: "listen(2), sysctl(8)",
        },
        RecipeStep {
            limits: "local ports, of clients",
            now: "sysctl -w net.inet.ip.portrange.first={first} net.inet.ip.portrange.last=65535",
            lasting: "a job in /Library/LaunchDaemons that runs the same command at boot",
            manual: "sysctl(8), ip(4)",
        },
        RecipeStep {
            limits: "processes",
            now: "sysctl -w kern.maxprocperuid=2000; launchctl limit maxproc 2000 2000; ulimit -u 2000",
            lasting: "NumberOfProcesses of the server's job; kern.maxproc depends on the model",
            manual: "launchctl(1), launchd.plist(5)",
        },
    ],
    of_2001: &[],
    notes: &[
        "It was not among the systems of 2001.",
        "/etc/sysctl.conf and /etc/launchd.conf are not read any more.",
    ],
};
