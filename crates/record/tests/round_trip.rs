//! What was written is what is read.

mod sample;

use record::*;

#[test]
fn a_file_gives_back_its_lines() {
    let bytes = sample::bytes();
    let mut reader = Reader::new(bytes.as_slice(), "sample").unwrap();
    let lines: Vec<Line> = reader.by_ref().collect::<Result<_>>().unwrap();
    assert_eq!(lines, sample::lines());
    assert_eq!(reader.losses(), []);
}

/// Also the reference of the format: a change here is a change of the schema.
#[test]
fn the_lines_look_like_this() {
    let text: String = sample::lines().iter().map(|line| to_json_line(line) + "\n").collect();
    insta::assert_snapshot!(text);
}

#[test]
fn keys_in_another_order_and_fields_of_the_future_are_read() {
    let line = sample::series(1, "bind", Direction::Up, &[1e-6]);
    let text = to_json_line(&line).replacen(r#""type":"series","#, r#""colour":[{"a":null}],"#, 1);
    let text = text.strip_suffix('}').unwrap().to_owned() + r#","type" : "series"}"#;
    assert_eq!(parse_line(&text).unwrap(), line);
}

#[test]
fn unknown_and_malformed_lines_are_told_apart() {
    let error = |text| parse_line(text).unwrap_err();
    assert!(
        matches!(error(r#"{"type":"histogram","buckets":[]}"#), LineError::Unknown(kind) if kind == "histogram")
    );
    assert!(matches!(error(r#"{"type":"histogram","#), LineError::Malformed(_)));
    assert!(matches!(error(r#"{"type":"end"}"#), LineError::Malformed(_)));
    assert!(matches!(error(r#"{}"#), LineError::Malformed(_)));
    assert!(matches!(error("\u{0}"), LineError::Malformed(_)));
}

#[test]
fn values_that_are_no_numbers_are_refused_on_reading() {
    let text = to_json_line(&sample::series(1, "bind", Direction::Up, &[f64::NAN]));
    assert!(matches!(parse_line(&text), Err(LineError::Malformed(_))));
}

proptest::proptest! {
    #[test]
    fn every_finite_value_survives(values: Vec<f64>) {
        let line = sample::series(1, "bind", Direction::Up, &values);
        proptest::prop_assert_eq!(parse_line(&to_json_line(&line)).unwrap(), line);
    }
}
