//! A kernel: whether an image is one, the release that it names, and variants, which are differences from the
//! kernel with default settings.
//!
//! The fields of an image are those of Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header".

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use crate::Error;

/// Boot sector and real-mode code, which hold the header and the version: at most 64 sectors.
const HEADER_BYTES: u64 = 64 * 512;

const BOOT_FLAG: (usize, &[u8]) = (0x1FE, &[0x55, 0xAA]);
/// uname(2) has no room for more.
const RELEASE_BYTES_MAX: usize = 64;

const MAGIC: (usize, &[u8]) = (0x202, b"HdrS");

/// The place of the version's offset in the header, less the boot sector.
const VERSION_POINTER: usize = 0x20E;
const BOOT_SECTOR_BYTES: usize = 0x200;

/// The release of a kernel, as its image names it: `6.12.107+deb13-cloud-amd64`. `None` where it names none.
///
/// # Errors
/// [`Error::Kernel`] and [`Error::NoKernel`].
pub fn release(path: &Path) -> Result<Option<String>, Error> {
    let mut header = Vec::new();
    File::open(path)
        .and_then(|file| file.take(HEADER_BYTES).read_to_end(&mut header))
        .map_err(|source: io::Error| Error::Kernel { path: path.to_owned(), source })?;
    let holds = |(place, bytes): (usize, &[u8])| header.get(place..place + bytes.len()) == Some(bytes);
    if holds(BOOT_FLAG) && holds(MAGIC) {
        Ok(version(&header))
    } else {
        Err(Error::NoKernel { path: path.to_owned() })
    }
}

/// The first word of the version; a file may hold anything, so it is only taken where it can be a release.
fn version(header: &[u8]) -> Option<String> {
    let pointer = header.get(VERSION_POINTER..VERSION_POINTER + 2)?;
    let start = usize::from(u16::from_le_bytes([pointer[0], pointer[1]])) + BOOT_SECTOR_BYTES;
    let text = header.get(start..)?;
    let end = text.iter().position(|byte| matches!(byte, b' ' | 0))?;
    let release = text.get(..end).filter(|text| is_release(text))?;
    Some(String::from_utf8_lossy(release).into_owned())
}

/// Whether a kernel may have this release.
pub(crate) fn is_release(text: &[u8]) -> bool {
    let is_of_release = |byte: &u8| byte.is_ascii_alphanumeric() || b".+-_~".contains(byte);
    let begins = text.first().is_some_and(u8::is_ascii_digit);
    begins && text.len() <= RELEASE_BYTES_MAX && text.iter().all(is_of_release)
}

/// Words on the command line of a guest, and a setting that is made before its trials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelVariant {
    /// Words for the kernel, besides what a guest needs.
    pub cmdline: String,
    /// A setting.
    pub sysctl: Option<Sysctl>,
}

impl KernelVariant {
    /// The options by which a user asks for it.
    pub fn written(&self) -> Vec<String> {
        let cmdline = Some(&self.cmdline).filter(|words| !words.is_empty());
        let cmdline = cmdline.map(|words| ["--cmdline".to_owned(), words.clone()]);
        let sysctl = self.sysctl.as_ref().map(|setting| ["--sysctl".to_owned(), setting.to_string()]);
        [cmdline, sysctl].into_iter().flatten().flatten().collect()
    }

    /// The end of the command line of the guest: its words, and behind them those of the first process.
    pub(crate) fn words(&self) -> String {
        let setting = self.sysctl.as_ref().map_or_else(String::new, Sysctl::word);
        format!("{} -- {setting} {}", self.cmdline, host::INIT)
    }
}

impl fmt::Display for KernelVariant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sysctl = self.sysctl.as_ref().map_or_else(String::new, Sysctl::to_string);
        formatter.write_str([self.cmdline.as_str(), &sysctl].join(" ").trim())
    }
}

/// A setting of a running kernel, as sysctl(8) writes it: `vm.swappiness=10`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    key: String,
    value: String,
}

/// A command line is 2048 bytes long at most, and a guest needs some of them.
const TEXT_BYTES_MAX: usize = 512;

impl Sysctl {
    /// The word for the first process. The quotation marks are for the kernel, which takes them away.
    fn word(&self) -> String {
        format!("\"{}{self}\"", host::SYSCTL)
    }
}

