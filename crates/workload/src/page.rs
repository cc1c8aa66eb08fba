//! The page of a workload, taken out of its file while it is compiled: a trial program carries no source.

/// The page at the beginning of a file, its leading `//!` lines; the rest of the file is not in the program.
#[macro_export]
macro_rules! page {
    ($file:literal) => {
        const {
            const SOURCE: &[u8] = include_bytes!($file);
            const BYTES: usize = {
                let mut end = 0;
                while let [b'/', b'/', b'!', ..] = SOURCE.split_at(end).1 {
                    while SOURCE[end] != b'\n' {
                        end += 1;
                    }
                    end += 1;
                }
                end
            };
            const PAGE: [u8; BYTES] = *SOURCE.first_chunk().unwrap();
            match core::str::from_utf8(&PAGE) {
                Ok(page) => page,
                Err(_) => panic!("the page is not UTF-8"),
            }
        }
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_page_ends_with_the_first_other_line() {
        let page: &str = crate::page!("page.rs");
        assert!(page.starts_with("//! The page of a workload") && page.ends_with("no source.\n"), "{page}");
        let page: &str = crate::page!("lib.rs");
        assert!(page.ends_with("know which workloads there are.\n"), "{page}");
    }
}
