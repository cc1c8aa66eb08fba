//! Systems compared: claims, refusals, and their reasons.

use crate::emulated;

use emulated::compared::{one_run_of_three, pin_answers};
use emulated::scaled::{self, Speedup, law};
use judge::compare::{Comparison, Ranking, Refusal};
use record::Outcome;
use report::Style;
use report::document::terminal::Length;
use report::{compare, overview};

fn shown(compared: &Comparison, width: usize) -> String {
    let mut out = Vec::new();
    compare::document(compared)
        .write(Length::All, &Style { width, ..Style::default() }, &mut out)
        .expect("written");
    String::from_utf8(out).expect("text")
}

fn note(compared: &Comparison, row: &Ranking, other: usize) -> Option<String> {
    row.standings[other].note.as_ref().map(|note| compare::note(compared, other, note))
}

#[test]
fn two_kernels_and_three() {
    let [old, new, other] = emulated::three_kernels(20_000);
    let mut two = Comparison::new(&[("6.12.osdyno", &old), ("7.3.osdyno", &new)]).unwrap();
    assert_eq!(two.rankings[3].standings[1].answer().unwrap().answer, stats::Answer::Slower);
    pin_answers(&mut two);
    insta::assert_snapshot!("two", shown(&two, 120));
    let mut three =
        Comparison::new(&[("6.12.osdyno", &old), ("7.3.osdyno", &new), ("bsd.osdyno", &other)]).unwrap();
    pin_answers(&mut three);
    insta::assert_snapshot!("three", shown(&three, 120));
    assert_eq!(three.judged(), (12, 12));

    let mut page = Vec::new();
    compare::write_html(&two, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.find("What differs") < page.find("<h2>Costs</h2>"), "differences stand first");
    // A strip for every ratio, and one for their mean.
    assert_eq!(page.matches("class=\"ratio\" viewBox=\"0 0 360 26\"").count(), two.judged().0 + 1);

    let document = emulated::json(&report::compare::ComparisonAnswer::new(&two));
    assert_eq!(document["series"][3]["contenders"][1]["overall"]["answer"], "slower");
}

#[test]
fn on_one_screen() {
    let [old, new, other] = emulated::three_kernels(20_000);
    let mut two = Comparison::new(&[("6.12.osdyno", &old), ("7.3.osdyno", &new)]).unwrap();
    pin_answers(&mut two);
    let mut three =
        Comparison::new(&[("6.12.osdyno", &old), ("7.3.osdyno", &new), ("bsd.osdyno", &other)]).unwrap();
    pin_answers(&mut three);
    let screen = |compared: &Comparison, width: usize| {
        let mut out = Vec::new();
        overview::systems(compared)
            .write(overview::SCREEN, &Style { width, ..Style::default() }, &mut out)
            .expect("written");
        String::from_utf8(out).expect("text")
    };
    insta::assert_snapshot!("two_on_a_screen", screen(&two, 100));
    insta::assert_snapshot!("three_on_a_screen", screen(&three, 60));
    // Nothing is lost on the way: each series has its line or stands in a list.
    for ranking in &two.rankings {
        assert!(screen(&two, 100).contains(&ranking.label), "{}", ranking.label);
    }
}

