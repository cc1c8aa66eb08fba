//! Responses for a file: whole, in ranges, under conditions, compressed, changed meanwhile; and for a folder.

use std::fs;
use std::time::{Duration, SystemTime};

use net::service::ServiceSettings;
use net::service::http::HttpSettings;

use super::fixture::*;

#[test]
fn a_file_as_a_whole() {
    let site = site();
    let response = get(&site, "/page.html", "");
    assert_eq!((response.status, &response.body[..]), (200, PAGE));
    assert_eq!(response.field("Content-Type"), Some("text/html; charset=utf-8"));
    assert_eq!(response.field("Accept-Ranges"), Some("bytes"));
    assert_eq!(response.field("Connection"), None);
    let tag = response.field("ETag").unwrap();
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 8, "{tag}");
    assert!(response.field("Last-Modified").unwrap().ends_with(" GMT"));
    let head = ask(&*site.machine, b"HEAD /page.html HTTP/1.1\r\nHost: h\r\n\r\n").0;
    assert_eq!(head.fields, response.fields);
    assert_eq!(get(&site, "/empty.txt", "").body, b"");
    assert_eq!(get(&site, "/medium.bin", "").body, pattern(20_000));
    assert_eq!(get(&site, "/large.bin", "").body, pattern(200_000));
    assert_eq!(get(&site, "/", "").body, PAGE);
    assert_eq!(get(&site, "/indexed/", "").body, b"<p>inner</p>");
    assert_eq!(get(&site, "/%64igits", "").field("Content-Type"), Some("application/octet-stream"));
}

#[test]
fn folders_without_their_slash_are_elsewhere() {
    let site = site();
    let table = [
        ("/folder", "/folder/"),
        ("/folder?a=b", "/folder/?a=b"),
        // Never `//host/`, which is another host.
        ("//folder/deeper", "/folder/deeper/"),
        ("/a%20b%3c&", "/a%20b%3C%26/"),
    ];
    for (path, location) in table {
        let response = get(&site, path, "");
        assert_eq!((response.status, response.field("Location")), (301, Some(location)), "{path}");
    }
}

#[test]
fn conditions() {
    let site = site();
    let response = get(&site, "/digits", "");
    let (tag, date) = (response.field("ETag").unwrap(), response.field("Last-Modified").unwrap());
    let (old, new) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Fri, 31 Dec 9999 23:59:59 GMT");
    let table = [
        (format!("If-None-Match: {tag}\r\n"), 304),
        (format!("If-None-Match: \"x\", W/{tag}\r\n"), 304),
        ("If-None-Match: *\r\n".to_owned(), 304),
        ("If-None-Match: \"x\"\r\n".to_owned(), 200),
        // The tag decides, not the date.
        (format!("If-None-Match: \"x\"\r\nIf-Modified-Since: {date}\r\n"), 200),
        (format!("If-Modified-Since: {date}\r\n"), 304),
        (format!("If-Modified-Since: {new}\r\n"), 304),
        (format!("If-Modified-Since: {old}\r\n"), 200),
        ("If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT\r\n".to_owned(), 200),
        ("If-Modified-Since: \u{e4}\r\n".to_owned(), 200),
        (format!("If-Match: {tag}\r\n"), 200),
        (format!("If-Match: W/{tag}\r\n"), 412),
        ("If-Match: \"x\"\r\n".to_owned(), 412),
        ("If-Match: *\r\n".to_owned(), 200),
        (format!("If-Unmodified-Since: {date}\r\n"), 200),
        (format!("If-Unmodified-Since: {old}\r\n"), 412),
    ];
    for (fields, status) in table {
        let response = get(&site, "/digits", &fields);
        assert_eq!(response.status, status, "{fields}");
        if status == 304 {
            assert_eq!(response.field("ETag"), Some(tag));
            assert_eq!(response.field("Content-Type"), None);
        }
    }
}

