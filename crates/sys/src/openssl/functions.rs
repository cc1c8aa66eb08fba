//! The functions of libcrypto that are used, found by dlsym(3); their manual pages have the same names.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::io;

use crate::Unsupported;

/// A pointer to something of the library, which only the library looks into.
pub(super) type Opaque = *mut c_void;

/// The names of OpenSSL 3 by system: the linker of Linux and illumos, of FreeBSD 14, and of macOS, where it
/// is not part of the system. Loading a name without a version would end a process on macOS.
const NAMES: [&CStr; 3] = [c"libcrypto.so.3", c"libcrypto.so.30", c"libcrypto.3.dylib"];

const MISSING: Unsupported =
    Unsupported("this system has no libcrypto of OpenSSL 3; on Debian `apt-get install libssl3` installs it");

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),* $(; $dots:tt)?) $(-> $result:ty)?;)*) => {
        /// Pointers to the functions.
        #[derive(Debug)]
        #[allow(non_snake_case)]
        pub(super) struct Functions {
            $(pub(super) $name: functions!(@type ($($argument),*) ($($dots)?) $(-> $result)?),)*
        }

        impl Functions {
            /// Loads the library, which stays loaded, and finds all functions.
            ///
            /// # Errors
            /// [`Unsupported`] where the library, or one of the functions, is missing.
            pub(super) fn load() -> io::Result<Functions> {
                // SAFETY: the names are C strings. Loading the library runs the same initialisation as in
                // every program of this system.
                let load = |name: &&CStr| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
                let library = NAMES.iter().map(load).find(|library| !library.is_null()).ok_or(MISSING)?;
                Ok(Functions {
                    $($name: {
                        let name = concat!(stringify!($name), "\0").as_ptr();
                        // SAFETY: the library stays loaded, and the name ends with a zero.
                        let function = unsafe { libc::dlsym(library, name.cast()) };
                        if function.is_null() {
                            return Err(MISSING.into());
                        }
                        type Function = functions!(@type ($($argument),*) ($($dots)?) $(-> $result)?);
                        // SAFETY: the type is that of the manual page of the function of this name.
                        unsafe { std::mem::transmute::<Opaque, Function>(function) }
                    },)*
                })
            }
        }
    };
    (@type ($($argument:ty),*) () $(-> $result:ty)?) => {
        // SAFETY: a type; each call says why it is sound.
        unsafe extern "C" fn($($argument),*) $(-> $result)?
    };
    (@type ($($argument:ty),*) ($dots:tt) $(-> $result:ty)?) => {
        // SAFETY: a type; each call says why it is sound.
        unsafe extern "C" fn($($argument),*, ...) $(-> $result)?
    };
}

functions! {
    OPENSSL_info: fn(c_int) -> *const c_char;
    ERR_get_error: fn() -> c_ulong;
    ERR_error_string_n: fn(c_ulong, *mut c_char, usize);
    EVP_PKEY_Q_keygen: fn(Opaque, *const c_char, *const c_char; VARIADIC) -> Opaque;
    EVP_PKEY_free: fn(Opaque);
    EVP_PKEY_CTX_new_from_name: fn(Opaque, *const c_char, *const c_char) -> Opaque;
    EVP_PKEY_CTX_new: fn(Opaque, Opaque) -> Opaque;
    EVP_PKEY_CTX_free: fn(Opaque);
    EVP_PKEY_paramgen_init: fn(Opaque) -> c_int;
    EVP_PKEY_CTX_set_dsa_paramgen_bits: fn(Opaque, c_int) -> c_int;
    EVP_PKEY_paramgen: fn(Opaque, *mut Opaque) -> c_int;
    EVP_PKEY_keygen_init: fn(Opaque) -> c_int;
    EVP_PKEY_keygen: fn(Opaque, *mut Opaque) -> c_int;
    EVP_PKEY_derive_init: fn(Opaque) -> c_int;
    EVP_PKEY_derive_set_peer: fn(Opaque, Opaque) -> c_int;
    EVP_PKEY_derive: fn(Opaque, *mut u8, *mut usize) -> c_int;
    EVP_MD_CTX_new: fn() -> Opaque;
    EVP_MD_CTX_free: fn(Opaque);
    EVP_DigestSignInit: fn(Opaque, *mut Opaque, Opaque, Opaque, Opaque) -> c_int;
    EVP_DigestSign: fn(Opaque, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_DigestVerifyInit: fn(Opaque, *mut Opaque, Opaque, Opaque, Opaque) -> c_int;
    EVP_DigestVerify: fn(Opaque, *const u8, usize, *const u8, usize) -> c_int;
    EVP_sha256: fn() -> Opaque;
    EVP_sha512: fn() -> Opaque;
    EVP_Digest: fn(*const c_void, usize, *mut u8, *mut c_uint, Opaque, Opaque) -> c_int;
    EVP_aes_256_gcm: fn() -> Opaque;
    EVP_chacha20_poly1305: fn() -> Opaque;
    EVP_CIPHER_CTX_new: fn() -> Opaque;
    EVP_CIPHER_CTX_free: fn(Opaque);
    EVP_CIPHER_CTX_ctrl: fn(Opaque, c_int, c_int, *mut c_void) -> c_int;
    EVP_CipherInit_ex: fn(Opaque, Opaque, Opaque, *const u8, *const u8, c_int) -> c_int;
    EVP_CipherUpdate: fn(Opaque, *mut u8, *mut c_int, *const u8, c_int) -> c_int;
    EVP_CipherFinal_ex: fn(Opaque, *mut u8, *mut c_int) -> c_int;
}

impl Functions {
    /// The last error that the library has for this thread.
    pub(super) fn error(&self, attempted: &str) -> io::Error {
        let mut text = [0_u8; 256];
        // SAFETY: the buffer is as long as the argument says, and the call ends what it writes with a zero.
        let number = unsafe {
            let number = (self.ERR_get_error)();
            (self.ERR_error_string_n)(number, text.as_mut_ptr().cast(), text.len());
            number
        };
        let text = CStr::from_bytes_until_nul(&text).map(|text| text.to_string_lossy().into_owned());
        match (number, text) {
            (1.., Ok(text)) => io::Error::other(format!("OpenSSL cannot {attempted}: {text}")),
            _ => io::Error::other(format!("OpenSSL cannot {attempted}, and gives no reason")),
        }
    }

    /// For the calls that return 1 on success.
    pub(super) fn done(&self, answer: c_int, attempted: &str) -> io::Result<()> {
        if answer == 1 { Ok(()) } else { Err(self.error(attempted)) }
    }

    /// For the calls that return a new object, or a null pointer.
    pub(super) fn made(&self, made: Opaque, attempted: &str) -> io::Result<Opaque> {
        if made.is_null() { Err(self.error(attempted)) } else { Ok(made) }
    }
}
