//! The state of a connection: the numbers of its messages, the requests that the server allows, and its keys;
//! signatures and encryption of messages (MS-SMB2, sections 3.1.4.1 to 3.1.4.3).

use std::ops::Range;

use graviola::aead::AesGcm;
use graviola::hashing::hmac::Hmac;
use graviola::hashing::{Hash, HashContext, Sha256, Sha512};

use super::message::{
    self, Command, HEADER_BYTES, LENGTH_BYTES, Negotiated, RequestHeader, ResponseHeader, SIGNATURE_AT,
    SIGNATURE_BYTES, STATUS_MORE_PROCESSING, STATUS_PENDING, SetUp, array, u32_at,
};
use super::ntlm::{self, Challenge};
use super::{Account, OpenFile, SmbError};

/// No response of a server has more: that of a READ of 8 MiB, the most that servers offer.
const PACKET_BYTES_MAX: usize = (8 << 20) + 1024;

/// So many bytes of a request or a response take one credit.
const CREDIT_BYTES: u32 = 64 << 10;
/// How many credits are requested, so that requests need not wait for them.
const CREDITS_WANTED: u16 = 256;

/// How many bytes follow the length before a packet.
///
/// # Errors
/// [`SmbError::Malformed`] for more than any response has.
pub fn packet_bytes(length: [u8; 4]) -> Result<usize, SmbError> {
    match u32::from_be_bytes(length) as usize {
        bytes if bytes <= PACKET_BYTES_MAX => Ok(bytes),
        _ => Err(SmbError::Malformed("a message is too long")),
    }
}

/// The protection of messages once the client has its share; before that they are signed at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Nothing.
    None,
    /// Signatures: AES-128-GMAC.
    Signatures,
    /// Encryption: AES-128-GCM.
    Encryption,
}

/// The client's side of one connection. Each request is a packet to be sent, and each packet that comes is
/// given to [`SmbConnection::take`].
#[derive(Debug)]
pub struct SmbConnection {
    account: Account,
    protection: Protection,
    random: fastrand::Rng,
    integrity: Integrity,
    /// The key of the session, once the user is authenticated.
    session_key: Option<[u8; 16]>,
    keys: Option<Keys>,
    /// The user is known, and the share not yet.
    is_signing: bool,
    credits: u32,
    next: u64,
    /// Requests without a response: their numbers and commands.
    awaited: Vec<(u64, Command)>,
    session: u64,
    tree: u32,
    read_bytes_max: u32,
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SmbResponse {
    /// Not to a request alone: the real one follows.
    Interim,
    /// The server asks for authentication: the request that gives it.
    Challenge(Vec<u8>),
    /// The request is done.
    Done,
    /// A file is open.
    Opened(OpenFile),
    /// The number of a request to read, and the place of its bytes in the packet.
    Piece(u64, Range<usize>),
}

impl SmbConnection {
    /// Before anything was sent. The seed decides about its random numbers.
    pub fn new(account: Account, protection: Protection, seed: u64) -> SmbConnection {
        SmbConnection {
            account,
            protection,
            random: fastrand::Rng::with_seed(seed),
            integrity: Integrity::new(),
            session_key: None,
            keys: None,
            is_signing: false,
            credits: 1,
            next: 0,
            awaited: Vec::new(),
            session: 0,
            tree: 0,
            read_bytes_max: 0,
        }
    }

    /// Asks for the dialect.
    ///
    /// # Errors
    /// [`SmbError::NoCredit`], as of every request.
    pub fn negotiate(&mut self) -> Result<Vec<u8>, SmbError> {
        let (mut guid, mut salt) = ([0; 16], [0; 32]);
        self.random.fill(&mut guid);
        self.random.fill(&mut salt);
        let packet = self.request(Command::Negotiate, 0, &message::negotiate(guid, salt))?;
        self.integrity.add(&packet[LENGTH_BYTES..]);
        Ok(packet)
    }

    /// Begins to log on.
    ///
    /// # Errors
    /// As above.
    pub fn log_on(&mut self) -> Result<Vec<u8>, SmbError> {
        self.session_setup(&ntlm::negotiate())
    }

    fn session_setup(&mut self, token: &[u8]) -> Result<Vec<u8>, SmbError> {
        let packet = self.request(Command::SessionSetup, 0, &message::session_setup(token))?;
        self.integrity.add(&packet[LENGTH_BYTES..]);
        Ok(packet)
    }

