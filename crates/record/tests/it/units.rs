//! Tables of the units, and properties of every text and every number.

use std::time::Duration;

use proptest::prelude::*;
use record::units::*;

const QUANTITIES: [Quantity; 6] = [
    Quantity::Count,
    Quantity::Size,
    Quantity::Share,
    Quantity::ByteRate,
    Quantity::BitRate,
    Quantity::EventRate,
];

#[test]
fn prefixes_are_those_of_si_and_iec() {
    let table = [
        ("", 1.0),
        ("k", 1e3),
        ("K", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
    ];
    for (prefix, factor) in table {
        let read = |unit: &str, quantity| parse(&format!("3{prefix}{unit}"), quantity);
        assert_eq!(read("", Quantity::Count), Ok(3.0 * factor), "{prefix}");
        assert_eq!(read("B", Quantity::Size), Ok(3.0 * factor), "{prefix}");
        assert_eq!(read("", Quantity::Size).ok(), (!prefix.is_empty()).then_some(3.0 * factor), "{prefix}");
        assert_eq!(read("B/s", Quantity::ByteRate), Ok(3.0 * factor), "{prefix}");
        assert_eq!(read("bit", Quantity::BitRate), Ok(3.0 * factor), "{prefix}");
        assert_eq!(read("bit/s", Quantity::BitRate), Ok(3.0 * factor), "{prefix}");
        assert_eq!(read("B/s", Quantity::BitRate), Ok(24.0 * factor), "{prefix}");
        assert_eq!(read("/s", Quantity::EventRate), Ok(3.0 * factor), "{prefix}");
        assert_eq!(read("", Quantity::EventRate), Ok(3.0 * factor), "{prefix}");
    }
    assert_eq!(parse("100mbit", Quantity::BitRate), Ok(1e8), "as tc(8) and docs write it");
    assert_eq!(parse("0.3G", Quantity::Count), Ok(3e8), "not 299999999.99999994");
    assert_eq!(parse("2.5e3k", Quantity::Count), Ok(2_500_000.0));
    assert_eq!(parse("12.5%", Quantity::Share), Ok(0.125));
}

#[test]
fn an_error_has_the_text_the_fault_and_an_example_that_works() {
    for (text, quantity, fault) in [
        ("", Quantity::Share, "a number and its unit"),
        ("ms", Quantity::Size, "a number and its unit"),
        ("-5%", Quantity::Share, "a number and its unit"),
        ("5.%", Quantity::Share, "a number and its unit"),
        (".5%", Quantity::Share, "a number and its unit"),
        ("1.2.3%", Quantity::Share, "\".3%\" is no unit"),
        ("1e%", Quantity::Share, "\"e%\" is no unit"),
        ("50", Quantity::Share, "it has no unit"),
        ("50", Quantity::Size, "it has no unit"),
        ("50 MB", Quantity::Size, "\" MB\" is no unit"),
        ("50mb", Quantity::Size, "a B is a byte"),
        ("50m", Quantity::Size, "\"m\" is no unit here"),
        ("5m", Quantity::Count, "k, M, G, T are powers of 1000"),
        ("100mbps", Quantity::BitRate, "write mbit or mB/s"),
        ("20MB", Quantity::ByteRate, "a B is a byte, as in MB and MB/s"),
        ("1kk", Quantity::Count, "\"kk\" is no unit"),
        ("inf", Quantity::Count, "write a number, such as 500 or 20k"),
        ("0x10", Quantity::Count, "\"x10\" is no unit"),
        ("1e999", Quantity::Count, "it is too large"),
        ("1e99999999999", Quantity::Count, "write a number, such as"),
    ] {
        let error = parse(text, quantity).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot read \"{text}\": ")), "{error}");
        assert!(error.contains(fault), "{text}: {error}");
    }
    for quantity in QUANTITIES {
        let error = parse("much", quantity).unwrap_err().to_string();
        let (_, examples) = error.split_once("such as ").unwrap();
        assert!(examples.split(" or ").all(|example| parse(example, quantity).is_ok()), "{error}");
    }
    let long = Unreadable::new(&"é".repeat(500), "").to_string();
    assert!(long.chars().count() < 100, "{long}");
}

#[test]
fn equal_numbers_are_equal_texts() {
    for (value, quantity, text) in [
        (0.0, Quantity::ByteRate, "0B/s"),
        (0.5, Quantity::Share, "50%"),
        (0.125, Quantity::Share, "12.5%"),
        (1.0, Quantity::Share, "100%"),
        (2e9, Quantity::Size, "2GB"),
        (2.0 * 1024.0 * 1024.0 * 1024.0, Quantity::Size, "2GiB"),
        (65_536.0, Quantity::Size, "64KiB"),
        (1000.0, Quantity::Size, "1kB"),
        (1.5e6, Quantity::ByteRate, "1.5MB/s"),
        (1e8, Quantity::BitRate, "100mbit"),
        (200.0, Quantity::EventRate, "200/s"),
        (1e6, Quantity::EventRate, "1M/s"),
        (1e15, Quantity::Count, "1000T"),
        (0.001, Quantity::Count, "0.001"),
    ] {
        assert_eq!(written(value, quantity), text);
    }
}

