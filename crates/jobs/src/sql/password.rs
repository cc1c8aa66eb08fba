//! Proofs of a password for databases. The password itself is never sent.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use graviola::hashing::hmac::Hmac;
use graviola::hashing::{Hash, HashContext, Sha256};

/// RFC 7677, section 4: with fewer, a false server could soon guess the password from the proof.
const ITERATIONS_MIN: u32 = 4096;

/// More would keep the client busy.
const ITERATIONS_MAX: u32 = 1_000_000;

const FILE_BYTES_MAX: u64 = 4096;

/// A password. It is never printed.
pub(super) struct Password(Vec<u8>);

impl Password {
    /// The first line of a file that only its owner may read.
    ///
    /// # Errors
    /// Those of open(2) and read(2); a file that others may read.
    pub(super) fn of_file(path: &Path) -> io::Result<Password> {
        let failed = |reason: String| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("password-file {}: {reason}", path.display()))
        };
        let facts = fs::metadata(path).map_err(|error| failed(error.to_string()))?;
        if !facts.is_file() {
            return Err(failed("it is no regular file".to_owned()));
        }
        if facts.mode() & 0o077 != 0 {
            return Err(failed("others may read it; chmod 600".to_owned()));
        }
        let mut bytes = Vec::new();
        fs::File::open(path)
            .and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes))
            .map_err(|error| failed(error.to_string()))?;
        let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        Ok(Password(line.strip_suffix(b"\r").unwrap_or(line).to_vec()))
    }

    /// For `mysql_native_password`: SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))).
    pub(super) fn native(&self, nonce: &[u8]) -> Vec<u8> {
        let sha1 = |bytes: &[u8]| sha1_smol::Sha1::from(bytes).digest().bytes();
        let hash = sha1(&self.0);
        let proof = sha1(&[nonce, &sha1(&hash)].concat());
        self.unless_empty(xor(&hash, &proof))
    }

    /// For `caching_sha2_password`: SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce).
    pub(super) fn caching_sha2(&self, nonce: &[u8]) -> Vec<u8> {
        let hash = sha256(&[&self.0]);
        let proof = sha256(&[&sha256(&[&hash]), nonce]);
        self.unless_empty(xor(&hash, &proof))
    }

    /// The proof of an empty password has no bytes.
    fn unless_empty(&self, proof: Vec<u8>) -> Vec<u8> {
        if self.0.is_empty() { Vec::new() } else { proof }
    }
}

/// A client of SCRAM-SHA-256 without channel binding (RFC 5802, RFC 7677).
pub(super) struct Scram<'a> {
    /// Without `,` and `=`, which the protocol would want to be escaped.
    user: &'a str,
    password: &'a Password,
    nonce: String,
    /// The server's proof that it knows the password.
    signature: Vec<u8>,
}

impl<'a> Scram<'a> {
    /// For PostgreSQL, which ignores the name of the user here, because it has it already.
    ///
    /// # Errors
    /// Where the system has no random bytes.
    pub(super) fn new(password: &'a Password) -> io::Result<Scram<'a>> {
        let mut random = [0; 18];
        graviola::random::fill(&mut random).map_err(|_| io::Error::other("there are no random bytes"))?;
        Ok(Scram { user: "", password, nonce: BASE64_STANDARD.encode(random), signature: Vec::new() })
    }

    /// The first message.
    pub(super) fn first(&self) -> String {
        format!("n,,{}", self.first_bare())
    }

    /// The first message, without the header of channel binding.
    fn first_bare(&self) -> String {
        format!("n={},r={}", self.user, self.nonce)
    }

    /// The reply to the server's first message.
    ///
    /// # Errors
    /// For a violation of the RFC, and for fewer iterations than [`ITERATIONS_MIN`] or more than
    /// [`ITERATIONS_MAX`].
    pub(super) fn last(&mut self, of_server: &[u8]) -> io::Result<String> {
        let of_server = std::str::from_utf8(of_server).map_err(|_| wrong())?;
        let part = |name: &str| of_server.split(',').find_map(|part| part.strip_prefix(name));
        let (Some(nonce), Some(salt), Some(iterations)) = (part("r="), part("s="), part("i=")) else {
            return Err(wrong());
        };
        let salt = BASE64_STANDARD.decode(salt).map_err(|_| wrong())?;
        let iterations: u32 = iterations.parse().map_err(|_| wrong())?;
        if !nonce.starts_with(&self.nonce) {
            return Err(wrong());
        }
        if !(ITERATIONS_MIN..=ITERATIONS_MAX).contains(&iterations) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "the database asks for {iterations} iterations of SCRAM-SHA-256; from {ITERATIONS_MIN} \
                     (RFC 7677, section 4) to {ITERATIONS_MAX} are accepted. Set scram_iterations of the \
                     server, and the password again"
                ),
            ));
        }
        let salted = stretched(&self.password.0, &salt, iterations);
        let without_proof = format!("c=biws,r={nonce}");
        let all = format!("{},{of_server},{without_proof}", self.first_bare());
        let client_key = hmac(&salted, &[b"Client Key"]);
        let proof = xor(&client_key, &hmac(&sha256(&[&client_key]), &[all.as_bytes()]));
        self.signature = hmac(&hmac(&salted, &[b"Server Key"]), &[all.as_bytes()]).to_vec();
        Ok(format!("{without_proof},p={}", BASE64_STANDARD.encode(proof)))
    }

    /// Checks that the server knows the password too, by its last message.
    ///
    /// # Errors
    /// Where it does not prove that.
    pub(super) fn check(&self, of_server: &[u8]) -> io::Result<()> {
        let proof = of_server.strip_prefix(b"v=").and_then(|proof| BASE64_STANDARD.decode(proof).ok());
        let is_right = proof.is_some_and(|proof| proof == self.signature && !proof.is_empty());
        if is_right { Ok(()) } else { Err(wrong()) }
    }
}

