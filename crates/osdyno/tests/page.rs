//! A page in a browser, used as a reader uses it: filters, search, links into what is folded, zoom. What was seen
//! is written into the page by `page/probe.js`, and faults planted in the page's own program must show.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic is the failure of a test")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::foreign::{find, run_within};
use common::{run_well, text};
use serde_json::Value;

const PROBE: &str = include_str!("page/probe.js");

/// Parts of the page's program, and what a careless change would make of each.
const FAULTS: [(&str, &str); 11] = [
    ("toggle(\"away-by-filter\", !is)", "toggle(\"away-by-filter\", false)"),
    ("pressed.some((c)", "pressed.every((c)"),
    ("words.every((w)", "words.some((w)"),
    ("search.value.toLowerCase()", "search.value"),
    ("toggle(\"away-by-filter\", !all && !left)", "toggle(\"away-by-filter\", false)"),
    ("if (!all) group.open = left;", "if (!all) group.open = false;"),
    ("group.open = folded.get(group)", "group.open = !folded.get(group)"),
    ("filter((e) => !e.parentElement.closest(\".card\"))", "filter(() => true)"),
    ("logarithmic = !logarithmic", "logarithmic = true"),
    ("event.deltaY < 0 ? 0.8 : 1.25", "event.deltaY < 0 ? 1 : 1.25"),
    ("{ trial, n: x[i], cost: y[i] }", "null"),
];

#[test]
fn a_reader_finds_what_is_sought() {
    let Some(browser) = find("chromium") else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path(), "kernel");
    let seen = used(&browser, folder.path(), &page);
    assert_eq!(complaint(&seen), None, "{seen:#}");
    for (part, fault) in FAULTS {
        assert_eq!(page.matches(part).count(), 1, "{part}");
        let seen = used(&browser, folder.path(), &page.replace(part, fault));
        assert!(complaint(&seen).is_some(), "{fault}: {seen:#}");
    }
}

/// A run of several systems has their comparison in its page, and links lead to its folded curves.
#[test]
fn systems_are_compared_on_the_page() {
    let Some(browser) = find("chromium") else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path(), "systems");
    let seen = used(&browser, folder.path(), &page);
    assert_eq!(complaint(&seen), None, "{seen:#}");
    let part = &page[page.find("<section id=\"compared\">").expect("a comparison")..];
    let part = &part[..part.find("</section>").expect("closed")];
    let ratios = part.matches("<svg class=\"ratio\"").count();
    let links = part.matches("<th scope=\"row\"><a href=\"#c").count();
    assert!(ratios >= links && links > 0, "{ratios} ratios, {links} links");
    assert!(part.contains("<summary>Curves of all systems</summary>"));
}

/// The page of a run that was kept.
fn page(folder: &Path, run: &str) -> String {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs-0.1.0");
    let file = format!("{run}.osdyno");
    fs::copy(runs.join(&file), folder.join(&file)).unwrap();
    run_well(folder, &["report", &file, "--out", "page.html"]);
    fs::read_to_string(folder.join("page.html")).unwrap()
}

/// What the probe saw in a page.
fn used(browser: &Path, folder: &Path, page: &str) -> Value {
    let file = folder.join("probed.html");
    fs::write(&file, format!("{page}<script>{PROBE}</script>")).unwrap();
    let mut command = Command::new(browser);
    // As root a browser does not start within its sandbox; the page is ours and loads nothing.
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
    ]);
    command.args(["--disable-background-networking", "--disable-extensions", "--window-size=1200,900"]);
    command.arg(format!("--user-data-dir={}", folder.join("user").display()));
    command.args(["--virtual-time-budget=60000", "--dump-dom"]).arg(format!("file://{}", file.display()));
    command.env("HOME", folder).env_remove("DBUS_SESSION_BUS_ADDRESS");
    let said = run_within(Duration::from_secs(120), &mut command);
    let shown = text(&said.output);
    let result = shown.rsplit_once("<pre id=\"result\">").map(|(_, rest)| rest);
    let result = result.and_then(|rest| rest.split_once("</pre>")).map(|(json, _)| json);
    let result = result.map(|json| json.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"));
    // A program that broke has left nothing.
    result.map_or(Value::Null, |json| serde_json::from_str(&json).unwrap())
}

/// The first of what a reader could not do.
fn complaint(seen: &Value) -> Option<String> {
    let all = &seen["series"];
    let left = |of: &Value, shown: &Value| {
        let said = format!("{shown} of {all} series");
        of["shown"] == *shown && of["visible"] == *shown && of["empty"] == 0 && of["said"] == said.as_str()
    };
    let filters = seen["filters"].as_array().is_some_and(|filters| {
        filters.len() > 1 && filters.iter().all(|one| left(one, &one["of"]) && one["after"] == *all)
    });
    let n = |place: &str| {
        let digits = seen[place].as_str()?.strip_prefix("n = ")?.split(',').next()?.replace('\u{202f}', "");
        digits.parse::<u64>().ok()
    };
    let sought = &seen["sought"];
    let found =
        sought[0]["shown"].as_u64().is_some_and(|shown| shown > 0 && shown < all.as_u64().unwrap_or(0));
    let axes = seen["axes"] == serde_json::json!(["Linear axes", "Logarithmic axes"]);
    let is_point = seen["point"].as_str().is_some_and(|point| point.contains(", trial "));
    let wishes = [
        ("the filters are shown", seen["bar"] == true && all.as_u64() > Some(4)),
        ("each card has a plot", seen["cards"] == seen["plots"]),
        ("a filter leaves what it names", filters),
        ("two filters leave what either names", left(&seen["two"], &seen["two"]["of"])),
        ("a search finds words", found && left(&sought[0], &sought[0]["shown"])),
        ("a search needs all words", sought[1]["shown"] == 0),
        (
            "without a filter all is as before",
            seen["cleared"]["shown"] == *all && seen["open"] == seen["opened"],
        ),
        ("a link unfolds what it leads to", seen["unfolded"] == true),
        ("points can be zoomed into", seen["canvas"] == true && is_point),
        ("the wheel comes nearer", n("nearer") > n("left") && n("left").is_some()),
        ("axes change", axes),
        ("the plot can be closed", seen["closed"] == true),
    ];
    wishes.into_iter().find(|(_, held)| !held).map(|(wish, _)| wish.to_owned())
}
