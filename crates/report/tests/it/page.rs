//! The page: its skeleton as it stands, and nothing in it that acts or is loaded from elsewhere.

use crate::emulated;

use judge::Findings;
use report::html;
use report::html::{Panel, picture};

fn page(recording: &record::Recording, findings: &Findings) -> String {
    let mut out = Vec::new();
    html::write(recording, findings, None, &mut out).expect("written");
    String::from_utf8(out).expect("text")
}

/// The page without its long parts: pictures, points, paths, styles and scripts.
fn skeleton(page: &str) -> String {
    let mut text = page.to_string();
    for (from, to) in [
        ("<style>", "</style>"),
        ("<script>", "</script>"),
        ("<script type=\"application/json\">", "</script>"),
        ("data:image/png;base64,", "\""),
        (" d=\"", "\""),
        ("<circle", ">"),
        ("<dl>", "</dl>"),
    ] {
        let mut short = String::new();
        let mut rest = text.as_str();
        while let Some(start) = rest.find(from) {
            let after = start + from.len();
            let end = after + rest[after..].find(to).expect("closed");
            short.push_str(&rest[..after]);
            short.push('…');
            rest = &rest[end..];
        }
        short.push_str(rest);
        text = short;
    }
    text.replace("<circle…>", "").replace("><", ">\n<")
}

#[test]
fn the_skeleton_of_a_small_run() {
    let mut workloads = emulated::mixed(400);
    workloads.truncate(1);
    workloads.extend(emulated::mixed(400).into_iter().skip(4).take(2));
    let recording = emulated::recording(emulated::system("local", &[]), &workloads, 10, 3);
    let mut findings = Findings::from_recording(&recording);
    emulated::pinned::pin(&mut findings);
    insta::assert_snapshot!("skeleton", skeleton(&page(&recording, &findings)));
}

#[test]
fn every_finding_is_in_its_figure() {
    let facts = [("net.ip_local_port_range", "32768 60999")];
    let recording = emulated::recording(emulated::system("local", &facts), &emulated::shapes(20_000), 4, 1);
    let mut findings = Findings::from_recording(&recording);
    emulated::pinned::pin_shapes(&mut findings);
    let page = page(&recording, &findings).replace('\u{202f}', " ");
    let figure = |label: &str| {
        let i = findings.series.iter().position(|finding| finding.label == label).expect("a series");
        let start = page.find(&format!("<figure id=\"s{i}\"")).expect("a figure");
        &page[start..start + page[start..].find("</figure>").expect("closed")]
    };
    let drawn = [
        ("touch", vec!["+510 % at 4 096</text>", "class=\"at step\"", "near 2^12 (4 096)"]),
        (
            "bind",
            vec!["×490 at 14 116</text>", "limit 18 020</text>", "near half of net.ipv4.ip_local_port_range"],
        ),
        ("lookup", vec!["−30 % at 3 000</text>", "+43 % at 5 000</text>", "Dent from 3 000 to 5 000"]),
        ("fork", vec!["cloud lower", "cloud upper", "class=\"lower\"", "class=\"upper\"", "key upper"]),
        ("wake", vec!["upper mode</text>", "each trial keeps to its line"]),
        (
            "open",
            vec![
                "class=\"again\"",
                "spikes in 38 trials, ×16",
                "The way up and the way down",
                "every 4.0 ms",
            ],
        ),
        ("open (down)", vec!["The way up and the way down"]),
        ("mmap", vec!["class=\"at knee\"", "rises from 4 020</text>", "linear from 4 020"]),
        ("walk", vec!["sublinear or linear", "61 % of the resampled runs"]),
    ];
    for (label, words) in drawn {
        for word in words {
            let found = figure(label).to_lowercase().contains(&word.to_lowercase());
            assert!(found, "{label}: {word}");
        }
        assert!(figure(label).contains("by percentile"), "{label}");
    }
}

fn mixed(pin: bool) -> (record::Recording, Findings) {
    let facts = [("net.ip_local_port_range", "32768 60999")];
    let recording = emulated::recording(emulated::system("local", &facts), &emulated::mixed(20_000), 10, 1);
    let mut findings = Findings::from_recording(&recording);
    if pin {
        emulated::pinned::pin(&mut findings);
    }
    (recording, findings)
}