fn wrong() -> io::Error {
    let reason = "the database violates SCRAM-SHA-256 (RFC 7677)";
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// PBKDF2 with HMAC-SHA-256, one block (RFC 8018).
fn stretched(password: &[u8], salt: &[u8], iterations: u32) -> [u8; 32] {
    let mut block = hmac(password, &[salt, &[0, 0, 0, 1]]);
    let mut sum = block;
    for _ in 1..iterations {
        block = hmac(password, &[&block]);
        sum.iter_mut().zip(block).for_each(|(sum, byte)| *sum ^= byte);
    }
    sum
}

fn hmac(key: &[u8], pieces: &[&[u8]]) -> [u8; 32] {
    let mut code = Hmac::<Sha256>::new(key);
    pieces.iter().for_each(|piece| code.update(piece));
    array(code.finish().as_ref())
}

fn sha256(pieces: &[&[u8]]) -> [u8; 32] {
    let mut context = Sha256::new();
    pieces.iter().for_each(|piece| context.update(piece));
    array(context.finish().as_ref())
}

fn array(bytes: &[u8]) -> [u8; 32] {
    let mut array = [0; 32];
    array.copy_from_slice(bytes);
    array
}

fn xor(left: &[u8], right: &[u8]) -> Vec<u8> {
    left.iter().zip(right).map(|(left, right)| left ^ right).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn file(text: &[u8], mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), text).expect("a password");
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).expect("permissions");
        file
    }

    #[test]
    fn the_exchange_of_rfc_7677_is_repeated() {
        // Section 3.
        let password = Password(b"pencil".to_vec());
        let nonce = "rOprNGfwEbeRWgbNEkqO".to_owned();
        let mut scram = Scram { user: "user", password: &password, nonce, signature: Vec::new() };
        assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        // Nothing is proved before the server's first message.
        assert!(scram.check(b"v=").is_err());
        let first = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let last = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(scram.last(first).expect("a reply"), last);
        assert!(scram.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").is_ok());
        for wrong in ["v=AAAA", "v=", "v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", "e=other-error", ""] {
            assert!(scram.check(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
        for wrong in ["", "r=other,s=AAAA,i=1", "r=rOprNGfwEbeRWgbNEkqO1,s=AAAA,i=9999999", "i=1"] {
            assert!(scram.last(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_server_that_asks_for_too_few_iterations_gets_no_proof() {
        let password = Password(b"pencil".to_vec());
        let mut scram =
            Scram { user: "", password: &password, nonce: "mine".to_owned(), signature: Vec::new() };
        for (iterations, is_accepted) in [(0, false), (1, false), (4095, false), (4096, true)] {
            let reply = scram.last(format!("r=mine-and-yours,s=AAAA,i={iterations}").as_bytes());
            assert_eq!(reply.is_ok(), is_accepted, "{iterations}");
            let reason = reply.err().map_or_else(String::new, |error| error.to_string());
            assert!(is_accepted || reason.contains("4096"), "{reason}");
        }
    }

    #[test]
    fn proofs_are_those_of_their_documents() {
        let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        // RFC 7914, section 11, as far as one block goes.
        let key = hexadecimal(&stretched(b"passwd", b"salt", 1));
        assert_eq!(key, "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc");
        // From the formulas of both plugins, by the hashes of another library.
        let password = Password(b"secret".to_vec());
        assert_eq!(hexadecimal(&password.native(&[7; 20])), "f6cfe46f96342966044d0bf3923c4b6942fe32fb");
        let sha2 = "6cb2a04b9529aaa0dc21fb26a09a113d20a352bdeea5130ff508a143e66e002b";
        assert_eq!(hexadecimal(&password.caching_sha2(&[7; 20])), sha2);
        let empty = Password(Vec::new());
        assert!(empty.native(&[7; 20]).is_empty() && empty.caching_sha2(&[7; 20]).is_empty());
    }

    #[test]
    fn a_password_is_the_first_line_of_a_file_of_its_owner() {
        let read = |text: &[u8]| Password::of_file(file(text, 0o600).path()).map(|password| password.0);
        assert_eq!(read(b"a b\r\nrest\n").ok(), Some(b"a b".to_vec()));
        assert_eq!((read(b"one").ok(), read(b"").ok()), (Some(b"one".to_vec()), Some(Vec::new())));
        let refused = |path: &Path| Password::of_file(path).err().expect("an error").to_string();
        let open = refused(file(b"hush", 0o640).path());
        assert!(open.contains("chmod 600") && !open.contains("hush"), "{open}");
        assert!(refused(Path::new("/dev/null")).contains("no regular file"));
        assert!(refused(Path::new("/nowhere/password")).contains("/nowhere/password"));
    }
}
