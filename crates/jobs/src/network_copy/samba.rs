//! A private smbd of this system: its configuration, its user and its folders are below that of the trial.

use std::fmt::Write;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use sys::Unsupported;
use sys::process::{confined_user, find_program, pin, terminate};
use workload::{Trial, TrialError};

use super::client::{Client, Server, free_address};
use super::smb::SmbClient;
use crate::instance::{Daemon, Instance};
use crate::smb::{Account, Protection};

const MISSING: Unsupported =
    Unsupported("this system has no smbd; on Debian `apt-get install samba` installs it");

/// The client's choice; it would have given up where smbd did otherwise.
const CLAIMS: [&str; 3] = [
    "smbd spoke SMB 3.1.1 and neither signed nor encrypted messages of the share",
    "smbd spoke SMB 3.1.1 and signed every message, with AES-128-GMAC",
    "smbd spoke SMB 3.1.1 and encrypted every message, with AES-128-GCM",
];

const SHARE: &str = "files";

/// The server.
pub(super) struct Samba {
    instance: Instance,
    address: SocketAddr,
    account: Account,
    protection: Protection,
    seed: u64,
}

impl Samba {
    /// Starts it for the files of that folder.
    pub(super) fn start(trial: &Trial<'_>, served: &Path, folder: &Path) -> Result<Samba, TrialError> {
        let protection = match trial.setting("protection")? {
            "signatures" => Protection::Signatures,
            "encryption" => Protection::Encryption,
            _ => Protection::None,
        };
        Samba::launch(trial, protection, served, folder).map_err(TrialError::at("to start smbd"))
    }

    fn launch(trial: &Trial<'_>, protection: Protection, served: &Path, folder: &Path) -> io::Result<Samba> {
        if trial.server().is_some() {
            return Err(Unsupported("smbd is started on this machine only, and not with --server").into());
        }
        if !graviola::util::is_cpu_supported() {
            return Err(Unsupported("this processor lacks instructions for AES").into());
        }
        let server = find_program("smbd").ok_or(MISSING)?;
        let mut nt_hash = [0; 16];
        fastrand::fill(&mut nt_hash);
        let account = Account { user: confined_user()?, nt_hash };
        let address = free_address()?;
        // The smbd of a killed trial may still be ending. In a folder of the same name it would leave its
        // number for this one to find.
        let own = folder.join(format!("smbd-{}", std::process::id()));
        fs::create_dir(&own)?;
        let configuration = folder.join("smb.conf");
        fs::write(&configuration, configured(address, served, folder, &own))?;
        fs::write(folder.join("passwd"), password(&account))?;
        fs::set_permissions(folder.join("passwd"), fs::Permissions::from_mode(0o600))?;
        let mut command = Command::new(server);
        // Its children are ended through its process group.
        command.args(["--foreground", "--debug-stdout", "--configfile"]);
        command.arg(configuration).current_dir(folder);
        if let Some(cpu) = trial.server_cpu() {
            pin(&mut command, cpu);
        }
        let seed = trial.seed();
        let client = || SmbClient::new(address, SHARE, account.clone(), protection, seed);
        let serve = || client().connect();
        let daemon = Daemon { name: "smbd", end: terminate };
        let instance = Instance::start(daemon, &mut command, &folder.join("log"), serve)?;
        Ok(Samba { instance, address, account, protection, seed })
    }
}

impl Server for Samba {
    fn client(&self) -> io::Result<Box<dyn Client>> {
        let client = SmbClient::new(self.address, SHARE, self.account.clone(), self.protection, self.seed);
        Ok(Box::new(client))
    }

    fn cause(&mut self, error: io::Error) -> io::Error {
        self.instance.ending().unwrap_or(error)
    }

    fn stop(self: Box<Self>, trial: &mut Trial<'_>) -> Result<(), TrialError> {
        trial.check(CLAIMS[self.protection as usize], true);
        Ok(())
    }
}

/// All that smbd would otherwise keep in folders of the system is in its own; its users are in the other.
fn configured(address: SocketAddr, served: &Path, folder: &Path, own: &Path) -> String {
    let mut text = "[global]\nserver role = standalone server\ndisable netbios = yes\n".to_owned();
    text += "load printers = no\ndisable spoolss = yes\nbind interfaces only = yes\nlog level = 0\n";
    let (folder, own) = (folder.display(), own.display());
    for key in ["private dir", "lock directory", "state directory", "cache directory", "pid directory"] {
        let _ = writeln!(text, "{key} = {own}");
    }
    let _ = writeln!(text, "ncalrpc dir = {own}/ncalrpc");
    let _ = writeln!(text, "passdb backend = smbpasswd:{folder}/passwd");
    let _ = writeln!(text, "interfaces = {}/8\nsmb ports = {}", address.ip(), address.port());
    let _ = writeln!(text, "[{SHARE}]\npath = {}\nread only = yes", served.display());
    text
}

/// The file of users, smbpasswd(5): there is only the NT hash, which no password need have.
fn password(account: &Account) -> String {
    let hash = account.nt_hash.map(|byte| format!("{byte:02X}")).concat();
    format!("{}:65534:{}:{hash}:[U          ]:LCT-00000001:\n", account.user, "X".repeat(32))
}
