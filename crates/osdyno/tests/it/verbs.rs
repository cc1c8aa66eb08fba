//! The verbs as a user types them: output, files, exit codes.

use std::fs;

use crate::common;
use crate::common::{expect_nothing_left, run, run_well, small_run, text};

#[test]
fn a_run_prints_verdicts_and_writes_a_record_and_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments =
        ["run", "noop", "mmap", "fork", "-n", "200", "--trials", "3", "--out", "small.osdyno", "--seed", "1"];
    let overview = run_well(folder.path(), &arguments);
    assert!(overview.contains("9 series: ") && overview.lines().count() <= 40, "{overview}");
    let printed = run_well(folder.path(), &["report", "small.osdyno", "--verbose"]);
    for series in ["noop", "mmap/read", "mmap/mmap touch", "fork reap"] {
        assert!(printed.lines().any(|line| line.trim_start().starts_with(series)), "{series} in\n{printed}");
    }
    let page = fs::read_to_string(folder.path().join("small.html")).expect("the report");
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
    let links = page.match_indices("http").map(|(place, _)| &page[place..]);
    let is_link = |link: &&str| link.starts_with("http://") || link.starts_with("https://");
    // The name space of a picture, and the comment that says where the plots come from; neither is fetched.
    let is_harmless = |link: &&str| {
        ["http://www.w3.org/", "https://github.com/leeoniya/uPlot"].iter().any(|own| link.starts_with(own))
    };
    let fetched: Vec<&str> = links.filter(is_link).filter(|link| !is_harmless(link)).collect();
    let fetched: Vec<String> = fetched.iter().map(|link| link.chars().take(60).collect()).collect();
    assert_eq!(fetched, [""; 0], "the page works offline");
    assert!(!page.contains("src=\"//") && !page.contains("@import"), "the page works offline");
    let (recording, losses) = record::read(folder.path().join("small.osdyno")).expect("the run file");
    assert!(losses.is_empty(), "{losses:?}");
    assert_eq!(recording.run.seed, 1);
    assert_eq!(recording.trials.len(), 3 * 4);
    assert_eq!(recording.end.expect("an end").status, record::EndStatus::Complete);
    expect_nothing_left(folder.path());
}

#[test]
fn an_unknown_workload_is_wrong_usage_and_the_nearest_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &["run", "scoket"]);
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(told.contains("no workload is called \"scoket\"; did you mean \"socket\"?"), "{told}");
    let suggestions = [
        ("bimd", "bind"),
        ("bind/v6x", "bind/v6"),
        ("epol", "epoll"),
        ("arch/epol", "arch/epoll"),
        ("ecko", "echo"),
    ];
    for (name, nearest) in suggestions {
        let output = run(folder.path(), &["explain", name]);
        assert_eq!(output.status.code(), Some(2));
        let told = text(&output.stderr);
        assert!(told.contains(&format!("did you mean \"{nearest}\"?")), "{told}");
    }
    let output = run(folder.path(), &["run", "--preset", "slow"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("quick, standard, full, classic"));
}

#[test]
fn a_misspelled_verb_is_met_by_one_that_people_use() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = |words: &[&str]| text(&run(folder.path(), words).stderr);
    for (typed, verb) in [("rnu", "run"), ("lod", "load"), ("snopo", "snoop"), ("amn", "man")] {
        assert!(told(&[typed]).contains(&format!("a similar subcommand exists: '{verb}'\n")), "{typed}");
    }
    assert!(told(&["lab", "rnu"]).contains("exists: 'run'"), "a verb of lab");
    // What osdyno executes itself is no suggestion.
    for typed in ["janitr", "mountd", "sesion", "backgroun", "load-worke", "unheard-of"] {
        assert!(!told(&[typed]).contains("similar"), "{typed}");
    }
    assert!(run_well(folder.path(), &["--help"]).contains("\n  man "), "man is listed");
}

#[test]
fn globs_and_variants_select() {
    let folder = tempfile::tempdir().expect("a folder");
    run_well(
        folder.path(),
        &["run", "socket/*hole", "cl*", "-n", "60", "--trials", "1", "--out", "some.osdyno"],
    );
    let (recording, _) = record::read(folder.path().join("some.osdyno")).expect("the run file");
    let mut names: Vec<String> =
        recording.trials.iter().map(|t| format!("{}/{}", t.order.workload, t.order.variant)).collect();
    names.sort();
    assert_eq!(names, ["clock/", "socket/v4-hole", "socket/v6-hole"]);
}

