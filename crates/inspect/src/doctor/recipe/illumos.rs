//! illumos, the successor of Solaris 8.

use super::definition::{Recipe, RecipeStep, Replaced};

pub(super) const RECIPE: Recipe = Recipe {
    system: "illumos",
    title: "illumos (OmniOS, SmartOS, OpenIndiana)",
    steps: &[
        RecipeStep {
            limits: "descriptors of a process",
            now: "prctl -n process.max-file-descriptor -t privileged -v {all} -r -e deny $$; ulimit -n {all}",
            lasting: "projmod -sK 'process.max-file-descriptor=(privileged,{all},deny)' PROJECT",
            manual: "prctl(1), projmod(8), resource_controls(7)",
        },
        RecipeStep {
            limits: "connections that wait to be accepted",
            now: "ipadm set-prop -t -p _conn_req_max_q={backlog} tcp",
            lasting: "ipadm set-prop -p _conn_req_max_q={backlog} tcp",
            manual: "ipadm(8)",
        },
        RecipeStep {
            limits: "connections whose handshake is not finished",
            now: "ipadm set-prop -t -p _conn_req_max_q0={backlog} tcp",
            lasting: "ipadm set-prop -p _conn_req_max_q0={backlog} tcp",
            manual: "ipadm(8)",
        },
        RecipeStep {
            limits: "local ports, of clients",
            now: "ipadm set-prop -t -p smallest_anon_port={first} tcp",
            lasting: "ipadm set-prop -p smallest_anon_port={first} tcp",
            manual: "ipadm(8)",
        },
        RecipeStep {
            limits: "threads and processes of a zone",
            now: "prctl -n zone.max-lwps -v {all} -r -i zone ZONE",
            lasting: "zonecfg -z ZONE set max-lwps={all}; maxuprc in /etc/system",
            manual: "resource_controls(7), zonecfg(8), system(5)",
        },
    ],
    of_2001: &[
        Replaced {
            then: "set rlim_fd_max=65536 and rlim_fd_cur in /etc/system, and a boot (Solaris 8)",
            today: "the resource control process.max-file-descriptor, without a boot",
        },
        Replaced {
            then: "ndd -set /dev/tcp tcp_conn_req_max_q 4096, in a boot script",
            today: "ipadm set-prop, which keeps the value",
        },
        Replaced {
            then: "ndd -set /dev/tcp tcp_smallest_anon_port 8192",
            today: "ipadm set-prop -p smallest_anon_port",
        },
        Replaced {
            then: "set maxusers and max_nprocs in /etc/system",
            today: "both are sized by memory; limits of zones and projects take their place",
        },
    ],
    notes: &[],
};
