//! The content of files: bytes that no file system can compress, and that show which file they belong to.

use std::io;

/// The source of bytes for files: one random block, with the number of the file in its first bytes.
#[derive(Debug)]
pub(crate) struct Content {
    block: Vec<u8>,
    read: Vec<u8>,
}

/// The bytes of a file that hold its number.
const NUMBER_BYTES: usize = size_of::<u64>();

impl Content {
    /// Content for files of at most `bytes_max`.
    pub(crate) fn new(seed: u64, bytes_max: usize) -> Content {
        let mut block = vec![0; bytes_max.max(NUMBER_BYTES)];
        fastrand::Rng::with_seed(seed).fill(&mut block);
        Content { read: vec![0; block.len()], block }
    }

    /// The content of a file of `bytes`, at least [`NUMBER_BYTES`] of them.
    pub(crate) fn bytes(&mut self, number: u64, bytes: usize) -> &[u8] {
        self.block[..NUMBER_BYTES].copy_from_slice(&number.to_le_bytes());
        &self.block[..bytes.clamp(NUMBER_BYTES, self.block.len())]
    }

    /// The buffer for reading a file.
    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        &mut self.read
    }

    /// Compares the bytes that were read with the content of that file.
    ///
    /// # Errors
    /// `InvalidData` where they differ.
    pub(crate) fn verify(&mut self, number: u64, bytes: usize) -> io::Result<()> {
        let bytes = self.bytes(number, bytes).len();
        if self.read[..bytes] == self.block[..bytes] {
            return Ok(());
        }
        let message = format!("file {number} does not contain the bytes that were written");
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }
}

#[cfg(test)]
mod tests {
    use super::Content;

    #[test]
    fn each_file_has_content_of_its_own() {
        let mut content = Content::new(7, 4096);
        let first = content.bytes(1, 4096).to_vec();
        assert_ne!(first, content.bytes(2, 4096));
        assert_eq!(content.bytes(1, 4096), first);
        assert_eq!(content.bytes(1, 0).len(), 8, "its number");
        content.buffer().copy_from_slice(&first);
        assert!(content.verify(1, 4096).is_ok());
        assert!(content.verify(2, 4096).is_err(), "another file");
        content.buffer()[4095] ^= 1;
        assert!(content.verify(1, 4096).is_err(), "a byte is wrong");
    }
}
