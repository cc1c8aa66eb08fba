//! A variant of a kernel: its differences from the kernel with default settings.

use std::fmt;
use std::str::FromStr;

use crate::Error;

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