#[test]
fn ranges() {
    let site = site();
    let response = get(&site, "/digits", "");
    let (tag, date) = (response.field("ETag").unwrap(), response.field("Last-Modified").unwrap());
    let whole: (u16, Option<&str>, &str) = (200, None, "0123456789");
    let beyond = (416, Some("bytes */10"), "416 Range Not Satisfiable: the file is shorter\n");
    let table = [
        ("bytes=0-0", (206, Some("bytes 0-0/10"), "0")),
        ("bytes=2-4", (206, Some("bytes 2-4/10"), "234")),
        ("Bytes=8-", (206, Some("bytes 8-9/10"), "89")),
        ("bytes=8-99999999999999999999999", (206, Some("bytes 8-9/10"), "89")),
        ("bytes=-3", (206, Some("bytes 7-9/10"), "789")),
        ("bytes=-99", (206, Some("bytes 0-9/10"), "0123456789")),
        ("bytes=10-", beyond),
        ("bytes=99999999999999999999999-", beyond),
        ("bytes=-0", beyond),
        ("bytes=4-2", whole),
        ("bytes=-", whole),
        ("bytes=a-b", whole),
        ("bytes=1-2x", whole),
        ("bytes=1", whole),
        ("lines=1-2", whole),
        ("bytes=0-1,4-5", whole),
        ("", whole),
    ];
    for (range, expected) in table {
        let response = get(&site, "/digits", &format!("Range: {range}\r\n"));
        let body = std::str::from_utf8(&response.body).unwrap();
        assert_eq!((response.status, response.field("Content-Range"), body), expected, "{range}");
    }
    let ifs = [
        (tag.to_owned(), 206),
        (date.to_owned(), 206),
        (format!("W/{tag}"), 200),
        ("Sun, 06 Nov 1994 08:49:37 GMT".to_owned(), 200),
        ("nonsense".to_owned(), 200),
    ];
    for (validator, status) in ifs {
        let fields = format!("Range: bytes=0-1\r\nIf-Range: {validator}\r\n");
        assert_eq!(get(&site, "/digits", &fields).status, status, "{fields}");
    }
    for (path, length) in [("/medium.bin", 20_000), ("/large.bin", 200_000)] {
        let response = get(&site, path, "Range: bytes=5000-15000\r\n");
        assert_eq!((response.status, &response.body[..]), (206, &pattern(length)[5000..=15_000]));
    }
    assert_eq!(get(&site, "/empty.txt", "Range: bytes=0-\r\n").status, 416);
    let head = ask(&*site.machine, b"HEAD /digits HTTP/1.1\r\nHost: h\r\nRange: bytes=0-1\r\n\r\n").0;
    assert_eq!(head.status, 200, "ranges are defined for GET alone");
}

#[test]
fn compressed_neighbours() {
    let site = site();
    let table = [
        ("Accept-Encoding: gzip\r\n", true),
        ("Accept-Encoding: br, GZIP;q=0.5, deflate\r\n", true),
        ("Accept-Encoding: *\r\n", true),
        ("Accept-Encoding: identity;q=0.5, gzip;q=0.501\r\n", true),
        ("", false),
        ("Accept-Encoding:\r\n", false),
        ("Accept-Encoding: gzip;q=0\r\n", false),
        ("Accept-Encoding: gzip;q=0.000\r\n", false),
        ("Accept-Encoding: gzip; q=x\r\n", false),
        ("Accept-Encoding: *, gzip;q=0\r\n", false),
        ("Accept-Encoding: br\r\n", false),
        ("Accept-Encoding: gzip;q=0.5, identity\r\n", false),
        ("Accept-Encoding: notgzip\r\n", false),
    ];
    for (fields, is_gzip) in table {
        let response = get(&site, "/zipped.js", fields);
        let (coding, body): (_, &[u8]) =
            if is_gzip { (Some("gzip"), b"not really gzip") } else { (None, b"plain") };
        assert_eq!((response.field("Content-Encoding"), &response.body[..]), (coding, body), "{fields}");
        assert_eq!(response.field("Vary"), Some("Accept-Encoding"));
        assert_eq!(response.field("Content-Type"), Some("text/javascript; charset=utf-8"));
    }
    let tag = |fields| get(&site, "/zipped.js", fields).field("ETag").unwrap().to_owned();
    assert_ne!(tag("Accept-Encoding: gzip\r\n"), tag(""), "two codings are two representations");
    let stale = get(&site, "/stale.js", "Accept-Encoding: gzip\r\n");
    assert_eq!((stale.field("Vary"), &stale.body[..]), (None, &b"newer than its neighbour"[..]));
    let itself = get(&site, "/zipped.js.gz", "");
    assert_eq!(
        (itself.field("Content-Encoding"), itself.field("Content-Type")),
        (None, Some("application/gzip"))
    );
}

