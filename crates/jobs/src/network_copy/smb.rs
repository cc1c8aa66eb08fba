//! `smb`: a private smbd of this system, whose configuration, user and folders are below that of the trial,
//! and a client of SMB 3.1.1 that keeps several requests under way, as those of systems do.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use sys::Unsupported;
use sys::process::{confined_user, find_program, pin, terminate};
use workload::{Trial, TrialError};

use super::measure::{Client, PrivateServer, ReadsUnderWay, connect, free_address, not_connected};
use crate::instance::{Daemon, Instance, protocol};
use crate::smb::{Account, OpenFile, Protection, SmbConnection, SmbResponse, packet_bytes};

const MISSING: Unsupported =
    Unsupported("this system has no smbd; on Debian `apt-get install samba` installs it");

/// The client's choice; it would have given up where smbd did otherwise.
const CLAIMS: [&str; 3] = [
    "smbd spoke SMB 3.1.1 and neither signed nor encrypted messages of the share",
    "smbd spoke SMB 3.1.1 and signed every message, with AES-128-GMAC",
    "smbd spoke SMB 3.1.1 and encrypted every message, with AES-128-GCM",
];

const SHARE: &str = "files";

/// Starts smbd for the files of `served`.
pub(super) fn start(trial: &Trial<'_>, served: &Path, folder: &Path) -> Result<PrivateServer, TrialError> {
    let protection = match trial.setting("protection")? {
        "signatures" => Protection::Signatures,
        "encryption" => Protection::Encryption,
        _ => Protection::None,
    };
    launch(trial, protection, served, folder).map_err(TrialError::at("to start smbd"))
}

fn launch(
    trial: &Trial<'_>,
    protection: Protection,
    served: &Path,
    folder: &Path,
) -> io::Result<PrivateServer> {
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
    let client = move || SmbClient::new(address, SHARE, account.clone(), protection, seed);
    let serve = || client().connect();
    let daemon = Daemon { name: "smbd", end: terminate };
    let instance = Instance::start(daemon, &mut command, &folder.join("log"), serve)?;
    let client = Box::new(move || Box::new(client()) as Box<dyn Client>);
    Ok(PrivateServer { instance, claim: CLAIMS[protection as usize], client })
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

/// Bytes of one request to read, unless the server allows fewer.
const READ_BYTES: u32 = 1 << 20;
/// Requests to read that are under way at once.
const READS: usize = 4;

struct SmbClient {
    address: SocketAddr,
    share: &'static str,
    account: Account,
    protection: Protection,
    seed: u64,
    link: Option<Link>,
    file: OpenFile,
    /// How much of the file was asked for.
    asked: u64,
    reads: ReadsUnderWay,
}

/// A connection with its socket.
struct Link {
    stream: TcpStream,
    connection: SmbConnection,
    /// Frames that may be read into.
    spare: Vec<Vec<u8>>,
}

impl SmbClient {
    fn new(
        address: SocketAddr,
        share: &'static str,
        account: Account,
        protection: Protection,
        seed: u64,
    ) -> SmbClient {
        let (file, reads) = (OpenFile { id: [0; 16], bytes: 0 }, ReadsUnderWay::default());
        SmbClient { address, share, account, protection, seed, link: None, file, asked: 0, reads }
    }

    fn link(&mut self) -> io::Result<&mut Link> {
        self.link.as_mut().ok_or_else(not_connected)
    }

    /// Asks for more of the file, as far as the server allows.
    fn ask(&mut self) -> io::Result<()> {
        let (file, link) = (self.file, self.link.as_mut().ok_or_else(not_connected)?);
        let most = link.connection.read_bytes_max().clamp(1, READ_BYTES);
        while self.reads.count() < READS && self.asked < file.bytes {
            let bytes = (file.bytes - self.asked).min(u64::from(most)) as u32;
            if !link.connection.may_read(bytes) && self.reads.count() > 0 {
                break;
            }
            let (id, packet) = link.connection.read(&file, self.asked, bytes)?;
            link.stream.write_all(&packet)?;
            self.reads.begin(id, bytes);
            self.asked += u64::from(bytes);
        }
        Ok(())
    }
}

impl Link {
    /// Sends a request, and waits for its response.
    fn exchange(&mut self, request: Vec<u8>) -> io::Result<SmbResponse> {
        self.stream.write_all(&request)?;
        let (packet, received) = self.receive()?;
        self.spare.push(packet);
        Ok(received)
    }

    /// The next response, and its packet.
    fn receive(&mut self) -> io::Result<(Vec<u8>, SmbResponse)> {
        let mut packet = self.spare.pop().unwrap_or_default();
        loop {
            let mut length = [0; 4];
            self.stream.read_exact(&mut length)?;
            packet.resize(packet_bytes(length)?, 0);
            self.stream.read_exact(&mut packet)?;
            match self.connection.take(&mut packet)? {
                SmbResponse::Interim => {}
                received => return Ok((packet, received)),
            }
        }
    }
}

impl Client for SmbClient {
    fn connect(&mut self) -> io::Result<()> {
        let stream = connect(self.address)?;
        let connection = SmbConnection::new(self.account.clone(), self.protection, self.seed);
        let link = self.link.insert(Link { stream, connection, spare: Vec::new() });
        let request = link.connection.negotiate()?;
        link.exchange(request).map(drop)
    }

    fn authenticate(&mut self) -> io::Result<bool> {
        let path = format!("\\\\{}\\{}", self.address.ip(), self.share);
        let link = self.link()?;
        let request = link.connection.log_on()?;
        let SmbResponse::Challenge(proof) = link.exchange(request)? else {
            return Err(protocol("the server wants no proof of the user"));
        };
        let SmbResponse::Done = link.exchange(proof)? else {
            return Err(protocol("the server wants a second proof of the user"));
        };
        let request = link.connection.connect_share(&path)?;
        link.exchange(request)?;
        Ok(true)
    }

    fn open(&mut self, name: &str) -> io::Result<()> {
        let link = self.link()?;
        let request = link.connection.open(name)?;
        let SmbResponse::Opened(file) = link.exchange(request)? else {
            return Err(protocol("the server opened no file"));
        };
        (self.file, self.asked) = (file, 0);
        Ok(())
    }

    fn receive(&mut self) -> io::Result<&[u8]> {
        let given = self.reads.spare();
        self.link()?.spare.push(given);
        self.ask()?;
        let link = self.link.as_mut().ok_or_else(not_connected)?;
        let short = || io::ErrorKind::UnexpectedEof.into();
        self.reads.next(short, || match link.receive()? {
            (packet, SmbResponse::Piece(id, place)) => Ok((packet, id, place)),
            _ => Err(protocol("the server sent something else than the file")),
        })
    }

    fn close(&mut self) -> io::Result<()> {
        let file = self.file;
        let mut link = self.link.take().ok_or_else(not_connected)?;
        for request in
            [link.connection.close(&file)?, link.connection.leave_share()?, link.connection.log_off()?]
        {
            link.exchange(request)?;
        }
        Ok(())
    }
}