/// One table has the cost of every operation on every system, with its interval, the best and the certain
/// differences marked, on a screen, in a page and in a document.
#[test]
fn every_system_has_its_cost() {
    let run = one_run_of_three(2_000);
    let compared = Comparison::new(&[("run", &run)]).unwrap();
    let mut out = Vec::new();
    overview::systems(&compared)
        .write(overview::SCREEN, &Style { width: 160, ..Style::default() }, &mut out)
        .expect("written");
    let text = String::from_utf8(out).expect("text");
    let heading = text.lines().find(|line| line.trim_start().starts_with("n ")).expect("a heading");
    assert!(["plain", "sandbox", "other"].iter().all(|name| heading.contains(name)), "{text}");
    let row = |name: &str| text.lines().find(|line| line.starts_with(&format!("{name}  "))).expect(name);
    // The third has cheaper sockets, and no mappings.
    let socket = row("socket");
    assert_eq!(socket.matches("µs").count(), 3, "{socket}");
    assert!(socket.trim_end().ends_with("µs * !") && socket.matches('*').count() == 1, "{socket}");
    assert_eq!(socket.matches('–').count(), 3, "each with its interval: {socket}");
    assert!(row("mmap").trim_end().ends_with('—'), "{}", row("mmap"));

    let mut page = Vec::new();
    let findings = judge::Findings::from_recording(&run);
    report::html::write(&run, &findings, Some(&compared), &mut page).expect("written");
    let page = String::from_utf8(page).expect("text");
    let table = page.split("class=\"verdicts costs\"").nth(1).expect("a table of costs");
    let table = table.split("</table>").next().expect("its end");
    assert_eq!(table.matches("<td class=\"num best\"").count(), compared.rankings.len(), "{table}");

    let document = emulated::json(&report::compare::ComparisonAnswer::new(&compared));
    let cost = &document["series"][0]["contenders"][2]["cost"];
    assert_eq!(cost["n_high"], 1_999, "{cost}");
    assert!(cost["high"]["low"].as_f64() < cost["high"]["high"].as_f64(), "{cost}");
}

/// Drift between two runs hides differences: the command that runs both at once stands first. Trials of one
/// run are beside each other already.
#[test]
fn two_runs_that_cannot_tell_name_the_command_that_can() {
    let run = |seed| {
        let mut one = emulated::mixed(300);
        one.truncate(2);
        emulated::recording(emulated::system("local", &[]), &one, 4, seed)
    };
    let screen = |compared: &Comparison| {
        let mut out = Vec::new();
        overview::systems(compared)
            .write(overview::SCREEN, &Style { width: 400, ..Style::default() }, &mut out)
            .expect("written");
        String::from_utf8(out).expect("text")
    };
    let (old, new) = (run(1), run(2));
    let compared = Comparison::new(&[("old.osdyno", &old), ("new.osdyno", &new)]).expect("two runs");
    let text = screen(&compared);
    let first = text.lines().next().expect("a line");
    assert!(first.contains("made one after the other") && first.contains("osdyno run"), "{text}");
    assert!(first.contains("--system old= --system new=COMMAND"), "{text}");
    let one = one_run_of_three(2_000);
    let paired = Comparison::new(&[("run", &one)]).expect("a run of three");
    assert!(!screen(&paired).contains("made one after the other"));
}

#[test]
fn a_run_of_several_systems_is_one_screen_and_one_page() {
    let run = one_run_of_three(2_000);
    let compared = Comparison::new(&[("run", &run)]).unwrap();
    let findings = judge::Findings::from_recording(&run);
    for width in (60..=160).step_by(20) {
        let mut out = Vec::new();
        let style = Style { width, ..Style::default() };
        overview::document(&findings, Some(&compared))
            .write(overview::SCREEN, &style, &mut out)
            .expect("written");
        let text = String::from_utf8(out).expect("text");
        assert!(text.lines().count() <= 38, "{width} columns, {}:\n{text}", text.lines().count());
        assert!(text.contains(" against "), "{text}");
    }
    let page = |compared: Option<&Comparison>| {
        let mut out = Vec::new();
        report::html::write(&run, &findings, compared, &mut out).expect("written");
        String::from_utf8(out).expect("text")
    };
    let page_of_all = page(Some(&compared));
    assert!(page_of_all.contains("<section id=\"compared\">") && page_of_all.contains("id=\"v-equivalent\""));
    let strips = page_of_all.matches("class=\"ratio\" viewBox=\"0 0 360 26\"").count();
    assert!(strips >= compared.judged().0, "{strips}");
    assert!(!page(None).contains("<section id=\"compared\">"));
}

