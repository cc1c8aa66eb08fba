//! The recipe of Windows, by its documentation.

use super::definition::{Recipe, RecipeStep, Replaced};

pub(super) const RECIPE: Recipe = Recipe {
    system: "windows",
    title: "Windows",
    steps: &[
        RecipeStep {
            limits: "sockets and other handles of a process",
            now: "nothing: 16 million handles, as far as the nonpaged pool has memory",
            lasting: "more memory",
            manual: "Windows Internals, object manager; Win32 documentation, \"Kernel objects\"",
        },
        RecipeStep {
            limits: "files of the C library",
            now: "_setmaxstdio(8192) in the program, instead of 512",
            lasting: "use handles (CreateFile), which have no such limit",
            manual: "C runtime reference, _setmaxstdio",
        },
        RecipeStep {
            limits: "connections that wait to be accepted",
            now: "listen(socket, SOMAXCONN_HINT({backlog})) in the program, 200 to 65535",
            lasting: "the same: there is no setting of the system",
            manual: "Winsock reference, listen",
        },
        RecipeStep {
            limits: "local ports, of clients",
            now: "netsh int ipv4 set dynamicport tcp start={first} num={ports}",
            lasting: "the same command: it is kept, and holds for new sockets at once",
            manual: "Microsoft Learn, \"Default dynamic port range for TCP/IP\" (929851)",
        },
        RecipeStep {
            limits: "processes of a service with windows",
            now: "nothing",
            lasting: "SharedSection in HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\SubSystems",
            manual: "Microsoft Learn, \"Desktop heap\"",
        },
    ],
    of_2001: &[
        Replaced {
            then: "MaxUserPort=65534 of Services\\Tcpip\\Parameters in the registry, and a boot",
            today: "netsh int ipv4 set dynamicport (since Vista); else 49152 to 65535, not 1025 to 5000",
        },
        Replaced {
            then: "TcpTimedWaitDelay=30, because closed connections kept their port for four minutes",
            today: "two minutes, and a wider range; the same name in the registry where it still matters",
        },
        Replaced {
            then: "EnableDynamicBacklog and MaximumDynamicBacklog of AFD, against full backlogs",
            today: "gone; SOMAXCONN_HINT in listen",
        },
    ],
    notes: &["Exclude the scratch folder from real-time scanning: Add-MpPreference -ExclusionPath."],
};
