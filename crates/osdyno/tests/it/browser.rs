//! A browser fetches a page with all that belongs to it. Its script writes into the page what it was given,
//! so that the page says whether each part arrived and was understood.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::foreign::{find, run_within};
use crate::common::served::Served;
use crate::common::text;

const PAGE: &str = "<!doctype html>
<html><head><title>page</title>
<link rel=stylesheet href=style.css>
</head><body>
<img id=image src=pictures/dot.gif>
<p id=result>nothing yet</p>
<script src=script.js></script>
</body></html>
";

// In this mode of a page a browser takes no stylesheet that has not the type of one.
const STYLE: &str = "#result { color: rgb(1, 2, 3) }\n";

const SCRIPT: &str = "
const result = document.getElementById('result');
const image = document.getElementById('image');
addEventListener('load', async () => {
    const response = await fetch('data.json?' + Date.now());
    const data = await response.json();
    const large = await (await fetch('large.bin')).arrayBuffer();
    const part = await (await fetch('large.bin', {headers: {Range: 'bytes=5-9'}})).arrayBuffer();
    const missing = await fetch('missing');
    result.textContent = [
        'number ' + data.number,
        'type ' + response.headers.get('content-type'),
        'image ' + image.naturalWidth + 'x' + image.naturalHeight,
        'colour ' + getComputedStyle(result).color,
        'large ' + large.byteLength,
        'part ' + new Uint8Array(part).join('-'),
        'missing ' + missing.status,
    ].join('; ');
});
";

const RESULT: &str = "number 42; type application/json; image 1x1; colour rgb(1, 2, 3); large 300000; \
part 5-6-7-8-9; missing 404";

/// One white dot.
const DOT: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

#[test]
fn a_page_with_epoll() {
    a_page_with("epoll");
}

#[test]
fn a_page_with_uring() {
    a_page_with("uring");
}

fn a_page_with(architecture: &str) {
    let Some(program) = find("chromium") else { return };
    if let Some(reason) = net::arch::find(architecture).unwrap().unavailable_reason() {
        skipped!("{architecture} is unsupported here: {reason}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    make_site(&root);
    let served = Served::start(&root, &["--arch", architecture]);
    let mut command = Command::new(program);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
    ]);
    command.args(["--disable-background-networking", "--disable-extensions", "--no-proxy-server"]);
    command.arg(format!("--user-data-dir={}", folder.path().join("user").display()));
    command.args(["--virtual-time-budget=8000", "--dump-dom"]).arg(format!("http://{}/", served.address));
    command.env("HOME", folder.path()).env_remove("DBUS_SESSION_BUS_ADDRESS");
    let said = run_within(Duration::from_secs(90), &mut command);
    let page = text(&said.output);
    assert!(page.contains(&format!("<p id=\"result\">{RESULT}</p>")), "{architecture}: {page}\n{}", said.all);
    let ended = served.stop();
    assert!(ended.count("responses") >= 7, "{ended:?}");
    assert_eq!(ended.count("slow"), 0, "{ended:?}");
}

fn make_site(root: &Path) {
    std::fs::create_dir_all(root.join("pictures")).unwrap();
    let large: Vec<u8> = (0..300_000).map(|at| (at % 251) as u8).collect();
    let files: [(&str, &[u8]); 6] = [
        ("index.html", PAGE.as_bytes()),
        ("style.css", STYLE.as_bytes()),
        ("script.js", SCRIPT.as_bytes()),
        ("data.json", b"{\"number\": 42}"),
        ("pictures/dot.gif", DOT),
        ("large.bin", &large),
    ];
    for (name, content) in files {
        std::fs::write(root.join(name), content).unwrap();
    }
}