/// The page as it is read where nothing runs.
fn without_scripts(page: &str) -> String {
    let mut text = page.to_string();
    while let Some(start) = text.find("<script") {
        let end = start + text[start..].find("</script>").expect("closed") + "</script>".len();
        text.replace_range(start..end, "");
    }
    text
}

#[test]
fn without_scripts_it_has_all_that_the_terminal_says_in_that_order() {
    let (recording, findings) = mixed(true);
    let page = without_scripts(&page(&recording, &findings));
    let said = report::overview::growth_sentences(&findings, |_| true);
    assert!(said.len() > 1, "{said:?}");
    let mut rest = page.as_str();
    for sentence in &said {
        let (name, claim) = sentence.split_once(": ").expect("a name");
        let start = rest.find(&format!("</span> {name}</h3>")).expect("a card in the order of the terminal");
        rest = &rest[start..];
        let card = &rest[..rest.find("</article>").expect("closed")];
        assert!(card.to_lowercase().contains(&claim.to_lowercase()), "{claim}");
        assert!(card.contains("<svg class=\"plot\""), "{name} has a plot");
    }
    for (i, finding) in findings.series.iter().enumerate() {
        assert!(page.contains(&format!("id=\"s{i}\"")), "{}", finding.label);
    }
    assert!(page.contains("<strong>Flat within 10\u{202f}% to n = "), "the lists of the terminal");
    assert!(page.contains("<div class=\"filters\" hidden>"), "elements for scripts are not shown");
}

#[test]
fn what_the_page_refers_to_is_there() {
    let (recording, findings) = mixed(false);
    let page = page(&recording, &findings);
    let values = |attribute: &str| -> Vec<String> {
        let start = format!(" {attribute}=\"");
        let value = |rest: &str| rest.split('"').next().expect("closed").to_string();
        page.split(start.as_str()).skip(1).map(value).collect()
    };
    let ids = values("id");
    for id in &ids {
        assert_eq!(ids.iter().filter(|other| *other == id).count(), 1, "{id}");
    }
    for link in values("href").iter().filter_map(|link| link.strip_prefix('#').map(str::to_owned)) {
        assert!(ids.contains(&link), "{link}");
    }
    let classes: Vec<String> =
        values("class").iter().flat_map(|all| all.split(' ')).map(str::to_owned).collect();
    let filters = values("data-show");
    assert!(filters.len() >= 3, "{filters:?}");
    for filter in filters {
        assert!(classes.contains(&filter), "{filter}");
    }
}

#[test]
fn what_a_system_lacks_is_one_line() {
    let (recording, findings) = mixed(false);
    let page = page(&recording, &findings);
    let lacking = findings.series.iter().position(|finding| finding.measurements == 0).expect("a series");
    assert!(!page.contains(&format!("<figure id=\"s{lacking}\"")), "no figure of nothing");
    let line = page.lines().find(|line| line.contains("unsupported: this system has no kqueue"));
    assert!(line.is_some(), "the reason is said");
}

#[test]
fn several_systems_have_a_matrix() {
    let mut lines = emulated::lines(emulated::system("6.12", &[]), &emulated::mixed(2_000), 4, 1);
    let other = emulated::lines(emulated::system("7.3", &[]), &emulated::mixed(2_000)[..3], 4, 2);
    let end = lines.pop();
    let mine = |line: &record::Line| !matches!(line, record::Line::Run(_) | record::Line::Workload(_));
    lines.extend(other.into_iter().filter(mine).filter(|line| !matches!(line, record::Line::End(_))));
    lines.extend(end);
    let recording = record::Recording::new(lines).expect("a run");
    let page = page(&recording, &Findings::from_recording(&recording));
    let matrix = &page[page.find("<table class=\"matrix\">").expect("a matrix")..];
    let matrix = &matrix[..matrix.find("</table>").expect("closed")];
    assert_eq!(matrix.matches("<th scope=\"row\">").count(), 9, "{matrix}");
    assert_eq!(matrix.matches("<td>").count(), 18, "{matrix}");
    assert!(matrix.contains("unsupported: this system has no kqueue") && matrix.contains("not measured"));
}