/// Only systems on the same engine are compared: each engine has a reference of its own, and every form
/// says why there is no ratio across.
#[test]
fn each_engine_has_its_own_reference() {
    let run = |name: &str, engine: &[(&str, &str)], seed| {
        let mut one = emulated::mixed(300);
        one.truncate(1);
        emulated::recording(emulated::system(name, engine), &one, 10, seed)
    };
    // An older record has no engine, but names the emulator as its hypervisor.
    let (native, tcg) = (&[("machine.engine", "native")][..], &[("machine.engine", "QEMU TCG")][..]);
    let (here, old) = (run("here", native, 1), run("old", &[("machine.hypervisor", "QEMU TCG")], 2));
    let (new, there) = (run("new", tcg, 3), run("there", &[], 4));
    let all = [("here", &here), ("old", &old), ("new", &new), ("there", &there)];
    let compared = Comparison::new(&all).expect("two of each engine");
    assert_eq!(compared.references, [0, 1, 1, 0]);
    for ranking in &compared.rankings {
        let entries = &ranking.standings;
        assert_eq!(entries.iter().map(|entry| entry.reference).collect::<Vec<_>>(), [0, 1, 1, 0].map(Some));
        assert_eq!(
            entries.iter().map(|entry| entry.overall.is_some()).collect::<Vec<_>>(),
            [false, false, true, true]
        );
        assert!(entries.iter().all(|entry| entry.rank.is_some_and(|rank| rank.of == 2)), "{entries:?}");
        let said =
            "old runs on QEMU TCG, and here runs natively: only systems on the same engine are compared";
        assert_eq!(note(&compared, ranking, 1).as_deref(), Some(said));
    }
    assert_eq!(compared.judged().0, compared.judged().1, "a separate engine was not to be judged");
    assert_eq!(compared.means.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, true]);

    let table = shown(&compared, 120);
    assert!(table.contains("there against here; new against old"), "{table}");
    assert!(table.contains("against the first on the same engine"), "{table}");
    let mut screen = Vec::new();
    overview::systems(&compared)
        .write(overview::SCREEN, &Style { width: 100, ..Style::default() }, &mut screen)
        .expect("text");
    let screen = String::from_utf8(screen).expect("text");
    for text in [&table, &screen] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("only systems on the same engine are compared"), "{text}");
    }

    let refusal = Comparison::new(&[("here", &here), ("new", &new)]).expect_err("one of each");
    let said = compare::refusal(&refusal);
    assert!(said.contains("here runs natively and new runs on QEMU TCG, and only systems"), "{said}");
}

/// A table with a line for each would be pages of the same words.
#[test]
fn what_no_system_measured_is_said_in_one_sentence() {
    let run = |name: &str, seed| {
        let mut workloads = emulated::mixed(300);
        workloads[3].stopping = u32::MAX;
        workloads[3].outcome = Outcome::Unsupported { reason: "this system has no mmap".into() };
        emulated::recording(emulated::system(name, &[]), &workloads, 10, seed)
    };
    let (one, two) = (run("one", 1), run("two", 2));
    let compared = Comparison::new(&[("one", &one), ("two", &two)]).expect("a comparison");
    let nowhere = compared.rankings.iter().filter(|ranking| !ranking.is_measured()).count();
    let mut page = Vec::new();
    compare::write_html(&compared, &mut page).expect("a page");
    for text in [shown(&compared, 120), String::from_utf8(page).expect("text")] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(nowhere > 0 && text.contains("Without a number: mmap"), "{text}");
        assert_eq!(text.matches("unsupported: this system has no mmap").count(), 1, "{text}");
    }
}

