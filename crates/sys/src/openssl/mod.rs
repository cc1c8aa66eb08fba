//! The OpenSSL of this system, libcrypto(7), as its programs use it: signatures, key agreement, sealing,
//! digests.
//!
//! The library is loaded when it is asked for: a program that is linked against it would not start where it
//! is missing, and would bring its own.

mod functions;

use std::ffi::{CStr, c_int};
use std::io;
use std::ptr;
use std::sync::OnceLock;

use functions::{Functions, Opaque};

use crate::Unsupported;

/// A kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// RSA with that many bits.
    Rsa(usize),
    /// DSA with 2048 bits, and parameters of its own.
    Dsa,
    /// ECDSA on the curve P-256.
    P256,
    /// EdDSA on edwards25519.
    Ed25519,
    /// Key agreement on curve25519.
    X25519,
}

/// A cipher that seals: encrypts, and proves that nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// AES-256-GCM.
    AesGcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

/// A digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digest {
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

/// The instructions of the processor that the library may use: levels that exist for x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// All that the processor has.
    All,
    /// Neither AVX-512 nor the wide forms of AES and of the carry-less product.
    Avx2,
    /// SSE4.2, AES and the carry-less product: no AVX, BMI, ADX or SHA.
    Sse4,
    /// SSE2 only, which every x86-64 has.
    Sse2,
}

/// `OPENSSL_INFO_CPU_SETTINGS` of OPENSSL_info(3).
const CPU_SETTINGS: c_int = 1008;
/// `EVP_CTRL_AEAD_GET_TAG` and `EVP_CTRL_AEAD_SET_TAG` of EVP_EncryptInit(3).
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;

/// The variable that takes instructions from the library, OPENSSL_ia32cap(3). The library reads it once, when
/// it is loaded.
const VARIABLE: &str = "OPENSSL_ia32cap";

impl Instructions {
    /// The value of the variable: the words of CPUID leaf 1 (EDX, then ECX), a colon, those of leaf 7 (EBX,
    /// then ECX); behind `~` the bits to clear.
    fn variable(self) -> Option<&'static str> {
        match self {
            Instructions::All => None,
            // Leaf 7: F, DQ, IFMA, PF, ER, CD, BW, VL of AVX-512; VBMI, VBMI2, GFNI, VAES, VPCLMULQDQ, VNNI,
            // BITALG, VPOPCNTDQ.
            Instructions::Avx2 => Some(":~0x00005f42dc230000"),
            // Leaf 1: XOP, FMA, AVX. All of leaf 7.
            Instructions::Sse4 => Some("~0x1000180000000000:0x0"),
            // All of the second word of leaf 1, in which SSE3 is the first bit.
            Instructions::Sse2 => Some("~0xffffffff00000000:0x0"),
        }
    }
}

/// The level that the library of this process has read.
static LOADED: OnceLock<Instructions> = OnceLock::new();

/// The library. It stays loaded until the process ends.
#[derive(Debug)]
pub struct Library {
    functions: Functions,
    instructions: Instructions,
}

impl Library {
    /// Loads it, with the instructions that it may use: one level in a process, which must not have a second
    /// thread for a level other than [`Instructions::All`].
    ///
    /// # Errors
    /// [`Unsupported`] where the system has no OpenSSL 3, where the process has loaded it at another level,
    /// and for levels of instructions on other processors than x86-64.
    pub fn load(instructions: Instructions) -> io::Result<Library> {
        if cfg!(not(target_arch = "x86_64")) && instructions != Instructions::All {
            return Err(Unsupported("these levels of instructions are those of x86-64").into());
        }
        if *LOADED.get_or_init(|| instructions) != instructions {
            return Err(
                Unsupported("this process has loaded OpenSSL at another level of instructions").into()
            );
        }
        if let Some(value) = instructions.variable() {
            // SAFETY: as the function demands, this process has no second thread which could read the
            // variables.
            unsafe { std::env::set_var(VARIABLE, value) };
        }
        Ok(Library { functions: Functions::load()?, instructions })
    }