#[test]
fn a_changed_file_is_seen_within_a_second() {
    let site = site();
    let path = site.root.join("digits");
    let before = get(&site, "/digits", "");
    fs::write(&path, b"changed").unwrap();
    fs::remove_file(site.root.join("page.html")).unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    let after = get(&site, "/digits", "");
    assert_eq!(after.body, b"changed");
    assert_ne!(after.field("ETag"), before.field("ETag"));
    assert_eq!(get(&site, "/page.html", "").status, 404);
}

/// Like tools that copy a file with its time, or build with one time for all files.
#[test]
fn a_changed_file_is_seen_whatever_its_time_says() {
    let site = site();
    let path = site.root.join("dated");
    write_aged(&path, b"one", 1000);
    let before = get(&site, "/dated", "");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    // A file that was changed a moment ago is always read again.
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(get(&site, "/dated", "").body, b"one");
    fs::write(&path, b"two").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    let after = get(&site, "/dated", "");
    assert_eq!(after.body, b"two");
    assert_ne!(after.field("ETag"), before.field("ETag"));
}

#[test]
fn times_that_http_cannot_write() {
    let site = site();
    for (moment, year) in [(-86_400_i64, "1970"), (400_000_000_000, "20")] {
        let path = site.root.join("digits");
        let distance = Duration::from_secs(moment.unsigned_abs());
        let epoch = SystemTime::UNIX_EPOCH;
        let time = if moment < 0 { epoch - distance } else { epoch + distance };
        // A file system may not know the time either, and take the nearest that it knows.
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        let settings = HttpSettings { root: site.root.clone(), ..HttpSettings::default() };
        let machine = settings.open(false).unwrap();
        let response = ask(&*machine, b"GET /digits HTTP/1.1\r\nHost: h\r\n\r\n").0;
        let date = response.field("Last-Modified").unwrap();
        assert!(date[12..].starts_with(year) && date.len() == 29, "{date}");
    }
}

#[test]
fn lists_of_folders() {
    let site = site_with(|settings| HttpSettings { listing: true, ..settings });
    let response = get(&site, "/folder/", "");
    assert_eq!(response.status, 200);
    assert_eq!(response.field("Content-Type"), Some("text/html; charset=utf-8"));
    let page = String::from_utf8(response.body).unwrap();
    for link in [
        "<a href=\"../\">../</a>",
        "<a href=\"./%3Cb%3E%26.txt\">&lt;b&gt;&amp;.txt</a>",
        "<a href=\"./deeper/\">deeper/</a>",
        "<a href=\"./one.css\">one.css</a>",
    ] {
        assert!(page.contains(link), "{link} in {page}");
    }
    assert_eq!(get(&site, "/folder/%3Cb%3E%26.txt", "").body, b"odd");
    assert!(!String::from_utf8(get(&site, "/folder/deeper/", "").body).unwrap().contains("<b>"));
    assert_eq!(get(&site, "/", "").body, PAGE, "an index comes first");
    fs::remove_file(site.root.join("index.html")).unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    let page = String::from_utf8(get(&site, "/", "").body).unwrap();
    assert!(!page.contains("hidden") && page.contains("digits") && !page.contains("\"../\""), "{page}");
}

/// More files than are kept, in memory or open: every one is served.
#[test]
fn many_files() {
    let site = site();
    for number in 0..1200 {
        fs::write(site.root.join(format!("folder/{number}")), number.to_string()).unwrap();
    }
    for number in 0..200 {
        let file = fs::File::create(site.root.join(format!("folder/large{number}"))).unwrap();
        file.set_len(100_000 + number).unwrap();
    }
    for _ in 0..2 {
        for number in 0..1200 {
            assert_eq!(get(&site, &format!("/folder/{number}"), "").body, number.to_string().into_bytes());
        }
        for number in 0..200 {
            assert_eq!(get(&site, &format!("/folder/large{number}"), "").body.len(), 100_000 + number);
        }
    }
}