#[test]
fn other_settings_are_refused() {
    let mut one = emulated::mixed(300);
    one.truncate(1);
    let record = || emulated::recording(emulated::system("local", &[]), &one, 10, 1);
    let (plain, mut set) = (record(), record());
    for trial in &mut set.trials {
        trial.order.settings.insert("arch".into(), "uring".into());
    }
    let refusal = Comparison::new(&[("a", &plain), ("b", &set)]).unwrap_err();
    assert_eq!(
        compare::refusal(&refusal),
        "nothing can be compared: socket has different settings: the defaults in a and arch=uring in b"
    );
    let same = [("a", &set), ("b", &set.clone())];
    assert!(Comparison::new(&same).is_ok_and(|compared| compared.refused.is_empty()));
}

#[test]
fn other_versions_are_refused() {
    let (mut one, mut two) = (emulated::mixed(300), emulated::mixed(300));
    one.truncate(1);
    two.truncate(1);
    two[0].version = 2;
    let record = |w: &[_]| emulated::recording(emulated::system("local", &[]), w, 10, 1);
    let refusal = Comparison::new(&[("a", &record(&one)), ("b", &record(&two))]).unwrap_err();
    assert_eq!(
        compare::refusal(&refusal),
        "nothing can be compared: socket has different versions: version 1 in a and version 2 in b"
    );
}

#[test]
fn one_system_is_not_a_comparison() {
    let mut workloads = emulated::mixed(300);
    workloads.truncate(1);
    let one = emulated::recording(emulated::system("local", &[]), &workloads, 10, 1);
    assert_eq!(Comparison::new(&[("a", &one)]).unwrap_err(), Refusal::Alone("a".into()));
    assert_eq!(Comparison::new(&[]).unwrap_err(), Refusal::NothingCommon(Vec::new()));
}

#[test]
fn only_what_is_said_by_range_of_n_pays_for_looks() {
    let compared = |looks: [&[u32]; 2]| {
        let [mut old, mut new, _] = emulated::three_kernels(2_000);
        (old.run.looks, new.run.looks) = (looks[0].to_vec(), looks[1].to_vec());
        let mut compared = Comparison::new(&[("old", &old), ("new", &new)]).unwrap();
        compared.rankings.swap_remove(0).standings.swap_remove(1).overall.unwrap().comparison
    };
    let width = |i: &stats::Interval| (i.high / i.low).ln();
    let fixed = compared([&[], &[]]);
    for looks in [[&[][..], &[10, 20, 40, 80, 160]], [&[10, 20, 40, 80, 160], &[10, 20]]] {
        let looked = compared(looks);
        assert_eq!((looked.answer, looked.ratio), (fixed.answer, fixed.ratio));
        assert_eq!(looked.trials_needed, fixed.trials_needed);
        assert_eq!(looked.blocks.len(), fixed.blocks.len());
        for (one, other) in looked.blocks.iter().zip(&fixed.blocks) {
            assert_eq!(one.2.value, other.2.value);
            assert!(width(&one.2) > 1.1 * width(&other.2), "{one:?} {other:?}");
        }
    }
}

