//! Exports of macOS's frameworks, which zig lacks: the functions with which `rustls-native-certs` reads the
//! certificates that the system trusts.
//!
//! The names are those that Apple documents (Security, Core Foundation). Every other name that a program
//! takes from a framework is undefined when it is linked, so nothing can begin to depend on one unnoticed.

use std::fs;
use std::path::Path;

use crate::AnyError;

const FRAMEWORKS: [(&str, &[&str]); 2] = [
    (
        "Security",
        &[
            "SecCertificateCopyData",
            "SecCopyErrorMessageString",
            "SecTrustSettingsCopyCertificates",
            "SecTrustSettingsCopyTrustSettings",
        ],
    ),
    (
        "CoreFoundation",
        &[
            "CFArrayCreate",
            "CFArrayGetCount",
            "CFArrayGetValueAtIndex",
            "CFDataGetBytePtr",
            "CFDataGetLength",
            "CFDictionaryGetValueIfPresent",
            "CFEqual",
            "CFNumberGetValue",
            "CFRelease",
            "CFRetain",
            "CFStringCreateWithBytesNoCopy",
            "CFStringGetBytes",
            "CFStringGetCStringPtr",
            "CFStringGetLength",
            "kCFAllocatorDefault",
            "kCFAllocatorNull",
            "kCFTypeArrayCallBacks",
        ],
    ),
];

/// Writes them below a folder, as the text-based stubs that linkers for macOS read.
pub(super) fn write(folder: &Path) -> Result<(), AnyError> {
    for (name, symbols) in FRAMEWORKS {
        let framework = folder.join(format!("{name}.framework"));
        fs::create_dir_all(&framework)?;
        fs::write(framework.join(format!("{name}.tbd")), stub(name, symbols))?;
    }
    Ok(())
}

fn stub(name: &str, symbols: &[&str]) -> String {
    let symbols: Vec<String> = symbols.iter().map(|symbol| format!("_{symbol}")).collect();
    format!(
        "--- !tapi-tbd\n\
         tbd-version: 4\n\
         targets: [ x86_64-macos, arm64-macos ]\n\
         install-name: '/System/Library/Frameworks/{name}.framework/Versions/A/{name}'\n\
         exports:\n\
         \x20 - targets: [ x86_64-macos, arm64-macos ]\n\
         \x20   symbols: [ {} ]\n\
         ...\n",
        symbols.join(", ")
    )
}