#[test]
fn whole_numbers_are_counts() {
    assert_eq!((count("20k"), count("1e4"), count("64Ki")), (Ok(20_000), Ok(10_000), Ok(65_536)));
    assert_eq!((count("2.5K"), count("007")), (Ok(2500), Ok(7)));
    for wrong in ["1.5", "-1", "+1", "", "k", "1e-3", "1e17", "1m", "inf", "nan"] {
        assert!(count(wrong).is_err(), "{wrong}");
    }
    let from_1 = counts::<u64>(1..=COUNT_MAX);
    assert_eq!(from_1("0").unwrap_err().to_string(), "cannot read \"0\": the least is 1; write 500");
    let few = counts::<u32>(1..=100);
    let error = few("1k").unwrap_err().to_string();
    assert_eq!(error, "cannot read \"1k\": from 1 to 100 is possible; write 1");
    assert_eq!(few("0.1k"), Ok(100));
    assert!(counts::<u8>(0..=COUNT_MAX)("256").is_err());
}

#[test]
fn shares_are_of_1_or_of_a_hundred() {
    assert_eq!((share("0.05"), share("5%"), share("1"), share("0")), (Ok(0.05), Ok(0.05), Ok(1.0), Ok(0.0)));
    assert_eq!((percent("5"), percent("5%"), percent("0.5")), (Ok(0.05), Ok(0.05), Ok(0.005)));
    for wrong in ["5", "101%", "-0.1", "NaN", "", "%", "5%%"] {
        assert!(share(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn times_have_units() {
    let ms = |ms| Ok(Duration::from_millis(ms));
    for (text, expected) in [("500ms", 500), ("1.5s", 1500), ("2m", 120_000), ("1h 30m", 5_400_000)] {
        assert_eq!(time(text), ms(expected));
        assert_eq!(time_or_seconds(text), ms(expected));
    }
    assert_eq!((time("0"), time_or_seconds("10"), time_or_seconds("0.5")), (ms(0), ms(10_000), ms(500)));
    assert_eq!((seconds("2ms"), seconds("51.5ns"), seconds("2µs")), (Ok(0.002), Ok(51.5e-9), Ok(2e-6)));
    for (text, fault) in [
        ("10", "it has no unit; write"),
        ("10x", "\"x\" is no unit of time"),
        ("5M", "a minute is m"),
        ("soon", "a number and its unit"),
        ("-1s", "a number and its unit"),
        ("1e3ms", "no unit of time"),
        ("0.1ns", "fractions of a nanosecond"),
        // humantime 2.4.0 panics at this.
        ("18446744073709551615s 999999999ns 1ns", "it is too long"),
    ] {
        let error = time(text).unwrap_err().to_string();
        assert!(error.contains(fault) && error.contains("1h 30m"), "{text}: {error}");
    }
    assert!(time_or_seconds("1e300").is_err() && seconds("2").is_err());
    assert_eq!(written_time(Duration::from_secs(366 * 86_400)), "366d");
    assert_eq!(written_time(Duration::from_millis(90_500)), "1m 30s 500ms");
}

/// Texts that nearly are numbers with units, and any others.
fn texts() -> impl Strategy<Value = String> {
    let near = "[0-9]{0,22}[.]?[0-9]{0,3}(e[+-]?[0-9]{1,12})?[kKMGTi]{0,2}(B|bit|%|/s|B/s|bps)?";
    let times = "([0-9]{1,20}[.]?[0-9]{0,12} ?(ns|us|ms|s|m|h|d|y|M|weeks)? ?){1,6}";
    prop_oneof![near, times, "\\PC{0,24}", any::<String>()]
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in texts()) {
        for quantity in QUANTITIES {
            if let Ok(value) = parse(&text, quantity) {
                prop_assert!(value.is_finite() && value >= 0.0);
                prop_assert_eq!(parse(&written(value, quantity), quantity), Ok(value));
            }
        }
        for read in [count(&text), counts(3..=70)(&text)] {
            prop_assert!(read.is_err() || read.is_ok_and(|count| count <= COUNT_MAX));
        }
        for read in [share, percent, seconds] {
            prop_assert!(read(&text).is_ok_and(|value| value >= 0.0) || read(&text).is_err());
        }
        for time in [time(&text), time_or_seconds(&text)].into_iter().flatten() {
            let _ = written_time(time);
        }
    }

    #[test]
    fn every_number_is_read_as_it_was_printed(bits in 0..f64::INFINITY.to_bits(), whole in 0..=COUNT_MAX) {
        for value in [f64::from_bits(bits), whole as f64, whole as f64 * 1e-6] {
            for quantity in QUANTITIES {
                let text = written(value, quantity);
                prop_assert_eq!(parse(&text, quantity), Ok(value), "{}", text);
            }
        }
        prop_assert_eq!(count(&written(whole as f64, Quantity::Count)), Ok(whole));
    }

    #[test]
    fn every_time_is_read_as_it_was_printed(seconds in 0..1_u64 << 40, nanos in 0..1_000_000_000_u32) {
        for time in [Duration::new(seconds, nanos), Duration::new(0, nanos), Duration::from_secs(seconds)] {
            let text = written_time(time);
            prop_assert_eq!(record::units::time(&text), Ok(time), "{}", text);
        }
    }
}