#[test]
fn a_group_is_named_like_a_workload() {
    let folder = tempfile::tempdir().expect("a folder");
    let short = ["-n", "8", "--trials", "1", "--budget", "5ms", "--out", "some.osdyno"];
    // Most of it does not fit the budget, which is reported; what counts is what it began with.
    let output = run(folder.path(), &[&["run", "kernel"][..], &short].concat());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let (recording, _) = record::read(folder.path().join("some.osdyno")).expect("the run file");
    let kernel = runner::GROUPS[0].workloads.iter();
    let named: Vec<&str> = recording.workloads.iter().map(|workload| workload.name.as_str()).collect();
    assert_eq!(named, kernel.map(|workload| workload.name).collect::<Vec<_>>());
    let output = run(folder.path(), &["run", "kernle"]);
    assert!(text(&output.stderr).contains("did you mean \"kernel\"?"), "{}", text(&output.stderr));
}

#[test]
fn a_server_of_others_is_not_loaded_without_permission() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &["run", "noop", "--server", "192.0.2.1:80"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("192.0.2.1:80 is neither this machine nor in a private network"));
    for wrong in [["--server", "example.org"], ["--server", "127.0.0.1='ssh"], ["--window", "0s"]] {
        let output = run(folder.path(), &[&["run", "noop"][..], &wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
    let arguments = ["run", "noop", "-n", "60", "--trials", "1", "--out", "a.osdyno", "--allow-public"];
    let output = run(folder.path(), &[&arguments[..], &["--server", "192.0.2.1:80"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("--server changes nothing"), "{}", text(&output.stderr));
}

#[test]
fn what_exists_is_never_overwritten_by_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    small_run(folder.path(), "a.osdyno");
    let before = fs::read(folder.path().join("a.osdyno")).expect("the run file");
    for arguments in [
        &["run", "noop", "--out", "a.osdyno"][..],
        &["report", "a.osdyno", "--out", "a.html"],
        &["export", "a.osdyno", "--format", "csv", "--out", "a.html"],
    ] {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(text(&output.stderr).contains("exists already"), "{}", text(&output.stderr));
    }
    assert_eq!(fs::read(folder.path().join("a.osdyno")).expect("the run file"), before);
    run_well(folder.path(), &["report", "a.osdyno", "--force"]);
}

/// The page that a run wrote is no reason to withhold the verdicts.
#[test]
fn a_report_beside_its_page_prints_the_verdicts_and_keeps_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    small_run(folder.path(), "a.osdyno");
    let page = folder.path().join("a.html");
    fs::write(&page, "mine").expect("a page");
    let output = run(folder.path(), &["report", "a.osdyno"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(" series: "), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("--force replaces it"), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(&page).expect("the page"), "mine");
    run_well(folder.path(), &["report", "a.osdyno", "--force"]);
    assert!(fs::read_to_string(&page).expect("the page").starts_with("<!DOCTYPE html>"));
}

/// A shell completes names of workloads and of what has a page, although other text may stand there.
#[test]
fn completions_have_the_names() {
    let folder = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish"] {
        let script = run_well(folder.path(), &["completions", shell]);
        for name in ["bind/v6", "fork-memory", "arch/epoll", "service/http"] {
            assert!(script.contains(name), "{shell} completes {name}");
        }
    }
}

/// Several at the same time: each page is whole, and nothing else is left.
#[test]
fn reports_of_one_run_do_not_meet_in_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    small_run(folder.path(), "a.osdyno");
    let page = fs::read(folder.path().join("a.html")).expect("the page");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                (0..4).for_each(|_| drop(run_well(folder.path(), &["report", "a.osdyno", "--force"])))
            });
        }
    });
    assert!(fs::read(folder.path().join("a.html")).expect("the page") == page, "the page is another");
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["a.html", "a.osdyno"]);
}

