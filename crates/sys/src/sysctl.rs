//! sysctl(3) by name, on the BSDs and macOS.
//!
//! OpenBSD has numbers instead of names, and illumos has no sysctl; there every name is absent.

use std::ffi::CStr;

/// The value of a name that holds a 32- or 64-bit number.
pub(crate) fn number(name: &CStr) -> Option<u64> {
    let bytes = bytes(name)?;
    match bytes.len() {
        4 => Some(u64::from(u32::from_ne_bytes(bytes.try_into().ok()?))),
        8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

/// The value of a name that holds a string.
pub(crate) fn text(name: &CStr) -> Option<String> {
    let bytes = bytes(name)?;
    let text = String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next()?).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(any(target_os = "macos", target_os = "freebsd", target_os = "dragonfly", target_os = "netbsd"))]
fn bytes(name: &CStr) -> Option<Vec<u8>> {
    // Longer values, such as tables, are not read here.
    let mut value = vec![0_u8; 1024];
    let mut length = value.len();
    // SAFETY: `value` is writable for `length` bytes, the name ends in NUL, and nothing is set: the new
    // value is null with length 0.
    let result = unsafe {
        libc::sysctlbyname(name.as_ptr(), value.as_mut_ptr().cast(), &raw mut length, std::ptr::null_mut(), 0)
    };
    (result == 0).then(|| {
        value.truncate(length);
        value
    })
}

#[cfg(not(any(target_os = "macos", target_os = "freebsd", target_os = "dragonfly", target_os = "netbsd")))]
fn bytes(_: &CStr) -> Option<Vec<u8>> {
    None
}
