//! The code at an address: the functions of the kernel, from the lines of /proc/kallsyms, and the mappings of
//! a process, from those of /proc/PID/maps (proc_pid_maps(5)).

/// The functions of a kernel, by address.
#[derive(Clone, Debug, Default)]
pub struct KernelSymbols {
    text: String,
    /// Address, and where the line's name begins, by address.
    places: Vec<(u64, u32)>,
}

/// A function of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelSymbol<'a> {
    /// Its name.
    pub name: &'a str,
    /// The module it is in; empty for the kernel itself.
    pub module: &'a str,
}

/// The longest function: code further behind a symbol does not belong to it.
const FUNCTION_BYTES_MAX: u64 = 1 << 20;

impl KernelSymbols {
    /// Reads lines such as `ffffffff81000000 T _stext` and `ffffffffc0000000 t init [module]`. Other lines,
    /// and hidden addresses, are left out.
    pub fn parse(text: String) -> KernelSymbols {
        let start = text.as_ptr() as usize;
        let mut places: Vec<(u64, u32)> = text
            .lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
                let is_code = matches!(kind, "t" | "T" | "w" | "W");
                let address = u64::from_str_radix(address, 16).ok().filter(|&address| address > 0)?;
                let place = u32::try_from(name.as_ptr() as usize - start).ok()?;
                is_code.then_some((address, place))
            })
            .collect();
        // Of several names for one address the first one is kept.
        places.sort_by_key(|&(address, _)| address);
        places.dedup_by_key(|&mut (address, _)| address);
        KernelSymbols { text, places }
    }

    /// Whether no address is known, because they are hidden or the system is another one.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The first function.
    pub fn first(&self) -> Option<(u64, &str)> {
        let &(address, _) = self.places.first()?;
        Some((address, self.containing(address)?.name))
    }

    /// The function that contains an address.
    pub fn containing(&self, address: u64) -> Option<KernelSymbol<'_>> {
        let behind = self.places.partition_point(|&(start, _)| start <= address);
        let &(start, place) = self.places.get(behind.checked_sub(1)?)?;
        if address - start > FUNCTION_BYTES_MAX {
            return None;
        }
        let line = self.text.get(place as usize..)?.lines().next()?;
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let module = words.next().map_or("", |module| module.trim_matches(['[', ']']));
        Some(KernelSymbol { name, module })
    }
}

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
    fn an_address_is_in_the_function_before_it() {
        let text = "0000000000000000 A fixed\nffffffff81000000 T _stext\nffffffff81000000 t other\n\
                    ffffffff81000400 t do_poll\nffffffff81000500 D data\nnonsense\n\
                    ffffffffc0000000 t init\t[nf_tables]\n";
        let symbols = KernelSymbols::parse(text.to_owned());
        let of = |address| symbols.containing(address).map(|symbol| (symbol.name, symbol.module));
        assert_eq!(of(0xffff_ffff_8100_03ff), Some(("_stext", "")));
        assert_eq!(of(0xffff_ffff_8100_0600), Some(("do_poll", "")));
        assert_eq!(of(0xffff_ffff_c000_0010), Some(("init", "nf_tables")));
        assert_eq!(of(0xffff_ffff_c100_0010), None, "nothing is so large");
        assert_eq!(of(0x1000), None);
        assert!(KernelSymbols::parse("0000000000000000 T _stext\n".to_owned()).is_empty(), "hidden");
    }

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
            let symbols = KernelSymbols::parse(text.clone());
            if let Some((first, name)) = symbols.first() {
                assert!(text.contains(name));
                let _ = (symbols.containing(first), symbols.containing(u64::MAX), symbols.containing(0));
            }
        }
    }
}