    /// Whether the library says that it read the level of instructions.
    pub fn uses_chosen_instructions(&self) -> bool {
        // SAFETY: the call takes a number.
        let text = unsafe { (self.functions.OPENSSL_info)(CPU_SETTINGS) };
        if text.is_null() {
            return self.instructions == Instructions::All;
        }
        // SAFETY: the library returned a C string that it keeps.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        match self.instructions.variable() {
            Some(value) => text.ends_with(&format!("env:{value}")),
            None => !text.contains("env:"),
        }
    }

    /// A new key.
    ///
    /// # Errors
    /// The library's error, such as for a kind that its configuration forbids.
    pub fn generate(&self, kind: KeyKind) -> io::Result<Key<'_>> {
        let functions = &self.functions;
        let null = ptr::null_mut::<std::ffi::c_void>();
        let generate = functions.EVP_PKEY_Q_keygen;
        let name = ptr::null();
        // SAFETY: the arguments after the name are those that the manual page has for it: the bits as a
        // size_t, the curve as a C string, or none.
        let key = unsafe {
            match kind {
                KeyKind::Rsa(bits) => generate(null, name, c"RSA".as_ptr(), bits),
                KeyKind::P256 => generate(null, name, c"EC".as_ptr(), c"P-256".as_ptr()),
                KeyKind::Ed25519 => generate(null, name, c"ED25519".as_ptr()),
                KeyKind::X25519 => generate(null, name, c"X25519".as_ptr()),
                KeyKind::Dsa => self.generate_dsa()?,
            }
        };
        let key = functions.made(key, "make a key")?;
        Ok(Key { library: self, key, is_prehashed: kind == KeyKind::Ed25519 })
    }

    /// Parameters, and a key of them.
    fn generate_dsa(&self) -> io::Result<Opaque> {
        let functions = &self.functions;
        let (mut parameters, mut key) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: every pointer is one that the library made, and is freed once; those to be written to
        // outlive the calls. All calls after a failed one fail too, for its result stays null.
        unsafe {
            let of_name =
                (functions.EVP_PKEY_CTX_new_from_name)(ptr::null_mut(), c"DSA".as_ptr(), ptr::null());
            let context = functions.made(of_name, "make parameters of DSA")?;
            let has_parameters = (functions.EVP_PKEY_paramgen_init)(context) == 1
                && (functions.EVP_PKEY_CTX_set_dsa_paramgen_bits)(context, 2048) == 1
                && (functions.EVP_PKEY_paramgen)(context, &raw mut parameters) == 1;
            (functions.EVP_PKEY_CTX_free)(context);
            functions.done(has_parameters.into(), "make parameters of DSA")?;
            let context = (functions.EVP_PKEY_CTX_new)(parameters, ptr::null_mut());
            let has_key = !context.is_null()
                && (functions.EVP_PKEY_keygen_init)(context) == 1
                && (functions.EVP_PKEY_keygen)(context, &raw mut key) == 1;
            (functions.EVP_PKEY_CTX_free)(context);
            (functions.EVP_PKEY_free)(parameters);
            functions.done(has_key.into(), "make a key of DSA")?;
        }
        Ok(key)
    }

    /// A cipher with its key.
    ///
    /// # Errors
    /// The library's error.
    pub fn sealer(&self, cipher: Cipher, key: &[u8; 32]) -> io::Result<Sealer<'_>> {
        let functions = &self.functions;
        // SAFETY: the calls take nothing.
        let (context, cipher) = unsafe {
            let cipher = match cipher {
                Cipher::AesGcm => (functions.EVP_aes_256_gcm)(),
                Cipher::ChaCha20Poly1305 => (functions.EVP_chacha20_poly1305)(),
            };
            (functions.made((functions.EVP_CIPHER_CTX_new)(), "make a cipher")?, cipher)
        };
        let sealer = Sealer { library: self, context };
        // SAFETY: the key has as many bytes as both ciphers need; -1 leaves the direction open.
        let answer = unsafe {
            (functions.EVP_CipherInit_ex)(context, cipher, ptr::null_mut(), key.as_ptr(), ptr::null(), 1)
        };
        functions.done(answer, "set the key of a cipher")?;
        Ok(sealer)
    }

    /// The digest of the data, and how many bytes it has.
    ///
    /// # Errors
    /// The library's error.
    pub fn digest(&self, digest: Digest, data: &[u8], output: &mut [u8; 64]) -> io::Result<usize> {
        let functions = &self.functions;
        let mut bytes = 0;
        // SAFETY: the data is as long as the length says; the output has room for the longer of the digests.
        let answer = unsafe {
            let digest = match digest {
                Digest::Sha256 => (functions.EVP_sha256)(),
                Digest::Sha512 => (functions.EVP_sha512)(),
            };
            let output = output.as_mut_ptr();
            let none = ptr::null_mut();
            (functions.EVP_Digest)(data.as_ptr().cast(), data.len(), output, &raw mut bytes, digest, none)
        };
        functions.done(answer, "make a digest")?;
        Ok(bytes as usize)
    }
}

