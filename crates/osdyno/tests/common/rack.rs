//! A rack of hosts: network namespaces on a bridge of their own, with an sshd in each. Nothing of it is in the
//! network of this machine.

use std::fmt::Write;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{osdyno, text, until};

/// The hosts, and a namespace in which osdyno runs beside them. Dropped, all are removed.
pub(crate) struct Rack {
    name: String,
    hosts: usize,
    daemons: Vec<Child>,
    folder: tempfile::TempDir,
}

impl Rack {
    /// Starts so many hosts, or says why they cannot be had. The sessions of those in `forced` begin with a
    /// command in place of theirs, in which `$SSH_ORIGINAL_COMMAND` is that.
    pub(crate) fn start(hosts: usize, forced: &[(usize, &str)]) -> Result<Rack, String> {
        let sshd =
            ["/usr/sbin/sshd", "/usr/bin/sshd"].map(PathBuf::from).into_iter().find(|path| path.exists());
        let sshd = sshd.ok_or("there is no sshd; Debian has it in openssh-server")?;
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        // Tests of one program may have racks at the same time.
        static RACKS: AtomicUsize = AtomicUsize::new(0);
        let name = format!("odr{}r{}", std::process::id(), RACKS.fetch_add(1, Ordering::Relaxed));
        let mut rack = Rack { name, hosts, daemons: Vec::new(), folder };
        for key in ["host", "user"] {
            let file = rack.folder.path().join(key);
            tool(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file))?;
        }
        fs::create_dir_all("/run/sshd").map_err(|error| format!("needs root: /run/sshd: {error}"))?;
        rack.make_networks()?;
        rack.configure();
        for number in 1..=hosts {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", &rack.namespace(number)]).arg(&sshd);
            command.args(["-D", "-e", "-f"]).arg(rack.folder.path().join("sshd_config"));
            command.args(["-o", &format!("ListenAddress={}", address(number))]);
            if let Some((_, forced)) = forced.iter().find(|(host, _)| *host == number) {
                command.args(["-o", &format!("ForceCommand={forced}")]);
            }
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            rack.daemons.push(command.spawn().map_err(|error| format!("ip netns exec: {error}"))?);
        }
        until("all hosts listen", || (1..=hosts).all(|number| rack.is_listening(number)));
        Ok(rack)
    }

    fn namespace(&self, number: usize) -> String {
        format!("{}n{number}", self.name)
    }

    /// The namespace of osdyno, with the bridge.
    fn hub(&self) -> String {
        format!("{}hub", self.name)
    }

    fn make_networks(&self) -> Result<(), String> {
        let hub = self.hub();
        tool(Command::new("ip").args(["netns", "add", &hub]))
            .map_err(|error| format!("needs root: {error}"))?;
        let mut batch = format!(
            "link set lo up\nlink add rack type bridge\nlink set rack up\naddr add {}/16 dev rack\n",
            address(0)
        );
        for number in 1..=self.hosts {
            let host = self.namespace(number);
            tool(Command::new("ip").args(["netns", "add", &host]))?;
            let _ = writeln!(batch, "link add v{number} type veth peer name eth0 netns {host}");
            let _ = writeln!(batch, "link set v{number} master rack up");
        }
        self.batch(&hub, &batch)?;
        for number in 1..=self.hosts {
            let own = format!("link set lo up\naddr add {}/16 dev eth0\nlink set eth0 up\n", address(number));
            self.batch(&self.namespace(number), &own)?;
        }
        Ok(())
    }

    fn batch(&self, namespace: &str, commands: &str) -> Result<(), String> {
        let mut command = Command::new("ip");
        command.args(["-n", namespace, "-batch", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("ip: {error}"))?;
        child.stdin.take().expect("a pipe").write_all(commands.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("an end");
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("ip -n {namespace}: {}", text(&output.stderr)))
        }
    }

    fn configure(&self) {
        let here = self.folder.path().display();
        let write =
            |name: &str, content: &str| fs::write(self.folder.path().join(name), content).expect("a file");
        let key = fs::read_to_string(self.folder.path().join("host.pub")).expect("a key");
        for folder in [self.agents(), self.folder.path().join("home")] {
            fs::create_dir(folder).expect("a folder");
        }
        write("known_hosts", &format!("10.77.* {key}"));
        // Bash executes the ~/.bashrc of a session: that of this machine's user may do anything, such as wait
        // for a lock that all hosts share.
        write(
            "sshd_config",
            &format!(
                "HostKey {here}/host\nAuthorizedKeysFile {here}/user.pub\nPidFile none\nStrictModes no\n\
                 UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUseDNS no\n\
                 PermitRootLogin yes\nLogLevel ERROR\nMaxStartups 100\nSubsystem sftp internal-sftp\n\
                 SetEnv TMPDIR={here}/agents HOME={here}/home\n"
            ),
        );
        write(
            "ssh_config",
            &format!(
                "Host *\nIdentityFile {here}/user\nIdentitiesOnly yes\nUserKnownHostsFile {here}/known_hosts\n\
                 StrictHostKeyChecking yes\nLogLevel ERROR\n"
            ),
        );
        let mut inventory = String::from("[rack]\n");
        for number in 1..=self.hosts {
            let _ = writeln!(inventory, "n{number} ansible_host={}", address(number));
        }
        let _ = writeln!(inventory, "[rack:vars]\nansible_ssh_common_args='-F {here}/ssh_config'");
        write("inventory", &inventory);
    }

    fn is_listening(&self, number: usize) -> bool {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(number), "ss", "-Hltn", "sport = :22"]);
        command.output().is_ok_and(|output| !output.stdout.is_empty())
    }

    /// The inventory of all hosts, in INI form.
    pub(crate) fn inventory(&self) -> String {
        self.folder.path().join("inventory").display().to_string()
    }

    /// The folder of the agents of all hosts, which share the file system of this machine.
    pub(crate) fn agents(&self) -> PathBuf {
        self.folder.path().join("agents")
    }

    /// osdyno beside the hosts.
    pub(crate) fn osdyno(&self, folder: &Path, words: &[&str]) -> Command {
        let own = osdyno(folder, words);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.hub()]).arg(own.get_program()).args(own.get_args());
        command.current_dir(folder).stdin(Stdio::null());
        own.get_envs().for_each(|(key, value)| match value {
            Some(value) => drop(command.env(key, value)),
            None => drop(command.env_remove(key)),
        });
        command
    }

    /// A program of this machine beside the hosts.
    pub(crate) fn beside(&self, program: &str, folder: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.hub(), program]).current_dir(folder).stdin(Stdio::null());
        command
    }

    /// The output of a command on a host.
    pub(crate) fn run(&self, number: usize, words: &[&str]) -> String {
        let mut command = Command::new("ip");
        let output = command.args(["netns", "exec", &self.namespace(number)]).args(words).output();
        text(&output.expect("ip starts").stdout)
    }

    /// Cuts a host off, or joins it again.
    pub(crate) fn set_link(&self, number: usize, is_up: bool) {
        let state = if is_up { "up" } else { "down" };
        let hub = self.hub();
        tool(Command::new("ip").args(["-n", &hub, "link", "set", &format!("v{number}"), state])).expect("ip");
    }

    /// The processes of a host.
    pub(crate) fn processes(&self, number: usize) -> Vec<u32> {
        let output = Command::new("ip").args(["netns", "pids", &self.namespace(number)]).output();
        let output = output.expect("ip starts");
        text(&output.stdout).lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Kills all processes of a host.
    pub(crate) fn kill(&self, number: usize) {
        for process in self.processes(number) {
            // It may have ended by itself.
            let _ = Command::new("kill").args(["-KILL", &process.to_string()]).stderr(Stdio::null()).status();
        }
    }
}

/// The address of a host; 0 is that of osdyno.
fn address(number: usize) -> String {
    format!("10.77.{}.{}", number / 200, number % 200 + 1)
}

impl Drop for Rack {
    fn drop(&mut self) {
        (1..=self.hosts).for_each(|number| self.kill(number));
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let names = (1..=self.hosts).map(|number| self.namespace(number)).chain([self.hub()]);
        for name in names {
            let _ = Command::new("ip").args(["netns", "del", &name]).stderr(Stdio::null()).status();
        }
    }
}

/// Runs a tool to a good end.
fn tool(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(format!("{command:?}: {}", text(&output.stderr))) }
}