    /// Connects to a share, named as `\\server\share`.
    ///
    /// # Errors
    /// As above.
    pub fn connect_share(&mut self, path: &str) -> Result<Vec<u8>, SmbError> {
        self.request(Command::TreeConnect, 0, &message::tree_connect(path))
    }

    /// Opens a file of the share for reading.
    ///
    /// # Errors
    /// As above.
    pub fn open(&mut self, name: &str) -> Result<Vec<u8>, SmbError> {
        self.request(Command::Create, 0, &message::create(name))
    }

    /// Reads this number of bytes from that place on: the number of the request, and its packet.
    ///
    /// # Errors
    /// As above.
    pub fn read(&mut self, file: &OpenFile, at: u64, bytes: u32) -> Result<(u64, Vec<u8>), SmbError> {
        let id = self.next;
        Ok((id, self.request(Command::Read, bytes, &message::read(file, at, bytes))?))
    }

    /// Whether the server allows another request for this number of bytes.
    pub(crate) fn may_read(&self, bytes: u32) -> bool {
        self.credits >= u32::from(charge(bytes))
    }

    /// Bytes of one request to read at most.
    pub fn read_bytes_max(&self) -> u32 {
        self.read_bytes_max
    }

    /// Closes a file.
    ///
    /// # Errors
    /// As above.
    pub fn close(&mut self, file: &OpenFile) -> Result<Vec<u8>, SmbError> {
        self.request(Command::Close, 0, &message::close(file))
    }

    /// Leaves the share.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn leave_share(&mut self) -> Result<Vec<u8>, SmbError> {
        self.request(Command::TreeDisconnect, 0, &message::nothing())
    }

