//! `osdyno load --find-rate`.
#![cfg(target_os = "linux")]

use serde_json::Value;

use crate::common::served::Served;
use crate::common::{run, text};

/// However fast this machine is, the search ends, and says how sure its answer is.
#[test]
fn a_search_has_an_interval_and_says_once_who_was_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("index.html"), "hello").expect("a file");
    let served = Served::start(folder.path(), &["--arch", "epoll"]);
    let url = format!("http://{}/", served.address);
    let words = ["load", "--find-rate", "p90<=50ms", "-c", "4", "-d", "300ms", "-o", "a.json", &url];
    let output = run(folder.path(), &words);
    let out = text(&output.stdout);
    assert!(out.contains("p90 ≤ 50.0 ms") && out.contains("met it"), "{out}{}", text(&output.stderr));
    assert!(out.matches("limited by the load generator").count() <= 1, "{out}");
    let file = std::fs::read_to_string(folder.path().join("a.json")).expect("a file");
    let file: Value = serde_json::from_str(&file).expect("JSON");
    let found = &file["found"];
    let stages = found["stages"].as_array().expect("stages").len();
    let ends = [&found["interval"][0], &found["rate"], &found["interval"][1]].map(|end| end.as_f64());
    match ends {
        [Some(low), Some(rate), Some(high)] => assert!(low <= rate && rate <= high, "{found}"),
        // A machine that was too busy for the least of all rates says so.
        _ => assert!(ends == [None; 3] && out.contains("no rate was found"), "{out}"),
    }
    assert!((3..=40).contains(&stages), "{stages} stages");
    served.stop();
}