#[test]
fn verdicts_are_printed_whatever_becomes_of_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["run", "noop", "-n", "60", "--trials", "300", "--out", "a.osdyno"];
    let mut command = common::osdyno(folder.path(), &words);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().expect("osdyno starts");
    common::until("it measures", || folder.path().join("a.osdyno").exists());
    fs::create_dir(folder.path().join("a.html")).expect("a folder in the way");
    let measured = child.wait_with_output().expect("an end");
    let reported = run(folder.path(), &["report", "a.osdyno", "--force"]);
    for output in [measured, reported] {
        let (out, errors) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains("a.html") && out.contains("noop"), "{errors}\n{out}");
    }
}

#[test]
fn a_path_that_cannot_be_written_is_reported_before_anything_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &["run", "--out", "missing/folder/a.osdyno"]);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(told.contains("cannot write missing/folder/a.osdyno: No such file or directory"), "{told}");
    let output = run(folder.path(), &["run", "noop", "--scratch", "missing"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("choose another with --scratch"), "{}", text(&output.stderr));
    assert!(fs::read_dir(folder.path()).expect("a folder").flatten().all(|entry| !entry.path().is_dir()));
}

#[test]
fn unreadable_foreign_truncated_and_future_runs_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = small_run(folder.path(), "a.osdyno");
    let whole = fs::read(&path).expect("the run file");

    let output = run(folder.path(), &["report", "absent.osdyno"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot read absent.osdyno"), "{}", text(&output.stderr));

    fs::write(folder.path().join("foreign.osdyno"), "PNG or so").expect("a file");
    let output = run(folder.path(), &["report", "foreign.osdyno"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("is not an osdyno run"), "{}", text(&output.stderr));

    fs::write(folder.path().join("cut.osdyno"), &whole[..whole.len() * 2 / 3]).expect("a file");
    let output = run(folder.path(), &["report", "cut.osdyno"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("has no end"), "{}", text(&output.stderr));

    let lines = String::from("{\"type\":\"run\",\"schema\":99,\"from\":\"the future\"}\n");
    fs::write(folder.path().join("future.osdyno"), lines).expect("a file");
    let output = run(folder.path(), &["report", "future.osdyno"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("99"), "{}", text(&output.stderr));
}

/// The same numbers, so that nothing depends on what the machine does meanwhile: how often runs of one system
/// at different times are called different is a question for `selftest`.
#[test]
fn the_same_numbers_in_two_runs_are_not_called_different() {
    let folder = tempfile::tempdir().expect("a folder");
    small_run(folder.path(), "a.osdyno");
    fs::copy(folder.path().join("a.osdyno"), folder.path().join("b.osdyno")).expect("a copy");
    let output = run(folder.path(), &["compare", "a.osdyno", "b.osdyno", "--out", "ab.html"]);
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{}\n{printed}{}", output.status, text(&output.stderr));
    assert!(!printed.contains("faster") && !printed.contains("slower"), "{printed}");
    assert!(folder.path().join("ab.html").exists());
}

#[test]
fn runs_of_different_workload_versions_refuse_to_compare() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = small_run(folder.path(), "a.osdyno");
    let mut newer = Vec::new();
    for line in record::Reader::open(&path).expect("the run file") {
        let mut line = line.expect("a line");
        if let record::Line::Workload(workload) = &mut line {
            workload.version += 1;
        }
        if let record::Line::Trial(trial) = &mut line {
            trial.order.version += 1;
        }
        record::write_line(&line, &mut newer).expect("memory");
    }
    fs::write(folder.path().join("b.osdyno"), newer).expect("a file");
    let output = run(folder.path(), &["compare", "a.osdyno", "b.osdyno"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("version"), "{}", text(&output.stderr));
}

#[test]
fn every_form_of_export_holds_every_measurement() {
    let folder = tempfile::tempdir().expect("a folder");
    small_run(folder.path(), "a.osdyno");
    let csv = run_well(folder.path(), &["export", "a.osdyno", "--format", "csv"]);
    // noop up, socket up and close down, 300 values in each of 4 trials, each with two references after every
    // eighth operation, and the header.
    assert_eq!(csv.lines().count(), 3 * (300 + 2 * (300 / 8)) * 4 + 1);
    let json = run_well(folder.path(), &["export", "a.osdyno", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json.as_array().expect("an array").len(), 3 * (1 + 2) * 4);
    run_well(folder.path(), &["export", "a.osdyno", "--format", "parquet", "--out", "a.parquet"]);
    assert_eq!(&fs::read(folder.path().join("a.parquet")).expect("a file")[..4], b"PAR1");
    let output = run(folder.path(), &["export", "a.osdyno", "--format", "xls"]);
    assert_eq!(output.status.code(), Some(2));
}

/// The words of a page, without the marks of Markdown and wherever lines end.
fn plain(page: &str) -> String {
    page.replace(['*', '`'], "").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_workload_is_listed_and_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let listed = run_well(folder.path(), &["list"]);
    let json = run_well(folder.path(), &["list", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let offered = net::arch::ALL.len() + net::service::ALL.len() + net::client::ALL.len();
    assert_eq!(json.as_array().expect("an array").len(), runner::workloads().count() + offered);
    for architecture in net::arch::ALL {
        let page = run_well(folder.path(), &["explain", &format!("arch/{}", architecture.name)]);
        assert!(plain(&page) == plain(&architecture.page()) && page.len() > 200, "{page}");
    }
    for workload in runner::workloads() {
        assert!(
            listed.lines().any(|line| line.split_whitespace().next() == Some(workload.name)),
            "{}",
            workload.name
        );
        let page = run_well(folder.path(), &["explain", workload.name]);
        assert!(plain(&page).contains(&plain(&workload.page())), "{page}");
    }
}

#[test]
fn the_default_run_is_listed_with_its_series() {
    let folder = tempfile::tempdir().expect("a folder");
    let listed = run_well(folder.path(), &["list", "--default"]);
    for row in ["socket/v4 socket close", "ready/epoll (add) wait (remove)"] {
        let is_row = |line: &str| line.split_whitespace().eq(row.split(' '));
        assert!(listed.lines().any(is_row), "{listed}");
    }
    assert!(listed.contains("43 series are judged"), "{listed}");
    let json = run_well(folder.path(), &["list", "--default", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let workloads = json.as_array().expect("an array").iter();
    let variants = workloads.map(|workload| workload["variants"].as_array().expect("names").len().max(1));
    assert_eq!(variants.sum::<usize>(), runner::select(&[]).expect("a run").len());
}

#[test]
fn json_verdicts_are_json_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    small_run(folder.path(), "a.osdyno");
    let printed = run_well(folder.path(), &["report", "a.osdyno", "--format", "json", "--out", "b.html"]);
    let _: serde_json::Value = serde_json::from_str(&printed).expect("JSON alone");
    // A page is drawn only where one is named.
    fs::remove_file(folder.path().join("a.html")).expect("the page of the run");
    let again = run_well(folder.path(), &["report", "a.osdyno", "--format", "json"]);
    assert_eq!(again, printed);
    assert!(folder.path().join("b.html").exists() && !folder.path().join("a.html").exists());
}

#[test]
fn completions_know_the_verbs() {
    let folder = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish"] {
        assert!(run_well(folder.path(), &["completions", shell]).contains("explain"), "{shell}");
    }
}

#[test]
fn each_verb_has_a_manual_page() {
    let folder = tempfile::tempdir().expect("a folder");
    run_well(folder.path(), &["man", "."]);
    let page = fs::read_to_string(folder.path().join("osdyno-run.1")).expect("the page of run");
    assert!(page.contains("Measure this system") && page.contains("preset"), "{page}");
    assert!(folder.path().join("osdyno.1").exists());
    assert!(!folder.path().join("osdyno-janitor.1").exists(), "hidden verbs have no page");
    let output = run(folder.path(), &["man", "absent"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("error: cannot write absent"), "{}", text(&output.stderr));
}

/// Every page of `explain` has one for man(1), with the same text.
#[test]
fn each_workload_architecture_service_and_client_has_a_manual_page() {
    let folder = tempfile::tempdir().expect("a folder");
    run_well(folder.path(), &["man", "."]);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
    for workload in runner::workloads() {
        let page = read(&format!("osdyno-{}.7", workload.name));
        assert!(page.contains(".SS Measured") && page.contains("osdyno\\-run(1)"), "{page}");
        assert_eq!(page.contains(".SS Variant"), workload.variants.len() > 1, "{page}");
    }
    for architecture in net::arch::ALL {
        assert!(read(&format!("osdyno-arch-{}.7", architecture.name)).contains(".SH DESCRIPTION"));
    }
    for service in net::service::ALL {
        assert!(read(&format!("osdyno-service-{}.7", service.name)).contains(".SH DESCRIPTION"));
    }
    for client in net::client::ALL {
        assert!(read(&format!("osdyno-client-{}.7", client.name)).contains(".SH DESCRIPTION"));
    }
}

/// All pages of the manual are rendered, and man(1) has nothing to say of any.
#[test]
fn manual_pages_render_without_warnings() {
    let folder = tempfile::tempdir().expect("a folder");
    run_well(folder.path(), &["man", "."]);
    let render = |page: &std::path::Path| {
        let mut man = std::process::Command::new("man");
        man.args(["--warnings=w", "--local-file"]).arg(page);
        man.env("LC_ALL", "C.UTF-8").env("MANWIDTH", "80").env("MAN_KEEP_FORMATTING", "").output()
    };
    for entry in fs::read_dir(folder.path()).expect("the pages") {
        let path = entry.expect("a page").path();
        let output = match render(&path) {
            Ok(output) => output,
            Err(error) => return skipped!("man cannot be started: {error}"),
        };
        let (shown, complaint) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success() && complaint.is_empty(), "{}: {complaint}", path.display());
        assert!(shown.contains("NAME") && shown.contains("DESCRIPTION"), "{}: {shown}", path.display());
        assert!(!shown.contains("\\f"), "{shown}");
    }
}

/// How exactly it is kept is proved in simulated time by the tests of `runner`. Here the machine may delay a
/// trial between the decision to begin it and its beginning, but only one, whatever its speed.
#[test]
fn a_budget_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    run_well(
        folder.path(),
        &["run", "socket", "thread", "-n", "2000", "--budget", "3s", "--out", "a.osdyno"],
    );
    let (recording, _) = record::read(folder.path().join("a.osdyno")).expect("the run file");
    let begun: Vec<f64> = recording.trials.iter().map(|trial| trial.started_seconds).collect();
    let late = begun.iter().filter(|&&begun| begun > 3.0).count();
    assert!(begun.len() > 1 && late <= 1, "{begun:?}");
}

#[test]
fn measurements_are_never_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = small_run(folder.path(), "a.osdyno");
    small_run(folder.path(), "b.osdyno");
    let before = fs::read(&path).expect("the run file");
    for arguments in [
        &["report", "a.osdyno", "--out", "a.osdyno", "--force"][..],
        &["export", "a.osdyno", "--format", "csv", "--out", "./a.osdyno", "--force"],
        &["compare", "b.osdyno", "a.osdyno", "--out", "a.osdyno", "--force"],
    ] {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains("contains the measurements"), "{}", text(&output.stderr));
    }
    assert_eq!(fs::read(&path).expect("the run file"), before);
}

#[test]
fn what_the_budget_leaves_out_is_named_and_the_run_is_incomplete() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &["run", "noop", "bind", "--budget", "1ms", "--out", "a.osdyno"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("not measured"), "{}", text(&output.stdout));
}

#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_costs_neither_the_run_nor_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command =
        common::osdyno(folder.path(), &["run", "noop", "-n", "60", "--trials", "2", "--out", "a.osdyno"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("osdyno starts");
    drop((child.stdout.take(), child.stderr.take()));
    assert!(child.wait().expect("an end").success());
    assert!(folder.path().join("a.html").exists());
    let (recording, _) = record::read(folder.path().join("a.osdyno")).expect("the run file");
    assert_eq!(recording.trials.len(), 2);
}

#[test]
#[cfg(unix)]
fn names_that_are_not_utf8_are_reported_or_taken() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().expect("a folder");
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff.osdyno");
    let mut command = common::osdyno(folder.path(), &["run", "noop", "-n", "60", "--trials", "1", "--out"]);
    assert!(command.arg(odd).output().expect("osdyno starts").status.success());
    assert!(folder.path().join(odd).exists());
    let scratch = std::ffi::OsStr::from_bytes(b"scratch\xff");
    fs::create_dir(folder.path().join(scratch)).expect("a folder");
    let mut command = common::osdyno(folder.path(), &["run", "noop", "--out", "b.osdyno", "--scratch"]);
    let output = command.arg(scratch).output().expect("osdyno starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("its name is not UTF-8"), "{}", text(&output.stderr));
}