    /// Ends the session.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn log_off(&mut self) -> Result<Vec<u8>, SmbError> {
        self.request(Command::LogOff, 0, &message::nothing())
    }

    fn request(&mut self, command: Command, bytes: u32, body: &[u8]) -> Result<Vec<u8>, SmbError> {
        let charge = charge(bytes);
        self.credits = self.credits.checked_sub(u32::from(charge)).ok_or(SmbError::NoCredit)?;
        let id = self.next;
        self.next += u64::from(charge);
        self.awaited.push((id, command));
        let is_sealed = self.keys.is_some() && self.protection == Protection::Encryption;
        let header = RequestHeader {
            command,
            charge,
            credits: CREDITS_WANTED
                .saturating_sub(self.credits.min(u32::from(CREDITS_WANTED)) as u16)
                .max(charge),
            is_signed: self.signs() && !is_sealed,
            id,
            tree: self.tree,
            session: self.session,
        };
        let mut packet = vec![0; LENGTH_BYTES];
        header.write(&mut packet);
        packet.extend(body);
        if let Some(keys) = &mut self.keys {
            match is_sealed {
                true => keys.seal(&mut packet, self.session),
                false if header.is_signed => keys.sign(&mut packet[LENGTH_BYTES..], id),
                false => {}
            }
        }
        let length = (packet.len() - LENGTH_BYTES) as u32;
        packet[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
        Ok(packet)
    }

    /// Whether messages are signed now: that of the share always is.
    fn signs(&self) -> bool {
        self.keys.is_some() && (self.is_signing || self.protection == Protection::Signatures)
    }

    /// Takes a packet of the server, without the length before it; it is decrypted in its place.
    ///
    /// # Errors
    /// Why the connection cannot be used any more.
    pub fn take(&mut self, packet: &mut [u8]) -> Result<SmbResponse, SmbError> {
        let whole = packet.len();
        let was_sealed = is_sealed(packet);
        let message = match &self.keys {
            Some(keys) if self.protection == Protection::Encryption => keys.open(packet)?,
            _ if was_sealed => return Err(SmbError::Forged),
            _ => packet,
        };
        let header = ResponseHeader::parse(message)?;
        let place = self.awaited.iter().position(|(id, _)| *id == header.id);
        let place = place.ok_or(SmbError::Malformed("it answers a request that nobody sent"))?;
        let command = self.awaited[place].1;
        if header.command != command as u16 {
            return Err(SmbError::Malformed("it answers another request than was sent"));
        }
        self.credits = self.credits.saturating_add(u32::from(header.credits));
        if header.status == STATUS_PENDING {
            return Ok(SmbResponse::Interim);
        }
        self.awaited.swap_remove(place);
        match self.signs() {
            true if !was_sealed => self.verify(message, &header)?,
            // Otherwise the user would measure them unawares.
            false if self.tree != 0 && header.is_signed => return Err(SmbError::Lacking("signatures")),
            _ => {}
        }
        let is_challenge = command == Command::SessionSetup && header.status == STATUS_MORE_PROCESSING;
        if header.status != 0 && !is_challenge {
            return Err(SmbError::Refused { command: header.command, status: header.status });
        }
        let before = whole - message.len();
        self.response(command, &header, message, before)
    }

    fn verify(&self, message: &mut [u8], header: &ResponseHeader) -> Result<(), SmbError> {
        match &self.keys {
            Some(keys) if header.is_signed => keys.verify(message, header.id),
            _ => Err(SmbError::Forged),
        }
    }

    /// A good response; `before` bytes precede it in its packet.
    fn response(
        &mut self,
        command: Command,
        header: &ResponseHeader,
        message: &mut [u8],
        before: usize,
    ) -> Result<SmbResponse, SmbError> {
        match command {
            Command::Negotiate => {
                let negotiated = Negotiated::parse(message)?;
                if negotiated.requires_signing && self.protection == Protection::None {
                    return Err(SmbError::Lacking("signatures"));
                }
                self.read_bytes_max = negotiated.read_bytes_max;
                self.integrity.add(message);
            }
            Command::SessionSetup if header.status == STATUS_MORE_PROCESSING => {
                self.integrity.add(message);
                self.session = header.session;
                let challenge = Challenge::parse(SetUp::parse(message)?.token)?;
                let own = self.random.u64(..).to_le_bytes();
                let (token, session_key) = challenge.answer(&self.account, own);
                self.session_key = Some(session_key);
                return self.session_setup(&token).map(SmbResponse::Challenge);
            }
            Command::SessionSetup => self.logged_on(header, message)?,
            Command::TreeConnect => {
                if message::share_wants_encryption(message)? && self.protection != Protection::Encryption {
                    return Err(SmbError::Lacking("encryption"));
                }
                self.tree = header.tree;
                self.is_signing = false;
            }
            Command::Create => return OpenFile::parse(message).map(SmbResponse::Opened),
            Command::Read => {
                let piece = message::piece_read(message)?;
                return Ok(SmbResponse::Piece(header.id, piece.start + before..piece.end + before));
            }
            Command::Close | Command::TreeDisconnect | Command::LogOff => {}
        }
        Ok(SmbResponse::Done)
    }

    /// The last answer to the user's proof is the first with a signature.
    fn logged_on(&mut self, header: &ResponseHeader, message: &mut [u8]) -> Result<(), SmbError> {
        let set_up = SetUp::parse(message)?;
        if set_up.is_guest {
            return Err(SmbError::Lacking("no user, and takes everybody for a guest"));
        }
        if set_up.wants_encryption && self.protection != Protection::Encryption {
            return Err(SmbError::Lacking("encryption"));
        }
        let session_key = self.session_key.ok_or(SmbError::Malformed("it asked for no proof"))?;
        self.keys = Some(Keys::derive(&self.integrity, &session_key));
        self.is_signing = true;
        self.verify(message, header)
    }
}

fn charge(bytes: u32) -> u16 {
    bytes.div_ceil(CREDIT_BYTES).clamp(1, u32::from(u16::MAX)) as u16
}

/// The first bytes of an encrypted message.
const SEALED: [u8; 4] = *b"\xfdSMB";
const SEALED_HEADER_BYTES: usize = 52;
const NONCE_AT: usize = 20;
const NONCE_BYTES: usize = 12;

/// In the nonce of a signature: the server has sent it.
const OF_SERVER: u32 = 1;

/// The hash of all messages until the user is known.
#[derive(Clone, Debug)]
struct Integrity([u8; 64]);

impl Integrity {
    fn new() -> Integrity {
        Integrity([0; 64])
    }

    fn add(&mut self, message: &[u8]) {
        let mut context = Sha512::new();
        context.update(&self.0);
        context.update(message);
        self.0.copy_from_slice(context.finish().as_ref());
    }