#[test]
fn a_page_is_one_file() {
    let recording = emulated::recording(emulated::system("local", &[]), &emulated::mixed(20_000), 10, 1);
    let page = page(&recording, &Findings::from_recording(&recording));
    let outside = ["src=\"http", "href=\"http", "url(http", "@import", "<link", "<iframe"];
    for word in outside {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"), "and a browser enforces it");
    assert!(page.len() < 4_000_000, "{} bytes", page.len());
    // Every figure says the same as the table of verdicts.
    assert_eq!(page.matches("<svg class=\"plot\"").count(), 4 * 8);
    assert_eq!(page.matches("</desc>").count(), 4 * 8);
}

#[test]
fn a_picture_is_one_file() {
    let recording = emulated::recording(emulated::system("<local>", &[]), &emulated::shapes(2_000), 10, 1);
    let findings = Findings::from_recording(&recording);
    let panels = [Panel::Linear, Panel::Logarithmic, Panel::Change, Panel::Percentiles];
    for (i, finding) in findings.series.iter().enumerate() {
        let drawn = picture(&recording, &findings, i, &panels);
        assert_eq!(drawn.is_some(), finding.verdict.is_some(), "{}", finding.label);
        drawn.iter().for_each(|drawn| stands_alone(drawn));
    }
    let run = emulated::compared::one_run_of_three(2_000);
    let compared = judge::compare::Comparison::new(&[("run", &run)]).expect("three systems");
    stands_alone(&report::compare::picture(&compared));
    assert_eq!(picture(&recording, &findings, findings.series.len(), &panels), None);
}

/// Well-formed, with paper, colours and words of its own, and without a reference to elsewhere.
fn stands_alone(picture: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in picture.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').expect("closed");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        assert!(!text.contains('>'), "{text}");
        let name = tag.split([' ', '\n']).next().expect("a name");
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
            None if tag.ends_with('/') => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let lent = picture.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for word in ["http", "@import", "<script", "<foreignObject"] {
        assert!(!lent.contains(word), "{word}");
    }
    for reference in lent.split("href=\"").skip(1) {
        assert!(reference.starts_with("data:image/png;base64,"), "{}", &reference[..40]);
    }
    for reference in lent.split("url(").skip(1) {
        assert!(reference.starts_with('#'), "{}", &reference[..40]);
    }
    for word in
        ["<title id=\"title\">", "<desc id=\"desc\">", "class=\"paper\"", "prefers-color-scheme: dark"]
    {
        assert!(picture.contains(word), "{word}");
    }
}

#[test]
fn hostile_names_are_text() {
    let evil = "<script>alert(1)</script>\u{1b}[2J\"'&";
    let mut workloads = emulated::mixed(300);
    workloads.truncate(1);
    let w = &mut workloads[0];
    w.name = "<img src=x onerror=alert(1)>";
    w.variant = "</title><script>";
    w.grows = "\" onload=\"alert(1)";
    w.page = "<script>alert(1)</script>\n\n[x](javascript:alert(1)) ![p](http://example.org/p.png)";
    w.series[0].0 = "</script><script>alert(1)</script>";
    w.stopping = 2;
    w.outcome = record::Outcome::Limit {
        n: 200,
        operation: "</script><script>alert(1)</script>".into(),
        error: "</text><script>".into(),
        advice: "<b>".into(),
    };
    let mut system = emulated::system("</td><script>", &[("cpu.model", evil), (evil, evil)]);
    system.warnings.push(evil.into());
    let recording = emulated::recording(system, &workloads, 10, 1);
    let page = page(&recording, &Findings::from_recording(&recording));

    // The only elements of script are ours: two programs in one, and the points of every figure.
    assert_eq!(
        page.matches("<script").count(),
        1 + page.matches("<script type=\"application/json\">").count()
    );
    let ours = page.split("<script").skip(1).filter(|rest| !rest.starts_with(" type=\"application/json\">"));
    assert!(ours.clone().count() == 1 && ours.clone().all(|rest| rest.starts_with(">\n/*\nThe MIT License")));
    for word in ["<img", " onload=\"alert", "javascript:", "<b>", "\u{1b}", "http://example.org"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn absurd_numbers_make_a_page() {
    let mut workloads = emulated::mixed(300);
    workloads.truncate(1);
    for (value, n_step) in [(5e-324, 1), (f64::MAX, 1), (1e-6, 1_000_000_000), (5e-324, i64::MAX)] {
        let mut lines = emulated::lines(emulated::system("local", &[]), &workloads, 4, 1);
        for line in &mut lines {
            if let record::Line::Series(series) = line {
                series.values.fill(value);
                series.n_step = n_step;
            }
        }
        let recording = record::Recording::new(lines).unwrap();
        let page = page(&recording, &Findings::from_recording(&recording));
        assert!(page.len() < 1_000_000, "{value} {n_step}: {} bytes", page.len());
        // Of the largest steps one value has an n that counts, and its picture can be drawn.
        let can_zoom = n_step != 1_000_000_000;
        assert_eq!(page.contains("<div class=\"zoom\""), can_zoom, "{value} {n_step}");
    }
}

/// The overview stands first and has a row for every series; the measured systems and how to read the page
/// are folded.
#[test]
fn a_page_opens_with_all_growths_and_folds_the_rest() {
    let recording = emulated::recording(emulated::system("local", &[]), &emulated::shapes(4_000), 6, 1);
    let findings = Findings::from_recording(&recording);
    let page = page(&recording, &findings);
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not in the page"));
    let (overview, after) = (place("id=\"overview\""), place("id=\"verdicts\""));
    assert!(page[..overview].find("<svg class=\"plot\"").is_none(), "no plot stands above it");
    let table = &page[overview..][..page[overview..].find("</table>").expect("a table")];
    for (i, finding) in findings.series.iter().enumerate() {
        let row = table.contains(&format!("href=\"#s{i}\""));
        assert_eq!(
            row,
            finding.verdict.as_ref().and_then(judge::Growth::from_verdict).is_some(),
            "{}",
            finding.label
        );
    }
    assert!(overview < after);
    // As many are open as begin before a figure.
    let open =
        |end: usize| page[..end].matches("<details").count() - page[..end].matches("</details>").count();
    for (at, _) in page.match_indices("<figure ") {
        assert!(open(at) > 0, "a figure is not folded");
    }
    assert!(open(place("<h3>The plots</h3>")) > 0, "the explanations are not folded");
}

/// One call in fifty takes a hundred times as long: a growth of the medians is still seen, and the calls are
/// counted.
#[test]
fn slow_calls_do_not_press_a_growth_to_the_ground() {
    let cost = |n: f64| 1e-6 * (1.0 + n / 300.0) * if n as u64 % 50 == 7 { 100.0 } else { 1.0 };
    let curve = emulated::Curve { cost, between: 0.02, within: 0.05, n: 4_000, twin: None };
    let series = vec![("poll", record::Direction::Up, record::Expect::Linear, curve)];
    let workloads = [emulated::one("poll", "descriptors", series)];
    let recording = emulated::recording(emulated::system("local", &[]), &workloads, 10, 1);
    let svg =
        picture(&recording, &Findings::from_recording(&recording), 0, &[Panel::Linear]).expect("a picture");
    let paths = svg.split("class=\"median\" d=\"M").skip(1).filter_map(|rest| rest.split('"').next());
    // The line of the legend goes sideways.
    let of_plot = paths.filter(|path| !path.contains('h'));
    let number = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let heights = of_plot.flat_map(|path| {
        let numbers = path.split(move |c| !number(c)).filter_map(|number| number.parse::<f64>().ok());
        numbers.skip(1).step_by(2)
    });
    let highest = heights.fold(f64::INFINITY, f64::min);
    // The plot goes from 16 at its top to 256.
    assert!(highest < 80.0, "the medians reach {highest}");
    let svg = svg.replace('\u{202f}', " ");
    assert!(svg.contains("of 40 000 points above"), "the points above are not counted");
}
