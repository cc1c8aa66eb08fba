//! The mappings of a process, from the lines of /proc/PID/maps (proc_pid_maps(5)).

/// A mapping that may be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeMapping {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// The inode of the file; 0 without a file.
    pub inode: u64,
    /// The file, or a name such as `[vdso]`; empty where there is none.
    pub path: String,
}

/// The mappings whose code may be executed.
pub fn parse_mappings(text: &str) -> Vec<CodeMapping> {
    text.lines().filter_map(mapping).collect()
}

fn mapping(line: &str) -> Option<CodeMapping> {
    // The path is last, and may hold spaces.
    let mut words = line.splitn(6, ' ');
    let (range, rights, offset) = (words.next()?, words.next()?, words.next()?);
    let _device = words.next()?;
    let inode = words.next()?.parse().ok()?;
    let path = words.next().unwrap_or_default().trim_start().to_owned();
    let (start, end) = range.split_once('-')?;
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    let mapping =
        CodeMapping { start: number(start)?, end: number(end)?, offset: number(offset)?, inode, path };
    rights.contains('x').then_some(mapping)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_with_its_file() {
        let text = "55e0-55e8 r--p 00000000 fe:00 12   /usr/bin/cat\n\
                    7f10-7f28 r-xp 00002000 fe:00 34        /lib/a library.so (deleted)\n\
                    7ffe-7fff r-xp 00000000 00:00 0 [vdso]\n8000-8001 r-xp 00000000 00:00 0\nnonsense\n";
        let found = parse_mappings(text);
        let names: Vec<&str> = found.iter().map(|mapping| mapping.path.as_str()).collect();
        assert_eq!(names, ["/lib/a library.so (deleted)", "[vdso]", ""]);
        assert_eq!(
            (found[0].start, found[0].end, found[0].offset, found[0].inode),
            (0x7f10, 0x7f28, 0x2000, 34)
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_what_reads_proc(
            text in "(\\PC{0,40}\n|[0-9a-f]{0,17}-[0-9a-f]{0,17} r-xp 0 fe:00 [0-9]{0,21} \\PC{0,9}\n){0,4}",
            symbol in "([0-9a-f]{0,17} [tTwWA] \\PC{0,9}\n){0,4}",
        ) {
            let text = text + &symbol;
            let found = parse_mappings(&text);
            assert!(found.len() <= text.lines().count());
            let symbols = super::super::KernelSymbols::parse(text.clone());
            if let Some((first, name)) = symbols.first() {
                assert!(text.contains(name));
                let _ = (symbols.containing(first), symbols.containing(u64::MAX), symbols.containing(0));
            }
        }
    }
}
