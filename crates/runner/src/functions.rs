//! Names of functions in programs and libraries, from the tables of symbols in their files.

use std::collections::HashMap;
use std::path::Path;

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use record::{Frame, Profile};

/// A larger file is not read.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The functions of files that samples were in. Each file is read once.
#[derive(Debug, Default)]
pub(crate) struct Functions(HashMap<(String, u64), Option<Module>>);

/// The functions of one file.
#[derive(Debug, Default)]
struct Module {
    /// Where its parts are: offset in the file, length, address.
    parts: Vec<[u64; 3]>,
    /// Address, size and name of each function, by address.
    functions: Vec<(u64, u64, String)>,
}

impl Functions {
    /// Gives functions in files of this machine their names. What has none is known by its file.
    pub(crate) fn name(&mut self, profile: &mut Profile) {
        profile.rename(|frame| self.named(frame));
    }

    fn named(&mut self, frame: &Frame) -> Frame {
        let (Some(offset), Some(inode)) = (frame.offset, frame.inode) else { return frame.clone() };
        let module = self.0.entry((frame.module.clone(), inode));
        let module = module.or_insert_with(|| read(Path::new(&frame.module), inode));
        let name = module.as_ref().and_then(|module| module.function(offset)).unwrap_or_default();
        Frame { function: name.to_owned(), module: frame.module.clone(), offset: None, inode: None }
    }
}

impl Module {
    /// The functions and segments of a file; empty where it is not a program.
    fn parse(bytes: &[u8]) -> Module {
        let Ok(file) = object::File::parse(bytes) else { return Module::default() };
        let parts = file.segments().map(|segment| {
            let (offset, length) = segment.file_range();
            [offset, length, segment.address()]
        });
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let functions = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
        let functions = functions.filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            Some((symbol.address(), symbol.size(), name.to_owned()))
        });
        let mut functions: Vec<(u64, u64, String)> = functions.collect();
        functions.sort();
        functions.dedup_by_key(|&mut (address, ..)| address);
        Module { parts: parts.collect(), functions }
    }

    /// The function at that place of the file.
    fn function(&self, offset: u64) -> Option<&str> {
        let is_in = |part: &&[u64; 3]| offset.checked_sub(part[0]).is_some_and(|inside| inside < part[1]);
        let [begin, _, address] = self.parts.iter().find(is_in)?;
        let address = address.checked_add(offset - begin)?;
        let behind = self.functions.partition_point(|&(start, ..)| start <= address);
        let (start, size, name) = self.functions.get(behind.checked_sub(1)?)?;
        (address - start < *size).then_some(name)
    }
}

/// The file of that path, if it is the one that was mapped.
fn read(path: &Path, inode: u64) -> Option<Module> {
    let metadata = path.metadata().ok().filter(|metadata| metadata.is_file())?;
    #[cfg(unix)]
    let is_same = std::os::unix::fs::MetadataExt::ino(&metadata) == inode;
    #[cfg(not(unix))]
    let is_same = inode == 0;
    if !is_same || metadata.len() > FILE_BYTES_MAX {
        return None;
    }
    Some(Module::parse(&std::fs::read(path).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn functions_of_a_library_have_their_names() {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("/proc/self/maps");
        let mappings = sys::profile::parse_mappings(&maps);
        let Some(libc) = mappings.iter().find(|mapping| mapping.path.contains("libc.so")) else {
            eprintln!("skipped: no C library is mapped");
            return;
        };
        let module = read(Path::new(&libc.path), libc.inode).expect("its file");
        let (address, _, name) = module.functions.iter().find(|(_, size, _)| *size > 4).expect("a function");
        let part =
            module.parts.iter().find(|[_, length, at]| (*at..at + length).contains(address)).expect("a part");
        assert_eq!(module.function(address - part[2] + part[0] + 1), Some(name.as_str()));
        assert!(read(Path::new(&libc.path), libc.inode + 1).is_none(), "another file of that name");
    }

    #[test]
    fn what_is_no_program_has_no_functions() {
        for bytes in [&b""[..], b"#!/bin/sh\n", b"\x7fELF\x02\x01\x01"] {
            assert_eq!(Module::parse(bytes).function(0), None);
        }
    }

    #[test]
    fn what_is_on_another_machine_is_known_by_its_file() {
        let frame = Frame {
            module: "/nowhere/lib.so".to_owned(),
            offset: Some(64),
            inode: Some(7),
            ..Frame::default()
        };
        let named = Functions::default().named(&frame);
        assert_eq!(named, Frame { module: "/nowhere/lib.so".to_owned(), ..Frame::default() });
    }
}
