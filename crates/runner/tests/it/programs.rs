//! The contents of the measured programs.

use runner::CARRIED;

/// fork(2) copies the mappings of every library, and a child looks its symbols up in every library.
#[test]
#[cfg_attr(
    not(all(target_os = "linux", target_env = "gnu")),
    ignore = "the libraries of a program are read for GNU/Linux only"
)]
fn the_program_of_the_kernel_needs_no_library_but_that_of_c() {
    let kernel = CARRIED.iter().find(|program| program.name == "osdyno-trial").expect("it is carried");
    let bytes = kernel.bytes().expect("a program");
    let text = String::from_utf8_lossy(&bytes);
    let mut needed: Vec<&str> =
        text.split('\0').filter(|word| word.starts_with("lib") && word.contains(".so.")).collect();
    needed.sort_unstable();
    // The second unwinds stacks for Rust's standard library.
    assert_eq!(needed, ["libc.so.6", "libgcc_s.so.1"]);
}