impl fmt::Display for Sysctl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={}", self.key, self.value)
    }
}

impl FromStr for Sysctl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Sysctl, Error> {
        let refused = |reason| Error::Sysctl { text: text.to_owned(), reason };
        let (key, value) = text.split_once('=').ok_or_else(|| refused("there is no = in it"))?;
        let is_of_key = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
        if !key.bytes().all(is_of_key) || key.split(['.', '/']).any(str::is_empty) {
            return Err(refused("a key is names between dots"));
        }
        let is_of_value = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"';
        if value.trim().is_empty() || !value.bytes().all(is_of_value) || text.len() > TEXT_BYTES_MAX {
            return Err(refused("a value is one short line without quotation marks"));
        }
        Ok(Sysctl { key: key.to_owned(), value: value.trim().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(version_at: u16, version: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 0x200 + usize::from(version_at)];
        image[0x1FE..0x200].copy_from_slice(&[0x55, 0xAA]);
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x20E..0x210].copy_from_slice(&version_at.to_le_bytes());
        [&image, version].concat()
    }

    fn release_of(bytes: &[u8]) -> Result<Option<String>, Error> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), bytes).expect("content");
        release(file.path())
    }

    #[test]
    fn the_release_is_the_first_word_of_the_version() {
        let named = release_of(&image(0x3000, b"6.12.107+deb13-cloud-amd64 (x@y) #1 SMP\0"));
        assert_eq!(named.expect("a kernel").as_deref(), Some("6.12.107+deb13-cloud-amd64"));
    }

    #[test]
    fn an_image_without_a_version_is_a_kernel_without_a_name() {
        for version in [&b""[..], b"\0", b"\x1b[31m6.1 ", b"no number ", b"6.no.end", &[b'6'; 70]] {
            assert_eq!(release_of(&image(0x3000, version)).expect("a kernel"), None, "{version:?}");
        }
        let mut beyond = image(0x100, b"");
        beyond[0x20E..0x210].copy_from_slice(&u16::MAX.to_le_bytes());
        assert_eq!(release_of(&beyond).expect("a kernel"), None);
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        let mut elf = image(0x3000, b"6.1 ");
        elf[0x202] = b'h';
        for bytes in [&b""[..], b"\x7fELF", &elf, &[0; 70_000]] {
            assert!(matches!(release_of(bytes), Err(Error::NoKernel { .. })));
        }
        assert!(matches!(release(Path::new("/nonexistent")), Err(Error::Kernel { .. })));
    }

    #[test]
    fn a_setting_is_a_word_for_the_first_process() {
        let variant = |cmdline: &str, sysctl: &str| KernelVariant {
            cmdline: cmdline.to_owned(),
            sysctl: Some(sysctl.parse().expect("a setting")),
        };
        let plain = KernelVariant { cmdline: "quiet".to_owned(), sysctl: None };
        assert_eq!(plain.words(), "quiet --  init");
        assert_eq!(
            (plain.to_string().as_str(), plain.written()),
            ("quiet", strings(&["--cmdline", "quiet"]))
        );
        let set = variant("", "net.ipv4.tcp_rmem=4096 131072 6291456");
        assert_eq!(set.words(), " -- \"sysctl:net.ipv4.tcp_rmem=4096 131072 6291456\" init");
        assert_eq!(set.to_string(), "net.ipv4.tcp_rmem=4096 131072 6291456");
        assert_eq!(set.written(), strings(&["--sysctl", "net.ipv4.tcp_rmem=4096 131072 6291456"]));
        assert_eq!(
            variant("quiet", "net/ipv4/conf/eth0.1/rp_filter= 1 ").to_string().matches('=').count(),
            1
        );
    }

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn what_no_kernel_could_set_is_refused() {
        let long = format!("a={}", "b".repeat(TEXT_BYTES_MAX));
        for text in
            ["", "a", "=1", "a=", "a= ", ".a=1", "a..b=1", "../a=1", "a b=1", "a=\"1\"", "a=1\n", &long]
        {
            assert!(matches!(text.parse::<Sysctl>(), Err(Error::Sysctl { .. })), "{text:?}");
        }
    }
}
