//! A page in a browser, used as a reader uses it: filters, search, links into what is folded, zoom. What was seen
//! is written into the page by `page/probe.js`, and faults planted in the page's own program must show.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::foreign::{find, run_within};
use crate::common::{run_well, text};
use crate::nights::{SERIES, Simulated, of_night};
use serde_json::Value;

const PROBE: &str = include_str!("page/probe.js");
const FLAME: &str = include_str!("page/flame.js");

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
    let seen = used(&browser, folder.path(), &page, PROBE);
    assert_eq!(complaint(&seen), None, "{seen:#}");
    for (part, fault) in FAULTS {
        assert_eq!(page.matches(part).count(), 1, "{part}");
        let seen = used(&browser, folder.path(), &page.replace(part, fault), PROBE);
        assert!(complaint(&seen).is_some(), "{fault}: {seen:#}");
    }
}

/// A run of several systems has their comparison in its page, and links lead to its folded curves.
#[test]
fn systems_are_compared_on_the_page() {
    let Some(browser) = find("chromium") else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path(), "systems");
    let seen = used(&browser, folder.path(), &page, PROBE);
    assert_eq!(complaint(&seen), None, "{seen:#}");
    let part = &page[page.find("<section id=\"compared\">").expect("a comparison")..];
    let part = &part[..part.find("</section>").expect("closed")];
    let ratios = part.matches("<svg class=\"ratio\"").count();
    let links = part.matches("<th scope=\"row\"><a href=\"#c").count();
    assert!(ratios >= links && links > 0, "{ratios} ratios, {links} links");
    assert!(part.contains("<summary>Curves of all systems</summary>"));
}

/// Parts of the program of flame graphs, and faults in them.
const FLAME_FAULTS: [(&str, &str); 4] = [
    ("box.depth === current.depth + 1", "box.depth === current.depth + 9"),
    ("ArrowLeft: () => beside(-1)", "ArrowLeft: () => beside(0)"),
    ("zoom(box === shown ? boxes[0] : box)", "zoom(boxes[0])"),
    ("event.key === \"Escape\"", "event.key === \"F9\""),
];

#[test]
fn a_flame_graph_is_walked_and_zoomed_with_the_keyboard() {
    let Some(browser) = find("chromium") else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = flame_page(folder.path());
    // Of the time at high n three quarters are in one function and a quarter is in the other.
    let expected = serde_json::json!({
        "stops": 1,
        "overflows": false,
        "steps": [
            ["ArrowUp", "entry", 100, 0, true],
            ["ArrowUp", "wide", 75, 0, true],
            ["ArrowRight", "narrow", 25, 0, true],
            ["ArrowLeft", "wide", 75, 0, true],
            ["Enter", "wide", 100, 1, true],
            ["Escape", "wide", 75, 0, true],
            ["ArrowDown", "entry", 100, 0, true],
        ],
    });
    assert_eq!(used(&browser, folder.path(), &page, FLAME), expected);
    for (part, fault) in FLAME_FAULTS {
        assert_eq!(page.matches(part).count(), 1, "{part}");
        assert_ne!(used(&browser, folder.path(), &page.replace(part, fault), FLAME), expected, "{fault}");
    }
}

/// axe-core, as `xtask/src/obtain.rs` leaves it below the folder in which this test is built.
const AXE: &str = "python/axe_core_python/axe.min.js";
const AXE_PROBE: &str = include_str!("page/axe.js");