/// A key. Several threads may use it at once.
#[derive(Debug)]
pub struct Key<'a> {
    library: &'a Library,
    key: Opaque,
    /// The kind of signature has a digest of its own.
    is_prehashed: bool,
}

// SAFETY: the library does not change a key after it was made, except under locks of its own
// (EVP_PKEY_new(3)).
unsafe impl Send for Key<'_> {}
// SAFETY: as above.
unsafe impl Sync for Key<'_> {}

impl Key<'_> {
    /// Signs a message, with SHA-256 unless the kind has a digest of its own. Returns how many bytes of
    /// `signature` were written.
    ///
    /// # Errors
    /// The library's error, such as of too little room.
    pub fn sign(&self, message: &[u8], signature: &mut [u8]) -> io::Result<usize> {
        let functions = &self.library.functions;
        let mut bytes = signature.len();
        let context = Context::new(self)?;
        // SAFETY: context and key are those of the library; message and signature are as long as the
        // arguments say.
        let answer = unsafe {
            let none = ptr::null_mut();
            let begun = (functions.EVP_DigestSignInit)(
                context.context,
                ptr::null_mut(),
                self.digest(),
                none,
                self.key,
            );
            functions.done(begun, "begin a signature")?;
            let (message, length) = (message.as_ptr(), message.len());
            (functions.EVP_DigestSign)(
                context.context,
                signature.as_mut_ptr(),
                &raw mut bytes,
                message,
                length,
            )
        };
        functions.done(answer, "sign")?;
        Ok(bytes)
    }

    /// Whether this is the signature of the message.
    ///
    /// # Errors
    /// The library's error.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> io::Result<bool> {
        let functions = &self.library.functions;
        let context = Context::new(self)?;
        // SAFETY: context and key are those of the library; message and signature are as long as the
        // arguments say.
        let answer = unsafe {
            let none = ptr::null_mut();
            let begun = (functions.EVP_DigestVerifyInit)(
                context.context,
                ptr::null_mut(),
                self.digest(),
                none,
                self.key,
            );
            functions.done(begun, "begin to verify")?;
            let (message, length) = (message.as_ptr(), message.len());
            (functions.EVP_DigestVerify)(
                context.context,
                signature.as_ptr(),
                signature.len(),
                message,
                length,
            )
        };
        Ok(answer == 1)
    }

    /// The shared secret of this key and the public part of another, and its length in bytes.
    ///
    /// # Errors
    /// The library's error, such as of keys of different kinds.
    pub fn agree(&self, peer: &Key<'_>, secret: &mut [u8]) -> io::Result<usize> {
        let functions = &self.library.functions;
        let mut bytes = secret.len();
        // SAFETY: both keys are those of the library, and the context is freed once; the secret is as long as
        // the argument says.
        let has_agreed = unsafe {
            let context = (functions.EVP_PKEY_CTX_new)(self.key, ptr::null_mut());
            let context = functions.made(context, "begin an agreement")?;
            let has_agreed = (functions.EVP_PKEY_derive_init)(context) == 1
                && (functions.EVP_PKEY_derive_set_peer)(context, peer.key) == 1
                && (functions.EVP_PKEY_derive)(context, secret.as_mut_ptr(), &raw mut bytes) == 1;
            (functions.EVP_PKEY_CTX_free)(context);
            has_agreed
        };
        functions.done(has_agreed.into(), "agree on a secret")?;
        Ok(bytes)
    }

    fn digest(&self) -> Opaque {
        // SAFETY: the call takes nothing.
        if self.is_prehashed { ptr::null_mut() } else { unsafe { (self.library.functions.EVP_sha256)() } }
    }
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        // SAFETY: the library made it, and nothing else frees it.
        unsafe { (self.library.functions.EVP_PKEY_free)(self.key) };
    }
}

