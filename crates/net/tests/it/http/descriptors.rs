//! Connections have taken every descriptor: files in memory are served, and small files can be read.

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use super::fixture::*;

/// Not a test: runs in a process of its own, because the limit is that of the process.
#[test]
#[ignore = "is executed by small_files_are_served_without_a_free_descriptor"]
fn serve_without_a_free_descriptor() {
    if std::env::var_os("OSDYNO_TEST_DESCRIPTORS").is_none() {
        return;
    }
    let site = site();
    assert_eq!(get(&site, "/page.html", "").status, 200);
    let taken: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(taken.len() > 5, "{}", taken.len());
    // Kept files are checked again in another second.
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(1100));
        assert_eq!(get(&site, "/page.html", "").body, PAGE, "in memory");
        assert_eq!(get(&site, "/digits", "").body, b"0123456789", "to be read");
        assert_eq!(get(&site, "/page.html", "").body, PAGE, "still in memory");
    }
}

#[test]
fn small_files_are_served_without_a_free_descriptor() {
    let run =
        "ulimit -n 40 && exec \"$0\" --exact --ignored http::descriptors::serve_without_a_free_descriptor";
    let served = Command::new("sh")
        .args(["-c", run])
        .arg(std::env::current_exe().unwrap())
        .env("OSDYNO_TEST_DESCRIPTORS", "1")
        .output()
        .unwrap();
    assert!(served.status.success(), "{}", String::from_utf8_lossy(&served.stdout));
}
