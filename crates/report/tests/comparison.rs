//! Systems compared: what is said, what is refused, and why.

mod emulated;

use emulated::pinned::pin_answers;
use report::Style;
use report::compare::{Comparison, Refusal};

fn shown(compared: &Comparison, width: usize) -> String {
    let mut out = Vec::new();
    compared.write_table(&Style { width, ..Style::default() }, &mut out).expect("written");
    String::from_utf8(out).expect("text")
}

#[test]
fn two_kernels_and_three() {
    let [old, new, other] = emulated::three_kernels(20_000);
    let mut two = Comparison::of(&[("6.12.osdyno", &old), ("7.3.osdyno", &new)]).unwrap();
    assert_eq!(two.rows[3].answers[0].as_ref().unwrap().answer, stats::Answer::Slower);
    pin_answers(&mut two);
    insta::assert_snapshot!("two", shown(&two, 120));
    let mut three =
        Comparison::of(&[("6.12.osdyno", &old), ("7.3.osdyno", &new), ("bsd.osdyno", &other)]).unwrap();
    pin_answers(&mut three);
    insta::assert_snapshot!("three", shown(&three, 120));
    assert_eq!(three.judged(), (12, 14));

    let mut page = Vec::new();
    two.write_html(&mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.find("What differs") < page.find("Answers"), "differences stand first");
    assert_eq!(page.matches("class=\"ratio\" viewBox=\"0 0 360 26\"").count(), two.rows.len());

    let mut document = Vec::new();
    two.write_json(&mut document).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["series"][3]["answers"][0]["answer"], "slower");
}

#[test]
fn other_versions_are_refused() {
    let (mut one, mut two) = (emulated::mixed(300), emulated::mixed(300));
    one.truncate(1);
    two.truncate(1);
    two[0].version = 2;
    let record = |w: &[_]| emulated::recording(emulated::system("local", &[]), w, 10, 1);
    let refusal = Comparison::of(&[("a", &record(&one)), ("b", &record(&two))]).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "nothing can be compared: socket measures another thing in each: version 1 in a and version 2 in b"
    );
}

#[test]
fn one_system_is_not_a_comparison() {
    let mut workloads = emulated::mixed(300);
    workloads.truncate(1);
    let one = emulated::recording(emulated::system("local", &[]), &workloads, 10, 1);
    assert_eq!(Comparison::of(&[("a", &one)]).unwrap_err(), Refusal::Alone("a".into()));
    assert_eq!(Comparison::of(&[]).unwrap_err(), Refusal::NothingCommon);
}

#[test]
fn only_what_is_said_by_range_of_n_pays_for_looks() {
    let compared = |looks: [&[u32]; 2]| {
        let [mut old, mut new, _] = emulated::three_kernels(2_000);
        (old.run.looks, new.run.looks) = (looks[0].to_vec(), looks[1].to_vec());
        let mut compared = Comparison::of(&[("old", &old), ("new", &new)]).unwrap();
        compared.rows.swap_remove(0).answers.swap_remove(0).unwrap()
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
