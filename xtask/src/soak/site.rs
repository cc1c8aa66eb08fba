//! The folder that is served: files that never change, which the witness knows, and one that is replaced,
//! truncated and removed while it is served.

use std::fs::{self, OpenOptions};
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

use fastrand::Rng;

/// The file that changes. Each version consists of one letter, so that a response with two of them is wrong.
pub(super) const CHANGING: &str = "/changing.txt";

/// The largest file, for clients that read slowly.
pub(super) const LARGE: &str = "/large.bin";

/// A file whose content is known.
pub(super) struct KnownFile {
    pub(super) path: &'static str,
    pub(super) content: Vec<u8>,
}

pub(super) struct Site {
    pub(super) root: PathBuf,
    pub(super) known: Vec<KnownFile>,
}

impl Site {
    /// Writes the files: small ones that a server keeps in memory, and ones that it sends from their
    /// descriptors.
    pub(super) fn make(root: &Path) -> Result<Site> {
        fs::create_dir_all(root)?;
        let numbered = |path, bytes: u32| KnownFile {
            path,
            content: (0..bytes).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect(),
        };
        let index = KnownFile { path: "/", content: b"<p>soaked</p>\n".to_vec() };
        let known = vec![index, numbered("/medium.bin", 30_000), numbered(LARGE, 4 << 20)];
        for file in &known {
            let name = if file.path == "/" { "index.html" } else { &file.path[1..] };
            fs::write(root.join(name), &file.content)?;
        }
        let site = Site { root: root.to_owned(), known };
        site.restore()?;
        Ok(site)
    }

    /// Makes the changing file what it was at first: large enough to be sent from its descriptor, so that a
    /// server has as many open before an attack as afterwards.
    pub(super) fn restore(&self) -> Result<()> {
        self.replace(b'a', 100_000)
    }

    /// The content of a known file.
    pub(super) fn content(&self, path: &str) -> &[u8] {
        self.known.iter().find(|file| file.path == path).map_or(&[], |file| &file.content)
    }

    fn changing(&self) -> PathBuf {
        self.root.join(&CHANGING[1..])
    }

    /// A new file takes the place of the old one, whose readers keep what they have open.
    fn replace(&self, letter: u8, bytes: usize) -> Result<()> {
        let new = self.root.join(".new");
        fs::write(&new, vec![letter; bytes])?;
        fs::rename(new, self.changing())
    }

    /// Replaces, truncates, extends or removes the changing file.
    pub(super) fn change(&self, rng: &mut Rng) -> Result<()> {
        let file = self.changing();
        match rng.u8(..6) {
            0 => fs::remove_file(file).or(Ok(())),
            1 => {
                let Ok(open) = OpenOptions::new().write(true).open(file) else { return Ok(()) };
                let length = open.metadata()?.len();
                open.set_len(rng.u64(..=length))
            }
            2 => {
                let Ok(first) = fs::read(&file).map(|content| content.first().copied()) else {
                    return Ok(());
                };
                let mut open = OpenOptions::new().append(true).open(file)?;
                open.write_all(&vec![first.unwrap_or(b'x'); rng.usize(1..50_000)])
            }
            _ => self.replace(rng.u8(b'a'..=b'z'), rng.usize(1..400_000)),
        }
    }
}

/// Whether a body of the changing file is of one version. Zeros are no second one: sendfile(2) gives the
/// socket references to the pages of the file, and when the file is truncated, Linux clears what lies behind
/// its new end in a page that has not left yet. The server has no part in that, and nginx sends the same.
pub(super) fn is_one_version(body: &[u8]) -> bool {
    let mut letters = body.iter().filter(|byte| **byte != 0);
    let first = letters.clone().next();
    letters.all(|byte| byte.is_ascii_lowercase() && Some(byte) == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_has_one_letter() {
        let folder = tempfile::tempdir().expect("a folder");
        let site = Site::make(folder.path()).expect("a site");
        let mut rng = Rng::with_seed(1);
        for _ in 0..200 {
            site.change(&mut rng).expect("a change");
            if let Ok(content) = fs::read(site.changing()) {
                assert!(is_one_version(&content));
            }
        }
        for (body, is_right) in
            [("aab", false), ("aa\0b", false), ("HH", false), ("aa\0\0", true), ("", true)]
        {
            assert_eq!(is_one_version(body.as_bytes()), is_right, "{body:?}");
        }
    }
}
