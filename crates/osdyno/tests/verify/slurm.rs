//! Hosts that a scheduler gives: two nodes of SLURM on this machine, each a slurmd of its own.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::common::{osdyno, text, until};

/// The ports of the controller and of the nodes, of this process alone as far as can be: below those that the
/// kernel hands out.
const PORTS: u16 = 20_000;
/// The command of a host, as docs/fleets.md has it. Without `-u` the end of a reply that is no line stays in
/// srun.
const HOSTS: &str = "n[1-2]=srun -u -w {} -N1 -n1 --overlap";

/// A cluster of one machine; dropped, its daemons end.
struct Cluster {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Cluster {
    /// Starts it, or says why it cannot be had.
    fn start() -> Result<Cluster, String> {
        for program in ["munged", "slurmctld", "slurmd", "salloc"] {
            let found =
                ["/usr/sbin", "/usr/bin"].iter().any(|folder| PathBuf::from(folder).join(program).exists());
            found
                .then_some(())
                .ok_or(format!("there is no {program}; Debian has it in slurmd, slurmctld and munge"))?;
        }
        // munged refuses a socket in a folder that others may write to, as /tmp.
        let folder = tempfile::tempdir_in("/run").map_err(|error| format!("needs root: /run: {error}"))?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("a folder");
        let mut cluster = Cluster { folder, daemons: Vec::new() };
        cluster.configure();
        let path = |name: &str| cluster.folder.path().join(name);
        let option = |name: &str, file: &str| format!("--{name}={}", path(file).display());
        let mut munged = Command::new("/usr/sbin/munged");
        munged.args(["--foreground", &option("socket", "socket"), &option("key-file", "key")]);
        munged.args([
            option("log-file", "munged.log"),
            option("pid-file", "munged.pid"),
            option("seed-file", "seed"),
        ]);
        let mut controller = Command::new("/usr/sbin/slurmctld");
        controller.arg("-D");
        let node = |name: &str| {
            let mut node = Command::new("/usr/sbin/slurmd");
            node.args(["-D", "-N", name]);
            node
        };
        let configuration = path("slurm.conf");
        let socket = path("socket");
        let nodes = [node("n1"), node("n2")];
        cluster.spawn(munged);
        until("munged listens", || socket.exists());
        for mut daemon in [controller].into_iter().chain(nodes) {
            daemon.env("SLURM_CONF", &configuration);
            cluster.spawn(daemon);
        }
        until("both nodes are idle", || {
            let printed = cluster.command("sinfo", &["-h", "-o", "%T %D"]).output().expect("sinfo starts");
            text(&printed.stdout).trim() == "idle 2"
        });
        Ok(cluster)
    }

    fn configure(&self) {
        let here = self.folder.path();
        fs::write(here.join("key"), [7_u8; 1024]).expect("a key");
        fs::set_permissions(here.join("key"), fs::Permissions::from_mode(0o400)).expect("a key");
        let name = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        let name = name.trim().split('.').next().unwrap_or_default().to_owned();
        let first = PORTS + (std::process::id() % 1_000) as u16 * 3;
        let mut text = format!(
            "ClusterName=osdyno\nSlurmctldHost={name}(127.0.0.1)\nSlurmctldPort={first}\nAuthType=auth/munge\n\
             AuthInfo=socket={here}/socket\nSlurmUser=root\nSlurmdUser=root\nStateSaveLocation={here}/state\n\
             SlurmdSpoolDir={here}/spool.%n\nSlurmctldPidFile={here}/slurmctld.pid\n\
             SlurmdPidFile={here}/slurmd.%n.pid\nSlurmctldLogFile={here}/slurmctld.log\n\
             SlurmdLogFile={here}/slurmd.%n.log\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             MpiDefault=none\nReturnToService=2\n",
            here = here.display()
        );
        for number in 1..=2 {
            let port = first + number;
            text.push_str(&format!(
                "NodeName=n{number} NodeHostname={name} NodeAddr=127.0.0.1 Port={port} CPUs=1\n"
            ));
            fs::create_dir(here.join(format!("spool.n{number}"))).expect("a folder");
        }
        text.push_str("PartitionName=all Nodes=n[1-2] Default=YES State=UP\n");
        fs::create_dir(here.join("state")).expect("a folder");
        fs::write(here.join("slurm.conf"), text).expect("a file");
    }

    fn spawn(&mut self, mut daemon: Command) {
        daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(daemon.spawn().expect("it exists"));
    }

    /// A command of SLURM's users.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env("SLURM_CONF", self.folder.path().join("slurm.conf"));
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The controller last, and the key after those who need it.
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

#[test]
fn a_run_on_the_nodes_of_an_allocation() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => return skipped!("SLURM cannot be had here: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let run = osdyno(folder.path(), &["run", "noop", "socket/v4", "-n", "100", "--trials", "3"]);
    let mut allocated = cluster.command("salloc", &["-Q", "-N2", "-n2"]);
    allocated.arg(run.get_program()).args(run.get_args()).args(["--hosts", HOSTS, "--out", "run.osdyno"]);
    let ended = allocated.current_dir(folder.path()).stdin(Stdio::null()).output().expect("salloc starts");
    assert!(ended.status.success(), "{}\n{}", text(&ended.stdout), text(&ended.stderr));
    let (recording, _) = record::read(folder.path().join("run.osdyno")).expect("the run");
    let hosts: Vec<&str> =
        recording.systems.iter().filter_map(|system| Some(system.fleet.as_ref()?.host.as_str())).collect();
    assert_eq!(hosts, ["n1", "n2"]);
    assert_eq!(recording.trials.len(), 2 * 2 * 3);
    let documents = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fleets.md"));
    assert!(documents.expect("the document").contains(HOSTS.split_once('=').expect("a command").1));
}