    /// A key for one purpose, from that of the session (SP800-108, counter mode).
    fn key(&self, session_key: &[u8; 16], purpose: &str) -> AesGcm {
        let mut code = Hmac::<Sha256>::new(session_key);
        code.update(1_u32.to_be_bytes());
        code.update(purpose);
        // The end of the purpose, and of the label.
        code.update([0, 0]);
        code.update(self.0);
        code.update(128_u32.to_be_bytes());
        AesGcm::new(&code.finish().as_ref()[..16])
    }
}

struct Keys {
    signing: AesGcm,
    to_server: AesGcm,
    to_client: AesGcm,
    /// How many messages were encrypted.
    sealed: u64,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Keys")
    }
}

impl Keys {
    fn derive(integrity: &Integrity, session_key: &[u8; 16]) -> Keys {
        let key = |purpose| integrity.key(session_key, purpose);
        Keys {
            signing: key("SMBSigningKey"),
            to_server: key("SMBC2SCipherKey"),
            to_client: key("SMBS2CCipherKey"),
            sealed: 0,
        }
    }

    /// Signs a request in its place.
    fn sign(&self, message: &mut [u8], id: u64) {
        let signature = self.signature(message, id, 0);
        message[SIGNATURE_AT..HEADER_BYTES].copy_from_slice(&signature);
    }

    /// Checks the signature of a response, and takes it away.
    fn verify(&self, message: &mut [u8], id: u64) -> Result<(), SmbError> {
        let signature: [u8; SIGNATURE_BYTES] = array(message, SIGNATURE_AT)?;
        message[SIGNATURE_AT..HEADER_BYTES].fill(0);
        match self.signature(message, id, OF_SERVER) == signature {
            true => Ok(()),
            false => Err(SmbError::Forged),
        }
    }

    /// That of a message which has none.
    fn signature(&self, message: &[u8], id: u64, of: u32) -> [u8; SIGNATURE_BYTES] {
        let mut nonce = [0; NONCE_BYTES];
        nonce[..8].copy_from_slice(&id.to_le_bytes());
        nonce[8..].copy_from_slice(&of.to_le_bytes());
        let mut signature = [0; SIGNATURE_BYTES];
        self.signing.encrypt(&nonce, message, &mut [], &mut signature);
        signature
    }

    /// Encrypts the message of a packet, which becomes longer.
    fn seal(&mut self, packet: &mut Vec<u8>, session: u64) {
        let length = (packet.len() - LENGTH_BYTES) as u32;
        self.sealed += 1;
        let mut nonce = [0; NONCE_BYTES];
        nonce[..8].copy_from_slice(&self.sealed.to_le_bytes());
        let mut header = Vec::with_capacity(SEALED_HEADER_BYTES);
        header.extend(SEALED);
        header.extend([0; SIGNATURE_BYTES]);
        header.extend(nonce);
        header.extend([0; 16 - NONCE_BYTES]);
        header.extend(length.to_le_bytes());
        header.extend([0, 0, 1, 0]);
        header.extend(session.to_le_bytes());
        let mut signature = [0; SIGNATURE_BYTES];
        self.to_server.encrypt(&nonce, &header[NONCE_AT..], &mut packet[LENGTH_BYTES..], &mut signature);
        header[4..NONCE_AT].copy_from_slice(&signature);
        packet.splice(LENGTH_BYTES..LENGTH_BYTES, header);
    }

    /// Decrypts a message in its place; where it is then.
    fn open<'a>(&self, message: &'a mut [u8]) -> Result<&'a mut [u8], SmbError> {
        if message.len() < SEALED_HEADER_BYTES || !is_sealed(message) {
            return Err(SmbError::Forged);
        }
        let (header, content) = message.split_at_mut(SEALED_HEADER_BYTES);
        if u32_at(header, 36)? as usize != content.len() {
            return Err(SmbError::Malformed("an encrypted message has another length than it says"));
        }
        let (nonce, signature) = (array(header, NONCE_AT)?, array::<SIGNATURE_BYTES>(header, 4)?);
        let opened = self.to_client.decrypt(&nonce, &header[NONCE_AT..], content, &signature);
        opened.map_err(|_| SmbError::Forged)?;
        Ok(content)
    }
}

fn is_sealed(message: &[u8]) -> bool {
    message.starts_with(&SEALED)
}
