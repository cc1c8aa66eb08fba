//! A damaged file is read as far as it is whole, and a foreign one is refused.

use crate::sample;

use record::*;

fn read_all(bytes: &[u8]) -> Result<(Vec<Line>, Vec<Loss>)> {
    let mut reader = Reader::new(bytes, "sample.osdyno")?;
    let lines = reader.by_ref().collect::<Result<_>>()?;
    Ok((lines, reader.into_losses()))
}

fn refusal(bytes: &[u8]) -> String {
    read_all(bytes).unwrap_err().to_string()
}

/// Where the frames of a sound file begin, and its end.
fn frames(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    while starts[starts.len() - 1] < bytes.len() {
        let start = starts[starts.len() - 1];
        starts.push(start + zstd::zstd_safe::find_frame_compressed_size(&bytes[start..]).unwrap());
    }
    starts
}

#[test]
fn cut_at_any_byte_it_gives_a_prefix_and_says_so() {
    let bytes = sample::bytes();
    let starts = frames(&bytes);
    let all = sample::lines();
    for cut in 0..bytes.len() {
        match read_all(&bytes[..cut]) {
            Ok((lines, losses)) => {
                assert!(all.starts_with(&lines), "cut at {cut}");
                let between_frames = starts.contains(&cut);
                let said: Vec<_> = losses.iter().map(|loss| &loss.reason).collect();
                assert_eq!(
                    said,
                    if between_frames { vec![] } else { vec![&Reason::CutShort] },
                    "cut at {cut}"
                );
            }
            Err(error) => {
                assert!(matches!(error, Error::NotARun { .. }), "cut at {cut}: {error}");
                assert!(cut < starts[1], "cut at {cut}: {error}");
            }
        }
    }
}

#[test]
fn a_damaged_frame_costs_no_other() {
    let bytes = sample::bytes();
    let starts = frames(&bytes);
    let second_trial = starts[2]..starts[3];
    let spared: Vec<Line> = {
        let mut lines = sample::lines();
        lines.drain(7..10);
        lines
    };
    for at in second_trial.clone() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0xFF;
        let (lines, losses) = read_all(&bytes).unwrap();
        assert_eq!(lines, spared, "byte {at}");
        assert_eq!(losses.len(), 1, "byte {at}: {losses:?}");
        assert_eq!(losses[0].offset, second_trial.start as u64, "byte {at}");
    }
}

#[test]
fn garbage_behind_and_between_is_skipped_and_counted() {
    let mut bytes = sample::bytes();
    let between = frames(&bytes)[2];
    bytes.splice(between..between, *b"garbage");
    bytes.extend([0; 100]);
    let (lines, losses) = read_all(&bytes).unwrap();
    assert_eq!(lines, sample::lines());
    let foreign = |offset: usize, count| Loss { offset: offset as u64, count, reason: Reason::Foreign };
    assert_eq!(losses, [foreign(between, 7), foreign(bytes.len() - 100, 100)]);
    assert_eq!(losses[0].to_string(), format!("at byte {between}: bytes that belong to no frame, 7 in all"));
}