/// By the rules of axe-core: names, order of headings, contrast, what the keyboard reaches.
#[test]
fn pages_are_for_everybody() {
    let Some(browser) = find("chromium") else { return };
    let own = Path::new(env!("CARGO_BIN_EXE_osdyno"));
    let Ok(axe) = fs::read_to_string(own.ancestors().nth(2).expect("a folder of cargo").join(AXE)) else {
        return skipped!("axe-core is not installed here: cargo xtask pypi");
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut pages =
        vec![("report".to_owned(), page(folder, "kernel")), ("blame".to_owned(), flame_page(folder))];
    pages.extend(site(folder));
    let probe = format!("{axe}</script><script>{AXE_PROBE}");
    for (name, page) in &pages {
        // A headless Chromium is no narrower than 500.
        for screen in [Screen { width: 1400, is_dark: false }, Screen { width: 500, is_dark: true }] {
            let seen = used_on(screen, &browser, folder, page, &probe);
            assert_eq!(seen["broken"], serde_json::json!([]), "{name}, {screen:?}: {seen:#}");
            assert!(seen["kept"].as_u64() > Some(10), "{name}: {seen:#}");
            assert_eq!(
                (seen["dark"].as_bool(), seen["width"].as_u64()),
                (Some(screen.is_dark), Some(screen.width))
            );
        }
    }
    let (report, run) = (&pages[0].1, &pages[pages.len() - 1].1);
    for (fault, rule) in [
        (report.replace("<html lang=\"en\"", "<html"), "html-has-lang"),
        (run.replace(".way + .bar", ".nothing"), "covered"),
    ] {
        let seen = used(&browser, folder, &fault, &probe);
        assert_eq!(seen["broken"][0][0], rule, "{seen:#}");
    }
}

/// A page of each kind of a folder of runs.
fn site(folder: &Path) -> Vec<(String, String)> {
    let nights = folder.join("nights");
    fs::create_dir(&nights).unwrap();
    let night =
        |night| Simulated { factors: vec![(2, if night < 20 { 1.0 } else { 1.1 })], ..of_night(night) };
    (0..30).for_each(|number| drop(night(number).write(&nights)));
    run_well(folder, &["view", "nights", "--export", "site"]);
    let site = folder.join("site");
    assert_eq!(fs::read_dir(site.join("series/0")).unwrap().count(), SERIES);
    let first =
        |of: &str| fs::read_dir(site.join(of)).unwrap().flatten().map(|entry| entry.path()).min().unwrap();
    let pages = [
        site.join("index.html"),
        site.join("history.html"),
        first("series/0"),
        first("compare"),
        first("run"),
    ];
    let read = |page: std::path::PathBuf| {
        let name = page.strip_prefix(&site).unwrap().display().to_string();
        (name, fs::read_to_string(&page).unwrap())
    };
    pages.into_iter().map(read).collect()
}

/// The page of `blame` on a run that was kept, with samples of its first series as if they had been taken.
fn flame_page(folder: &Path) -> String {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs-0.1.0/kernel.osdyno");
    let (recording, _) = record::read(kept).unwrap();
    let (key, _) = recording.series().next().expect("a series");
    let mut lines = vec![record::Line::Run(recording.run.clone())];
    lines.extend(recording.systems.iter().cloned().map(record::Line::System));
    lines.extend(recording.workloads.iter().cloned().map(record::Line::Workload));
    lines.extend(recording.trials.iter().cloned().map(record::Line::Trial));
    let series = recording.series().filter(|(other, _)| *other == key);
    lines.extend(series.flat_map(|(_, all)| all.to_vec()).map(record::Line::Series));
    for trial in 901..905 {
        let window = |n: u32, samples: u32| serde_json::json!({ "n_low": n, "n_high": n + 9, "operations": 100, "seconds": 0.01, "samples": samples });
        let function = |name: &str| serde_json::json!({ "function": name, "module": "kernel" });
        let profile = serde_json::json!({
            "type": "profile", "system": key.system, "workload": key.workload, "variant": key.variant,
            "trial": trial, "name": key.name, "direction": key.direction, "event": "cpu-clock",
            "period_seconds": 1e-4, "low": window(1, 19), "high": window(90, 40),
            "frames": [function("entry"), function("wide"), function("narrow")],
            "stacks": [{ "frames": [1, 0], "samples": [10, 30] }, { "frames": [2, 0], "samples": [9, 10] }],
        });
        lines.push(record::parse_line(&profile.to_string()).unwrap());
    }
    let mut bytes = Vec::new();
    lines.iter().for_each(|line| record::write_line(line, &mut bytes).unwrap());
    fs::write(folder.join("sampled.osdyno"), bytes).unwrap();
    run_well(folder, &["blame", "sampled.osdyno", "--page", "flame.html"]);
    fs::read_to_string(folder.join("flame.html")).unwrap()
}

/// The page of a run that was kept.
fn page(folder: &Path, run: &str) -> String {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs-0.1.0");
    let file = format!("{run}.osdyno");
    fs::copy(runs.join(&file), folder.join(&file)).unwrap();
    run_well(folder, &["report", &file, "--out", "page.html"]);
    fs::read_to_string(folder.join("page.html")).unwrap()
}

/// The screen of a reader.
#[derive(Clone, Copy, Debug)]
struct Screen {
    width: u64,
    is_dark: bool,
}

/// What the probe saw in a page.
fn used(browser: &Path, folder: &Path, page: &str, probe: &str) -> Value {
    used_on(Screen { width: 1200, is_dark: false }, browser, folder, page, probe)
}

fn used_on(screen: Screen, browser: &Path, folder: &Path, page: &str, probe: &str) -> Value {
    let file = folder.join("probed.html");
    fs::write(&file, format!("{page}<script>{probe}</script>")).unwrap();
    let mut command = Command::new(browser);
    // As root a browser does not start within its sandbox; the page is ours and loads nothing.
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
    ]);
    command.args(["--disable-background-networking", "--disable-extensions"]);
    command.arg(format!("--window-size={},900", screen.width));
    command.args(screen.is_dark.then_some("--blink-settings=preferredColorScheme=0"));
    command.arg(format!("--user-data-dir={}", folder.join("user").display()));
    command.args(["--virtual-time-budget=60000", "--dump-dom"]).arg(format!("file://{}", file.display()));
    command.env("HOME", folder).env_remove("DBUS_SESSION_BUS_ADDRESS");
    let said = run_within(Duration::from_secs(300), &mut command);
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