/// The context of one signature.
struct Context<'a> {
    functions: &'a Functions,
    context: Opaque,
}

impl<'a> Context<'a> {
    fn new(key: &Key<'a>) -> io::Result<Context<'a>> {
        let functions = &key.library.functions;
        // SAFETY: the call takes nothing.
        let context = functions.made(unsafe { (functions.EVP_MD_CTX_new)() }, "begin a signature")?;
        Ok(Context { functions, context })
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: the library made it, and nothing else frees it.
        unsafe { (self.functions.EVP_MD_CTX_free)(self.context) };
    }
}

/// A cipher with its key, for one thread at a time.
#[derive(Debug)]
pub struct Sealer<'a> {
    library: &'a Library,
    context: Opaque,
}

// SAFETY: the context belongs to nothing else, and the library does not care which thread uses it.
unsafe impl Send for Sealer<'_> {}

impl Sealer<'_> {
    /// Encrypts the data where it is, and writes its tag.
    ///
    /// # Errors
    /// The library's error.
    pub fn seal(&mut self, nonce: &[u8; 12], data: &mut [u8], tag: &mut [u8; 16]) -> io::Result<()> {
        self.begin(nonce, true)?;
        let functions = &self.library.functions;
        self.update(data)?;
        // SAFETY: neither cipher writes more at the end; the tag has the 16 bytes that the argument says.
        let answer = unsafe {
            let mut none = [0; 32];
            let mut bytes = 0;
            let ended = (functions.EVP_CipherFinal_ex)(self.context, none.as_mut_ptr(), &raw mut bytes);
            functions.done(ended, "seal")?;
            (functions.EVP_CIPHER_CTX_ctrl)(self.context, GET_TAG, 16, tag.as_mut_ptr().cast())
        };
        functions.done(answer, "read a tag")
    }

    /// Decrypts the data where it is. Returns whether the tag proves that it was sealed so.
    ///
    /// # Errors
    /// The library's error.
    pub fn open(&mut self, nonce: &[u8; 12], data: &mut [u8], tag: &[u8; 16]) -> io::Result<bool> {
        self.begin(nonce, false)?;
        let functions = &self.library.functions;
        self.update(data)?;
        let mut tag = *tag;
        // SAFETY: the tag has the 16 bytes that the argument says; neither cipher writes more at the end.
        let answer = unsafe {
            let set = (functions.EVP_CIPHER_CTX_ctrl)(self.context, SET_TAG, 16, tag.as_mut_ptr().cast());
            functions.done(set, "set a tag")?;
            let mut none = [0; 32];
            let mut bytes = 0;
            (functions.EVP_CipherFinal_ex)(self.context, none.as_mut_ptr(), &raw mut bytes)
        };
        Ok(answer == 1)
    }

    fn begin(&mut self, nonce: &[u8; 12], seals: bool) -> io::Result<()> {
        let functions = &self.library.functions;
        let none = ptr::null_mut();
        // SAFETY: the nonce has the 12 bytes that both ciphers take; cipher and key stay as they are.
        let answer = unsafe {
            (functions.EVP_CipherInit_ex)(self.context, none, none, ptr::null(), nonce.as_ptr(), seals.into())
        };
        functions.done(answer, "set a nonce")
    }

    fn update(&mut self, data: &mut [u8]) -> io::Result<()> {
        let functions = &self.library.functions;
        let length = c_int::try_from(data.len()).map_err(io::Error::other)?;
        let mut bytes = 0;
        let data = data.as_mut_ptr();
        // SAFETY: the data is as long as the length says, and may be read and written at one place.
        let answer =
            unsafe { (functions.EVP_CipherUpdate)(self.context, data, &raw mut bytes, data, length) };
        functions.done(answer, "encrypt")
    }
}

impl Drop for Sealer<'_> {
    fn drop(&mut self) {
        // SAFETY: the library made it, and nothing else frees it.
        unsafe { (self.library.functions.EVP_CIPHER_CTX_free)(self.context) };
    }
}