#[test]
fn a_foreign_file_is_refused() {
    let refusals = [
        refusal(b""),
        refusal(b"\x7FELF"),
        refusal(b"n,seconds\n1,2\n"),
        refusal(b"{\"name\":\"package.json\"}\n"),
        refusal(&zstd::encode_all(&b"a tarball"[..], 3).unwrap()),
        refusal(&zstd::encode_all(&b""[..], 3).unwrap()),
        refusal(&sample::bytes()[..50]),
    ];
    insta::assert_snapshot!(refusals.join("\n"), @r"
    sample.osdyno is not an osdyno run: it is empty
    sample.osdyno is not an osdyno run: it begins neither with a zstd frame nor with a line of JSON
    sample.osdyno is not an osdyno run: it begins neither with a zstd frame nor with a line of JSON
    sample.osdyno is not an osdyno run: its first line is not a run line
    sample.osdyno is not an osdyno run: its first line is not a run line
    sample.osdyno is not an osdyno run: its first line is not a run line
    sample.osdyno is not an osdyno run: its beginning is lost: the last frame is cut short
    ");
}

#[test]
fn a_newer_schema_is_refused_and_says_what_reads_it() {
    let newer = r#"{"type":"run","schema":7,"tool":{"name":"osdyno","version":"4.2.0"},"novel":{}}"#;
    insta::assert_snapshot!(refusal(newer.as_bytes()), @"sample.osdyno has schema 7, and this osdyno reads up to 2: use the osdyno that wrote it (4.2.0), or a newer one");
    let strange = r#"{"type":"run","schema":7}"#;
    insta::assert_snapshot!(refusal(strange.as_bytes()), @"sample.osdyno has schema 7, and this osdyno reads up to 2: use the osdyno that wrote it (unknown version), or a newer one");
}

#[test]
fn an_older_schema_is_accepted() {
    for older in 0..SCHEMA {
        let run = sample::json(&Line::Run(Run { schema: older, ..sample::run() }));
        let expected = (vec![Line::Run(sample::run())], vec![]);
        assert_eq!(read_all(run.as_bytes()).unwrap(), expected, "as one of today");
    }
}

#[test]
fn plain_lines_are_read_as_well() {
    let text: String = sample::lines().iter().map(|line| sample::json(line) + "\n").collect();
    assert_eq!(read_all(text.as_bytes()).unwrap(), (sample::lines(), vec![]));
    // As an editor of another system would save it, and without the last line feed.
    let text = text.replace('\n', "\r\n");
    assert_eq!(read_all(text.trim_end().as_bytes()).unwrap(), (sample::lines(), vec![]));
}

#[test]
fn lines_that_cannot_be_read_are_skipped_and_counted() {
    let mut text = sample::json(&Line::Run(sample::run()));
    let offset = text.len() as u64 + 1;
    text += "\n{\"type\":\"phase\"}\n\n{\"type\":\"phase\"}\n{\"type\":\"end\"}\n";
    text += &sample::json(&Line::End(sample::end()));
    let (lines, losses) = read_all(text.as_bytes()).unwrap();
    assert_eq!(lines.len(), 2);
    assert_eq!(losses[0], Loss { offset, count: 2, reason: Reason::Unknown("phase".into()) });
    assert_eq!(
        losses[1].to_string(),
        "at byte 308: unreadable line (not a line of a record: missing field `status` at line 1 column 14)"
    );
}

/// Readers look values up by n: a series out of order is not read, rather than misread.
#[test]
fn a_series_that_breaks_a_rule_is_named_with_the_rule() {
    let read = |change: fn(&mut Series), direction| {
        let mut line = sample::series(2, "bind", direction, &[1e-6, 2e-6, 3e-6, 4e-6]);
        let Line::Series(series) = &mut line else { panic!("a series") };
        change(series);
        let text = [Line::Run(sample::run()), line, Line::End(sample::end())].map(|line| sample::json(&line));
        let (lines, losses) = read_all(text.join("\n").as_bytes()).unwrap();
        assert_eq!(lines.len(), 3 - losses.len(), "{losses:?}");
        losses.iter().map(|loss| loss.reason.to_string()).collect::<String>()
    };
    let told = [
        read(|series| list(series, &[500, 10, 100, 1]), Direction::Up),
        read(|series| list(series, &[9, 8, 8, 12]), Direction::Down),
        read(|series| list(series, &[1, 2, 3]), Direction::Up),
        read(|series| list(series, &[1, 2, 3, u64::MAX]), Direction::Up),
        read(|series| series.n_step = -1, Direction::Up),
        read(|series| series.n_step = 1, Direction::Down),
        read(|series| series.n_first = 2, Direction::Down),
        read(|series| (series.n_first, series.n_step) = (i64::MAX as u64 - 8, 3), Direction::Up),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    line that breaks the format (series "bind" up of trial 2 of bind/v6 on local: its sizes go from 500 to 10 and must not fall)
    line that breaks the format (series "bind" down of trial 2 of bind/v6 on local: its sizes go from 8 to 12 and must not rise)
    line that breaks the format (series "bind" up of trial 2 of bind/v6 on local: 3 sizes for 4 values; each value needs one)
    line that breaks the format (series "bind" up of trial 2 of bind/v6 on local: it has a value at n = 18446744073709551615; n must be from 0 to 9223372036854775807)
    line that breaks the format (series "bind" up of trial 2 of bind/v6 on local: its n_step is -1, against its direction, up)
    line that breaks the format (series "bind" down of trial 2 of bind/v6 on local: its n_step is 1, against its direction, down)
    line that breaks the format (series "bind" down of trial 2 of bind/v6 on local: it has a value at n = -1; n must be from 0 to 9223372036854775807)
    line that breaks the format (series "bind" up of trial 2 of bind/v6 on local: it has a value at n = 9223372036854775808; n must be from 0 to 9223372036854775807)
    "#);
    for sound in [
        read(|series| list(series, &[1, 1, 2, 500]), Direction::Up),
        read(|series| list(series, &[500, 2, 2, 0]), Direction::Down),
        read(|series| series.n_first = 3, Direction::Down),
        read(|series| (series.n_first, series.n_step) = (i64::MAX as u64 - 9, 3), Direction::Up),
    ] {
        assert_eq!(sound, "");
    }
}

fn list(series: &mut Series, sizes: &[u64]) {
    (series.n_step, series.sizes) = (0, sizes.to_vec());
}

#[test]
fn a_profile_that_breaks_a_rule_is_not_read() {
    let read = |low: NRange, place: u32| {
        let window = |range| ProfileWindow {
            range,
            operations: 1,
            seconds: 1.0,
            samples: 1,
            counts: Vec::new(),
            in_use: Vec::new(),
        };
        let profile = Profile {
            of: TrialKey {
                system: "local".into(),
                workload: "bind".into(),
                variant: String::new(),
                trial: 1,
            },
            name: "bind".into(),
            direction: Direction::Up,
            event: "cpu-clock".into(),
            period_seconds: 1e-3,
            low: window(low),
            high: window(NRange { n_low: 8, n_high: 9 }),
            frames: vec![Frame { function: "inet_bind".into(), module: "kernel".into(), ..Frame::default() }],
            stacks: vec![Stack { frames: vec![place], samples: [1, 1] }],
            lost: 0,
            nameless: String::new(),
            uncounted: String::new(),
            unsampled: String::new(),
        };
        parse_line(&sample::json(&Line::Profile(profile))).map(drop).map_err(|error| error.to_string())
    };
    let range = |n_low, n_high| NRange { n_low, n_high };
    assert_eq!(read(range(1, 1), 0), Ok(()));
    let told = [read(range(2, 1), 0), read(range(1, 2), 1)].map(|read| read.unwrap_err());
    insta::assert_snapshot!(told.join("\n"), @r#"
    profile of "bind" up of trial 1 of bind on local: its n_low, 2, exceeds its n_high, 1
    profile of "bind" up of trial 1 of bind on local: a stack names function 1 of 1, counted from 0
    "#);
}

#[test]
fn only_a_series_may_be_long() {
    let long = format!(r#","novel":[{}0]}}"#, "0,".repeat(LINE_BYTES_MAX));
    let lengthen = |line: Line| sample::json(&line).strip_suffix('}').unwrap().to_owned() + &long;
    let series = sample::series(1, "bind", Direction::Up, &[1e-6]);
    assert_eq!(parse_line(&lengthen(series.clone())).unwrap(), series);
    let refusal = parse_line(&lengthen(Line::End(sample::end()))).unwrap_err();
    assert!(matches!(refusal, LineError::TooLong(_)), "{refusal}");
}

#[test]
fn a_second_run_is_not_mixed_in() {
    let bytes = sample::bytes();
    let (lines, losses) = read_all(&[bytes.clone(), bytes.clone()].concat()).unwrap();
    assert_eq!(lines, sample::lines());
    assert_eq!(losses, [Loss { offset: bytes.len() as u64, count: 1, reason: Reason::SecondRun }]);
}

#[test]
fn a_frame_that_unpacks_to_more_than_a_frame_may_hold_is_dropped() {
    let bomb = {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        std::io::copy(
            &mut std::io::Read::take(std::io::repeat(b' '), FRAME_BYTES_MAX as u64 + 1),
            &mut encoder,
        )
        .unwrap();
        encoder.finish().unwrap()
    };
    let bytes = sample::bytes();
    let (lines, losses) = read_all(&[bytes.clone(), bomb].concat()).unwrap();
    assert_eq!(lines, sample::lines());
    assert_eq!(losses, [Loss { offset: bytes.len() as u64, count: 1, reason: Reason::TooLarge }]);
}

/// A hundred frames, each of a size that is accepted, of a few kilobytes in the file.
#[test]
fn a_file_that_unpacks_to_gigabytes_is_read_as_far_as_it_is_plausible() {
    let line = format!("{}\n", " ".repeat(60 << 20));
    let frame = zstd::bulk::compress(line.as_bytes(), 3).unwrap();
    let mut bytes = sample::bytes();
    let whole = bytes.len();
    for _ in 0..100 {
        bytes.extend_from_slice(&frame);
    }
    assert!(bytes.len() < 1 << 20);
    let (lines, losses) = read_all(&bytes).unwrap();
    assert_eq!(lines, sample::lines(), "the lines before are kept");
    let [Loss { offset, count: 1, reason: Reason::Inflated }] = losses[..] else { panic!("{losses:?}") };
    let read = (offset as usize - whole) / frame.len();
    assert!((1..10).contains(&read), "{read} frames were read");
}

/// The flag is a bit of the byte behind the magic.
#[test]
fn a_frame_whose_checksum_is_switched_off_is_dropped() {
    let whole = sample::bytes();
    let starts = frames(&whole);
    for &frame in &starts[1..starts.len() - 1] {
        let mut bytes = whole.clone();
        bytes[frame + 4] ^= 1 << 2;
        let (lines, losses) = read_all(&bytes).unwrap();
        assert!(lines.len() < sample::lines().len());
        let reason = Reason::Damaged("its checksum is lost".into());
        assert_eq!(losses, [Loss { offset: frame as u64, count: 1, reason }]);
    }
}

#[test]
fn frames_that_others_packed_without_checksums_are_read() {
    let text = zstd::decode_all(sample::bytes().as_slice()).unwrap();
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let bytes: Vec<u8> = lines.flat_map(|line| zstd::encode_all(line, 3).unwrap()).collect();
    assert_eq!(read_all(&bytes).unwrap(), (sample::lines(), Vec::new()));
}

#[test]
fn too_much_damage_ends_the_reading() {
    let mut bytes = sample::bytes();
    for _ in 0..LOSSES_MAX * 2 {
        bytes.extend(zstd::encode_all(&b""[..], 3).unwrap());
        bytes.push(0);
    }
    let (_, losses) = read_all(&bytes).unwrap();
    assert_eq!(losses.len(), LOSSES_MAX + 1);
    assert_eq!(losses[LOSSES_MAX].reason, Reason::GaveUp);
}

proptest::proptest! {
    /// Checksums hold: whatever is flipped, every line that is read is one that was written, in order.
    #[test]
    fn flipped_bits_never_invent_a_line(flips in proptest::collection::vec((0_usize..4096, 0_u8..8), 1..8)) {
        let mut bytes = sample::bytes();
        for (at, bit) in flips {
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
        }
        if let Ok((lines, _)) = read_all(&bytes) {
            let all = sample::lines();
            let mut written = all.iter();
            proptest::prop_assert!(lines.iter().all(|line| written.any(|other| other == line)));
        }
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes: Vec<u8>, packed: bool) {
        let bytes = if packed { zstd::encode_all(bytes.as_slice(), 1).unwrap() } else { bytes };
        let _ = read_all(&bytes);
        let _ = read_all(&[sample::bytes(), bytes].concat());
    }
}