/// One run of several systems is a paired comparison: a shift of both by a fifth hides nothing.
#[test]
fn one_run_of_three_systems() {
    let run = one_run_of_three(6_000);
    let mut compared = Comparison::new(&[("sandboxes.osdyno", &run)]).unwrap();
    let names: Vec<&str> = compared.contenders.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["plain", "sandbox", "other"]);
    let row = |compared: &Comparison, label: &str| {
        compared.rankings.iter().find(|row| row.label == label).cloned().expect("a row")
    };

    let fork = row(&compared, "fork");
    let answer = fork.standings[1].answer().unwrap();
    assert_eq!((answer.design, answer.answer), (stats::Design::Paired, stats::Answer::Slower));
    assert!(answer.ratio.low > 1.15 && answer.ratio.high < 1.3, "{:?}", answer.ratio);
    assert_eq!((answer.n_high, answer.ends), (1_999, (5_999, 1_999)));
    assert_eq!(
        note(&compared, &fork, 1),
        Some("stopped at 2\u{202f}000: EAGAIN in sandbox; compared to 1\u{202f}999".into())
    );

    let mmap = row(&compared, "mmap");
    assert!(mmap.standings[2].answer().is_none());
    assert_eq!(note(&compared, &mmap, 2), Some("unsupported: this system has no mmap in other".into()));
    assert_eq!(compared.judged(), (11, 12));

    let socket = row(&compared, "socket");
    let crossing = socket.standings[2].answer().unwrap().crossings.as_slice();
    assert!(matches!(crossing, [one] if one.faster_below && one.n_low < 2_067.0 && one.n_high > 2_067.0));
    assert_eq!(fork.standings[1].rank.map(|rank| (rank.best, rank.worst, rank.of)), Some((3, 3, 3)));
    assert!(socket.standings[1].answer().unwrap().floor > 0.019, "the noise floor is heeded");

    let document = emulated::json(&report::compare::ComparisonAnswer::new(&compared));
    let mmap =
        document["series"].as_array().unwrap().iter().find(|series| series["label"] == "mmap").unwrap();
    assert_eq!(mmap["contenders"][2]["overall"], serde_json::Value::Null);
    assert_eq!(mmap["contenders"][2]["note"], "unsupported: this system has no mmap in other");
    assert_eq!(document["noise_floors"][0]["share"], 0.02);
    assert_eq!(document["geometric_means"][0]["of"], 6);
    assert_eq!(document["series"][0]["contenders"][2]["overall"]["crossings"][0]["below"], "faster");
    assert_eq!(document["series"][0]["contenders"][2]["overall"]["paired"], true);

    pin_answers(&mut compared);
    insta::assert_snapshot!("paired", shown(&compared, 110));
}

/// The sentences about scalings of the first of these throughputs against the second, with so many workers.
fn scale_better(workers: u64, [old, new]: [Speedup; 2]) -> Vec<String> {
    let runs = [(1, old), (2, new)].map(|(seed, speedup)| scaled::run(&[("", speedup)], workers, seed));
    let compared = Comparison::new(&[("6.12", &runs[0]), ("7.3", &runs[1])]).unwrap();
    let shown = shown(&compared, 160);
    shown.lines().filter(|line| line.contains("scales better")).map(str::to_owned).collect()
}

#[test]
fn operations_that_scale_better_are_named_with_their_serial_share() {
    let (much, little): (Speedup, Speedup) = (|n| law(n, 0.2, 0.0), |n| law(n, 0.02, 0.0));
    for (throughputs, names) in [([much, little], "7.3 than on 6.12"), ([little, much], "6.12 than on 7.3")] {
        let sentences = scale_better(8, throughputs);
        let [sentence] = &sentences[..] else { panic!("{sentences:?}") };
        assert!(sentence.starts_with(&format!("cores-map scales better on {names}: 8 workers reach ×7.")));
        assert!(
            sentence.contains(", not ×3.") && sentence.contains("of the work is serial, not "),
            "{sentence}"
        );
    }
    assert_eq!(scale_better(8, [much, much]), [""; 0]);
    let two = scale_better(2, [|n| law(n, 0.5, 0.0), |n| law(n, 0.05, 0.0)]);
    assert!(two[0].contains(": 2 workers reach ×1.9") && two[0].contains("each waits "), "{two:?}");
}

/// One is better in the mean of all numbers of workers, and worse at the largest.
#[test]
fn a_scaling_is_better_at_a_number_where_that_is_certain() {
    let sentences = scale_better(8, [|n| law(n, 0.15, 0.0), |n| law(n, 0.0, 0.02)]);
    let [sentence] = &sentences[..] else { panic!("{sentences:?}") };
    let (_, words) = sentence.split_once(" workers reach ×").expect("numbers");
    let (better, worse) = words.split_once(", not ×").expect("two");
    let value = |words: &str| words.split(' ').next().and_then(|word| word.parse::<f64>().ok());
    assert!(value(better) > value(worse), "{sentence}");
}
