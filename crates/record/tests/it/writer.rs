//! A run file is never overwritten, never torn, and never lost to a full disk.

use crate::sample;

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use record::*;

#[test]
fn an_existing_file_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.osdyno");
    fs::write(&path, "precious").unwrap();
    let error = Writer::create(&path, sample::run(), &[]).unwrap_err();
    assert!(matches!(error, Error::Exists { .. }));
    assert!(error.to_string().ends_with(
        "run.osdyno exists already, and a run is never overwritten: choose another name, or move the file"
    ));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let error = Writer::create("/nowhere/run.osdyno", sample::run(), &[]).unwrap_err();
    assert!(matches!(&error, Error::Create { path, .. } if path == Path::new("/nowhere/run.osdyno")));
}

#[test]
fn each_frame_can_be_read_as_soon_as_it_is_appended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.osdyno");
    let mut writer = Writer::create(&path, sample::run(), &sample::head()).unwrap();
    for (done, trial) in sample::trials().iter().enumerate() {
        writer.append(trial).unwrap();
        let (recording, losses) = read(&path).unwrap();
        assert_eq!((recording.trials.len(), losses), (done + 1, vec![]));
        assert!(recording.interrupted());
    }
    writer.finish(sample::end()).unwrap();
    assert!(!read(&path).unwrap().0.interrupted());
}

/// The limit on file size stands in for a full disk: it needs no rights and fails in the middle of a
/// write in the same way. It holds for a whole process, hence the second one.
#[cfg(unix)]
#[test]
fn a_full_disk_keeps_the_frames_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.osdyno");
    let status = Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 8; exec \"$0\" --exact --ignored --nocapture writer::fill_the_disk",
        ])
        .arg(env::current_exe().unwrap())
        .env("RECORD_TEST_FILE", &path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&status.stdout);
    assert!(status.status.success(), "{said}");
    let advice = "run.osdyno; raise the limit on file size (ulimit -f) and run again";
    assert!(said.contains("cannot write to ") && said.contains(advice), "{said}");

    let (recording, losses) = read(&path).unwrap();
    assert_eq!(losses, [], "the torn frame was cut off");
    assert_eq!(recording.trials.len(), 2, "the trial before, and the small one after");
    assert!(!recording.interrupted());
}

/// The second process of [`a_full_disk_keeps_the_frames_before`].
#[test]
#[ignore = "only with a limit on file size"]
fn fill_the_disk() {
    let path = env::var_os("RECORD_TEST_FILE").unwrap();
    let mut writer = Writer::create(path, sample::run(), &sample::head()).unwrap();
    let trials = sample::trials();
    writer.append(&trials[0]).unwrap();

    let mut random = (0..100_000_u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64);
    let values: Vec<f64> = random.by_ref().collect();
    let error = writer.append(&[sample::series(2, "bind", Direction::Up, &values)]).unwrap_err();
    assert!(matches!(error, Error::Write { .. }));
    println!("{error}");

    writer.append(&trials[2]).unwrap();
    writer.finish(sample::end()).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn no_file_is_left_when_not_even_the_head_could_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.osdyno");
    // Its output goes through a pipe: a file for the output of the tests would hit the limit too.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" --exact --ignored writer::fail_at_once"])
        .arg(env::current_exe().unwrap())
        .env("RECORD_TEST_FILE", &path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert!(!path.exists());
}

/// The second process of [`no_file_is_left_when_not_even_the_head_could_be_written`].
#[test]
#[ignore = "only with a limit on file size"]
fn fail_at_once() {
    let path = env::var_os("RECORD_TEST_FILE").unwrap();
    let error = Writer::create(path, sample::run(), &[]).unwrap_err();
    assert!(matches!(error, Error::Create { .. }));
}
