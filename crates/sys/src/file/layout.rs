//! Where the blocks of files are on the disk, and how to spread them.

use std::fs::File;
use std::io;

/// The pieces in which a file lies on the disk: extents that follow each other in the file, with a gap of at
/// most so many bytes on the disk, are one piece. Unwritten data is written first. See the kernel's
/// documentation of the FIEMAP ioctl.
///
/// # Errors
/// Those of the ioctl; unsupported where the file system cannot say, and on systems without it.
pub fn pieces(file: &File, gap_bytes: u64) -> io::Result<u64> {
    cfg_select! {
        target_os = "linux" => { map::pieces(file, gap_bytes) }
        _ => {
            let _ = (file, gap_bytes);
            Err(crate::Unsupported("where a file is on the disk can be read on Linux only").into())
        }
    }
}

/// Removes a range from the middle of a file: the rest, which must not be empty, moves to its place without
/// being copied. Offset and length are multiples of the block size of the file system. See fallocate(2).
///
/// # Errors
/// Those of fallocate(2), `EOPNOTSUPP` where the file system cannot; unsupported on systems without it.
pub fn collapse(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    cfg_select! {
        target_os = "linux" => {
            Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::COLLAPSE_RANGE, offset, bytes)?)
        }
        _ => {
            let _ = (file, offset, bytes);
            Err(crate::Unsupported("a range is removed from a file on Linux only").into())
        }
    }
}

#[cfg(target_os = "linux")]
mod map {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;

    use crate::Unsupported;
    use crate::error::means_unsupported;

    // <linux/fiemap.h>, <linux/fs.h>
    const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B_u32 as libc::Ioctl;
    const FIEMAP_FLAG_SYNC: u32 = 1;
    const FIEMAP_EXTENT_LAST: u32 = 1;

    /// Extents that one call returns at most.
    const EXTENTS: usize = 128;

    /// `struct fiemap_extent`.
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Extent {
        logical: u64,
        physical: u64,
        length: u64,
        reserved: [u64; 2],
        flags: u32,
        reserved_too: [u32; 3],
    }

    /// `struct fiemap` with room for extents.
    #[repr(C)]
    struct Map {
        start: u64,
        length: u64,
        flags: u32,
        mapped: u32,
        count: u32,
        reserved: u32,
        extents: [Extent; EXTENTS],
    }

    const NO_EXTENT: Extent =
        Extent { logical: 0, physical: 0, length: 0, reserved: [0; 2], flags: 0, reserved_too: [0; 3] };

    pub(super) fn pieces(file: &File, gap_bytes: u64) -> io::Result<u64> {
        let (mut pieces, mut start, mut next) = (0, 0, None);
        loop {
            let mut map = Map {
                start,
                length: u64::MAX - start,
                flags: FIEMAP_FLAG_SYNC,
                mapped: 0,
                count: EXTENTS as u32,
                reserved: 0,
                extents: [NO_EXTENT; EXTENTS],
            };
            // SAFETY: the argument is the structure that this request reads and fills, with the room for
            // extents that its count states, and nothing else refers to it.
            let mapped = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut map) };
            if mapped < 0 {
                let error = io::Error::last_os_error();
                let reason = "this file system, like tmpfs, does not say where its files lie";
                return Err(if means_unsupported(&error) { Unsupported(reason).into() } else { error });
            }
            let extents = &map.extents[..(map.mapped as usize).min(EXTENTS)];
            for extent in extents {
                let follows = |(logical, physical): (u64, u64)| {
                    logical == extent.logical && (physical..=physical + gap_bytes).contains(&extent.physical)
                };
                pieces += u64::from(!next.is_some_and(follows));
                next = Some((extent.logical + extent.length, extent.physical + extent.length));
                start = extent.logical + extent.length;
            }
            if extents.last().is_none_or(|last| last.flags & FIEMAP_EXTENT_LAST != 0) {
                return Ok(pieces);
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use std::io::Write;

        use super::*;

        #[test]
        fn the_structures_are_those_of_the_kernel() {
            assert_eq!((size_of::<Extent>(), size_of::<Map>()), (56, 32 + EXTENTS * 56));
        }

        #[test]
        fn a_file_is_in_more_pieces_once_every_second_block_is_removed() {
            const BYTES: usize = 64 << 10;
            let path = std::env::temp_dir().join(format!("osdyno-pieces-{}", std::process::id()));
            let mut file =
                File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
            std::fs::remove_file(path).expect("its name removed");
            assert!(matches!(pieces(&file, 0), Ok(0) | Err(_)), "an empty file");
            file.write_all(&vec![7; 16 * BYTES]).expect("written");
            let before = match pieces(&file, 0) {
                Ok(pieces) => pieces,
                Err(error) => return println!("skipped: no FIEMAP here: {error}"),
            };
            assert!(before >= 1);
            file.set_len(15 * BYTES as u64).expect("the last block removed");
            for number in (0..7).rev() {
                let offset = (2 * number + 1) * BYTES as u64;
                if let Err(error) = super::super::collapse(&file, offset, BYTES as u64) {
                    assert!(crate::error::means_unsupported(&error), "{error}");
                    return println!("skipped: no range can be removed here: {error}");
                }
            }
            assert_eq!(file.metadata().expect("its size").len(), 8 * BYTES as u64);
            assert!(pieces(&file, 0).expect("again") >= 8);
            assert!(pieces(&file, BYTES as u64 - 1).expect("again") >= 8, "less than lies between them");
            assert!(pieces(&file, BYTES as u64).expect("again") <= before, "as much as lies between them");
        }
    }
}
