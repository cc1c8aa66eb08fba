//! Other kernels as systems of a run: a real one where QEMU and a kernel are there, and the faults of an
//! emulator that a script plays.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{
    expect_nothing_left, osdyno, outcomes, processes_below, recording, run, signal, text, until,
};
use record::Outcome;

/// Without KVM: to try it takes ten seconds where it does not work.
const TINY: [&str; 10] =
    ["noop", "socket/v4", "-n", "60", "--trials", "3", "--seed", "5", "--out=a.osdyno", "--accel=tcg"];

/// What looks like a kernel to everything but a machine.
fn image(folder: &Path) -> String {
    let mut image = vec![0; 0x400];
    image[0x1FE..0x200].copy_from_slice(&[0x55, 0xAA]);
    image[0x202..0x206].copy_from_slice(b"HdrS");
    let path = folder.join("vmlinuz");
    fs::write(&path, image).expect("a file");
    format!("--kernel=guest={}", path.display())
}

/// One that loses boots of guests with several processors.
const QEMU: &str = "QEMU emulator version 7.2.22";

/// An emulator that does this.
fn emulator(folder: &Path, script: &str) -> String {
    let path = folder.join("emulator");
    let whole = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo {QEMU} && exit\n{script}\n");
    fs::write(&path, whole).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("an executable file");
    format!("--qemu={}", path.display())
}

#[test]
fn what_cannot_be_booted_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let (image, emulator) = (image(folder.path()), emulator(folder.path(), ""));
    fs::write(folder.path().join("text"), "not a kernel").expect("a file");
    for (words, code, word) in [
        (vec!["--kernel", "/nonexistent/vmlinuz", &emulator], 1, "cannot read the kernel /nonexistent"),
        (vec!["--kernel", "text", &emulator], 1, "no kernel that can be booted"),
        (vec![&image, "--qemu=/nonexistent/qemu"], 1, "install QEMU"),
        (vec![&image, "--qemu=false"], 1, "cannot start false"),
        (vec![&image, "--qemu='"], 2, "invalid --qemu"),
        (vec![&image, &emulator, "--sysctl=vm.swappiness"], 2, "net.core.somaxconn=64"),
        (vec![&image, &emulator, "--processors=0"], 2, "--processors"),
        (vec![&image, &image, &emulator], 2, "two systems are called \"guest\""),
        (vec![&emulator], 2, "--kernel"),
    ] {
        let output = run(folder.path(), &[&["lab", "run"], &words[..], &TINY].concat());
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(word), "{words:?}: {}", text(&output.stderr));
    }
    assert!(!folder.path().join("a.osdyno").exists());
}

#[test]
fn a_guest_that_does_not_boot_is_recorded_with_its_console_and_the_others_are_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let emulator =
        emulator(folder.path(), "echo \"$@\" >>arguments; echo '[ 1.2] Kernel panic - not syncing' >&2");
    let own = ["--memory=64", "--processors=2", "--sysctl=net.core.somaxconn=7"];
    let output = run(folder.path(), &[&["lab", "run", &image, &emulator], &own[..], &TINY].concat());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("QEMU 7.2.22 loses some boots"), "{}", text(&output.stderr));
    let recording = recording(folder.path());
    let here = outcomes(&recording, "local");
    assert!(here.len() == 6 && here.iter().all(|outcome| **outcome == Outcome::Complete), "{here:?}");
    for end in outcomes(&recording, "guest") {
        assert!(matches!(end, Outcome::Failed { reason } if reason.contains("Kernel panic")), "{end:?}");
    }
    let guest = recording.systems.iter().find(|system| system.name == "guest").expect("the guest");
    let path = folder.path().join("vmlinuz").to_string_lossy().into_owned();
    let given = emulator.split_once('=').expect("a command").1;
    let machine = ["--memory", "64", "--processors", "2", "--qemu", given, "--accel", "tcg"];
    assert_eq!(guest.prefix, [&["--kernel", &path], &machine[..]].concat(), "as a user writes it");
    let is_set = |system: &&record::System| system.name == "guest net.core.somaxconn=7";
    let set = recording.systems.iter().find(is_set).expect("the variant");
    let setting = ["--kernel", &path, "--sysctl", "net.core.somaxconn=7"];
    assert_eq!(set.prefix, [&setting, &machine[..]].concat());
    let arguments = fs::read_to_string(folder.path().join("arguments")).expect("what the emulator was given");
    for word in
        ["-accel tcg", "-smp 2", "-m 64M", "-nic none", "-no-reboot", "\"sysctl:net.core.somaxconn=7\" init"]
    {
        assert!(arguments.contains(word), "{word}: {arguments}");
    }
    expect_nothing_left(folder.path());
}

#[test]
fn a_list_that_cannot_be_searched_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let kernel = image.trim_start_matches("--kernel=guest=").to_owned();
    let emulator = emulator(folder.path(), "echo '[ 1.2] Kernel panic - not syncing' >&2");
    let (good, bad) = (format!("--good={kernel}"), format!("--bad={kernel} slow"));
    let step = format!("--step={kernel} other");
    for (words, code, word) in [
        (vec![good.as_str(), "noop"], 2, "--bad"),
        (vec![&good, &bad], 2, "WORKLOAD"),
        (vec![&good, &bad, "noop", "--boots=7"], 2, "--boots"),
        (vec![&good, &bad, &step, "--among=.", "noop"], 2, "--among"),
        (vec![&good, &good, "--bad", &kernel, "noop"], 2, "--good"),
        (vec![&good, "--bad", &kernel, "noop"], 2, "two systems are called"),
        (vec![&good, &bad, "--among=.", "noop"], 2, "names no release"),
        (vec![&good, "--bad=/nonexistent/vmlinuz", "noop"], 1, "cannot read the kernel /nonexistent"),
        (vec![&good, &bad, "noop", "-n", "60", "--out=a.osdyno"], 1, "Kernel panic"),
    ] {
        let output = run(folder.path(), &[&["lab", "bisect", &emulator], &words[..]].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
        assert!(told.contains(word), "{words:?}: {told}");
    }
    expect_nothing_left(folder.path());
}

#[test]
fn an_emulator_that_is_too_old_or_prints_nothing_is_reported() {
    for (script, word) in [
        ("echo 'qemu-system-x86_64: -nic: invalid option' >&2; exit 1", "-nic: invalid option"),
        ("exit 0", "its kernel printed nothing; more memory may help"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let (image, emulator) = (image(folder.path()), emulator(folder.path(), script));
        let output = run(folder.path(), &[&["lab", "run", &image, &emulator], &TINY[..]].concat());
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        let recording = recording(folder.path());
        for end in outcomes(&recording, "guest") {
            assert!(matches!(end, Outcome::Failed { reason } if reason.contains(word)), "{end:?}");
        }
        let here = outcomes(&recording, "local");
        assert!(here.len() == 6 && here.iter().all(|end| **end == Outcome::Complete), "{here:?}");
        expect_nothing_left(folder.path());
    }
}

#[test]
fn kvm_that_boots_nothing_is_tried_once_and_not_used() {
    let device = fs::OpenOptions::new().read(true).write(true).open("/dev/kvm");
    if let Err(error) = device {
        skipped!("there is no /dev/kvm to try: {error}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // It ends where the file is, and stands still where it is not.
    let script = "echo \"$@\" >>arguments; case \"$*\" in *kvm*) [ -e ends ] || exec sleep 600;; esac";
    let (image, emulator) = (image(folder.path()), emulator(folder.path(), script));
    let measure = |out: &str| {
        let _ = fs::remove_file(folder.path().join("arguments"));
        let words = ["lab", "run", &image, &emulator, "noop", "-n60", "-t2", "--out", out];
        let mut program = osdyno(folder.path(), &words);
        let output = program.env("XDG_CACHE_HOME", folder.path().join("cache")).output();
        let output = output.expect("osdyno starts");
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        let arguments = fs::read_to_string(folder.path().join("arguments")).expect("what it was given");
        let starts = |word: &str| arguments.lines().filter(|line| line.contains(word)).count();
        (text(&output.stderr).contains("trying whether KVM"), starts("-accel kvm"), starts("-accel tcg") > 0)
    };
    // What ends at once may be no fault of KVM's, and is tried again.
    fs::write(folder.path().join("ends"), "").expect("a file");
    assert_eq!(measure("a.osdyno"), (true, 1, true));
    fs::remove_file(folder.path().join("ends")).expect("the file");
    assert_eq!(measure("b.osdyno"), (true, 1, true));
    assert_eq!(measure("c.osdyno"), (false, 0, true));
    fs::remove_dir_all(folder.path().join("cache")).expect("the finding");
    expect_nothing_left(folder.path());
}

#[test]
fn what_executes_a_guest_is_recorded_where_the_user_chooses_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (image, emulator) = (image(folder.path()), emulator(folder.path(), "echo \"$@\" >>arguments"));
    let words = ["lab", "run", &image, &emulator, "--accel=kvm", "noop", "-n60", "-t2", "--out=a.osdyno"];
    let output = run(folder.path(), &words);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let arguments = fs::read_to_string(folder.path().join("arguments")).expect("what it was given");
    assert!(arguments.lines().all(|line| line.contains("-accel kvm -cpu host")), "{arguments}");
    let recording = recording(folder.path());
    let guest = recording.systems.iter().find(|system| system.name == "guest").expect("the guest");
    assert_eq!(guest.prefix.last().map(String::as_str), Some("kvm"), "{:?}", guest.prefix);
}

#[test]
fn an_emulator_that_hangs_is_gone_when_osdyno_is_stopped_or_killed() {
    for (name, code) in [("INT", Some(130)), ("KILL", None)] {
        let folder = tempfile::tempdir().expect("a folder");
        // It hears neither the end of its input nor a signal, as an emulator that is stuck.
        let script = "trap '' HUP INT TERM; echo booting >&2; while :; do sleep 0.1; done";
        let (image, emulator) = (image(folder.path()), emulator(folder.path(), script));
        let mark = folder.path().join("emulator").to_string_lossy().into_owned();
        let mut program = osdyno(folder.path(), &[&["lab", "run", &image, &emulator], &TINY[..]].concat());
        let child = program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("osdyno starts");
        until("it boots", || emulators(&mark) == 1);
        signal(child.id(), name);
        let output = child.wait_with_output().expect("an end");
        assert_eq!(output.status.code(), code, "{}", text(&output.stderr));
        until("no emulator is left", || emulators(&mark) == 0);
        expect_nothing_left(folder.path());
    }
}

/// A program of that name that does this, in a folder that is the whole search path.
fn tool(folder: &Path, name: &str, script: &str) {
    fs::create_dir_all(folder).expect("a folder");
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("an executable file");
}

#[test]
fn a_kernel_of_debian_is_kept_and_what_prevents_that_is_reported() {
    if !Path::new("/usr/share/keyrings/debian-archive-keyring.gpg").exists() {
        skipped!("this is no Debian; its keyring is missing");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (image, tools) = (image(folder.path()), folder.path().join("tools"));
    let emulator = emulator(folder.path(), "echo \"$@\" >arguments; echo 'Kernel panic' >&2");
    let measure = |series: &str, out: &str| {
        let kernel = format!("--kernel=debian:{series}");
        let words = ["lab", "run", &kernel, &emulator, "--out", out, "--accel=tcg"];
        let size = ["noop", "-n", "60", "--trials", "3"];
        let mut program = osdyno(folder.path(), &[&words[..], &size].concat());
        program.env("PATH", &tools).env("XDG_CACHE_HOME", folder.path().join("cache"));
        program.output().expect("osdyno starts")
    };
    let fails = |series: &str, word: &str| {
        let output = measure(series, "failed.osdyno");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(word) && told.contains("--kernel PATH"), "{word}: {told}");
        assert!(!folder.path().join("failed.osdyno").exists());
        assert!(!folder.path().join("cache/osdyno/kernels/unfinished").exists());
    };
    fails("6", "a series is written as");
    fails("../6.1", "a series is written as");
    fails("6.12", "cannot start apt-get");
    // There is no room for a cache at all.
    fs::rename(folder.path().join("cache"), folder.path().join("moved")).expect("the cache");
    fs::write(folder.path().join("cache"), "a file").expect("a file");
    fails("6.12", "cannot be used");
    fs::remove_file(folder.path().join("cache")).expect("the file");
    fs::rename(folder.path().join("moved"), folder.path().join("cache")).expect("the cache");
    tool(&tools, "apt-get", "echo 'E: Could not resolve deb.debian.org' >&2; exit 100");
    fails("6.12", "Could not resolve");
    // What came is not what Debian signed.
    tool(&tools, "apt-get", "echo 'E: Failed to fetch linux-image.deb  Hash Sum mismatch' >&2; exit 100");
    fails("6.12", "Hash Sum mismatch");
    // It gets the lists, and then the disk is full.
    let script = "case \"$*\" in *update*) ;; *) echo 'E: No space left on device' >&2; exit 100;; esac";
    tool(&tools, "apt-get", script);
    tool(&tools, "apt-cache", "echo linux-image-6.12.9+deb13-cloud-amd64");
    fails("6.12", "No space left");
    fails("6.1", "have no kernel of this series");
    tool(&tools, "apt-get", "case \"$*\" in *update*) ;; *download*) echo package >a.deb;; esac");
    tool(&tools, "dpkg-deb", "mkdir -p \"$3/boot\"; echo text >\"$3/boot/vmlinuz\"");
    fails("6.12", "holds no kernel");
    let source = image.rsplit('=').next().expect("a path");
    tool(&tools, "dpkg-deb", &format!("mkdir -p \"$3/boot\"; cp {source} \"$3/boot/vmlinuz-6.12\""));
    let output = measure("6.12", "a.osdyno");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("getting the newest kernel"), "{}", text(&output.stderr));
    let kept = folder.path().join("cache/osdyno/kernels/6.12/vmlinuz");
    let arguments = fs::read_to_string(folder.path().join("arguments")).expect("what the emulator was given");
    assert!(arguments.contains(&format!("-kernel {}", kept.display())), "{arguments}");
    assert!(recording(folder.path()).systems.iter().any(|system| system.name == "6.12"));
    // Without a network, and without apt.
    fs::remove_dir_all(&tools).expect("the tools are gone");
    let output = measure("6.12", "b.osdyno");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("getting"), "{}", text(&output.stderr));
    fs::write(&kept, "damaged").expect("damage");
    fails("6.12", "is damaged");
}

#[test]
fn without_a_network_or_room_for_a_kernel_of_debian_nothing_is_left() {
    if !Path::new("/usr/share/keyrings/debian-archive-keyring.gpg").exists() {
        skipped!("this is no Debian; its keyring is missing");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (emulator, tools) = (emulator(folder.path(), "true"), folder.path().join("tools"));
    let cache = folder.path().join("cache");
    fs::create_dir(&cache).expect("a folder");
    let small = format!("mount -t tmpfs -o size=256k none {}", cache.display());
    let own = std::env::var("PATH").expect("a search path");
    tool(&tools, "apt-get", "case \"$*\" in *download*) head -c 1000000 /dev/zero >a.deb || exit 100;; esac");
    tool(&tools, "apt-cache", "echo linux-image-6.12.9+deb13-cloud-amd64");
    let without = [
        // The real apt-get, in a network in which nothing is, not even loopback.
        ("--net", "true", own.clone(), "Failed to fetch"),
        ("--mount", small.as_str(), format!("{}:{own}", tools.display()), "No space left on device"),
    ];
    for (namespace, before, path, word) in without {
        let words = ["lab", "run", "--kernel=debian:6.12", "--accel=tcg", &emulator, "noop", "-n60", "-t3"];
        let program = osdyno(folder.path(), &words);
        let mut command = Command::new("unshare");
        command.args([namespace, "sh", "-c", &format!("{before} && exec \"$0\" \"$@\"")]);
        command.arg(program.get_program()).args(program.get_args()).current_dir(folder.path());
        let output = command.env("PATH", &path).env("XDG_CACHE_HOME", &cache).output().expect("unshare");
        let told = text(&output.stderr);
        if told.contains("unshare") || told.contains("mount:") {
            skipped!("it takes the rights of root: {told}");
            return;
        }
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(word) && told.contains("--kernel PATH"), "{word}: {told}");
        let is_there = |name: &str| cache.join("osdyno/kernels").join(name).exists();
        assert!(!is_there("unfinished") && !is_there("6.12"), "{told}");
        until("no process is left", || processes_below(folder.path(), "").is_empty());
    }
}

/// How many shells play that emulator at work; at first osdyno has it only say its version.
fn emulators(path: &str) -> usize {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| text(line).starts_with(&format!("/bin/sh\0{path}\0-accel\0"))).count()
}

/// A boot and a trial take seconds, and longer on a busy machine; the runner gives a boot a minute.
const BOOT: Duration = Duration::from_secs(120);

/// A kernel of the environment, of this machine, or of Debian.
fn kernel() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("OSDYNO_TEST_KERNEL") {
        return Some(path.into());
    }
    let boot = fs::read_dir("/boot").into_iter().flatten().flatten().map(|entry| entry.path());
    if let Some(path) = boot.filter(|path| lab::release(path).is_ok()).max() {
        return Some(path);
    }
    let mut debian = lab::Debian::in_folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels"));
    let kernel = debian.kernel("6.12", &mut |text| println!("{text}"));
    kernel.map_err(|error| skipped!("{error}")).ok()
}

/// What a real boot needs, or why it is skipped.
pub(crate) fn real() -> Option<PathBuf> {
    let emulator = [lab::EmulatedMachine::EMULATOR.to_owned()];
    if let Err(error) = lab::EmulatedMachine::check_emulator(&emulator) {
        skipped!("{error}");
        return None;
    }
    kernel()
}

#[test]
fn a_kernel_is_measured_beside_this_machine_and_one_that_panics_is_an_outcome() {
    let Some(kernel) = real() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let named = format!("--kernel=guest={}", kernel.display());
    // Without a first process a kernel looks for a disk, and panics.
    let words = ["lab", "run", &named, "--cmdline=rdinit=/nonexistent"];
    let output = run(folder.path(), &[&words[..], &TINY].concat());
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    let recording = recording(folder.path());
    let [here, guest, panicked] = &recording.systems[..] else { panic!("three systems: {told}") };
    assert_eq!((here.name.as_str(), guest.name.as_str()), ("local", "guest"));
    for system in [here, guest] {
        let ends = outcomes(&recording, &system.name);
        assert!(ends.len() == 6 && ends.iter().all(|end| **end == Outcome::Complete), "{ends:?} {told}");
    }
    let boots = |system: &str| -> Vec<u32> {
        let trials = recording.trials.iter().filter(|trial| trial.order.system == system);
        trials.filter(|trial| trial.order.workload == "noop").map(|trial| trial.order.boot).collect()
    };
    assert_eq!((boots("local"), boots("guest")), (vec![0; 3], vec![1, 2, 3]), "trials are spread over boots");
    let fact = |name: &str| guest.environment.get(name).map(String::as_str);
    assert_eq!(fact("machine.hypervisor"), Some("QEMU TCG"));
    assert_eq!(fact("kernel.release").map(str::to_owned), lab::release(&kernel).expect("a kernel"));
    assert_eq!(guest.processors.as_ref().map(|processors| processors.online), Some(1));
    assert!(guest.limits["descriptors"][0].value >= 1 << 20, "{:?}", guest.limits);
    // Booting is work too, which a slow machine has not forgotten when the trials begin.
    let faults = guest.warnings.iter().filter(|warning| !warning.starts_with("The load is "));
    assert_eq!(faults.count(), 0, "nothing is wrong with a guest's environment: {:?}", guest.warnings);
    for end in outcomes(&recording, &panicked.name) {
        let Outcome::Failed { reason } = end else { panic!("{end:?}") };
        assert!(reason.contains("Kernel panic - not syncing"), "{reason}");
    }
    expect_nothing_left(folder.path());
}

#[test]
fn a_setting_is_made_before_anything_is_measured_and_one_that_cannot_be_made_is_a_reason() {
    let Some(kernel) = real() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let named = format!("--kernel=guest={}", kernel.display());
    let settings = ["--sysctl=net.core.somaxconn=77", "--sysctl=net.core.nothing=1", "--boots=1"];
    let output = run(folder.path(), &[&["lab", "run", &named], &settings[..], &TINY].concat());
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    let recording = recording(folder.path());
    let [_, guest, set, refused] = &recording.systems[..] else { panic!("four systems: {told}") };
    let found = [guest, set].map(|system| system.environment.get("net.somaxconn").map(String::as_str));
    assert!(found[0] != Some("77") && found[1] == Some("77"), "{found:?}");
    for end in outcomes(&recording, &refused.name) {
        let Outcome::Failed { reason } = end else { panic!("{end:?}") };
        let word = "cannot set net.core.nothing=1: this kernel has no such key";
        assert!(reason.contains(word), "{reason}");
    }
    expect_nothing_left(folder.path());
}

/// The largest n of a workload is planned with the memory of the guest, and what is taken beyond that costs a
/// trial and not the run.
#[test]
fn a_guest_with_little_memory_gives_results_or_reasons() {
    let Some(kernel) = real() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let named = format!("--kernel=guest={}", kernel.display());
    let words = [
        "lab",
        "run",
        &named,
        "--memory=112",
        "--accel=tcg",
        "--boots=1",
        "fork-memory",
        "mmap/mmap",
        "thread",
    ];
    let size = ["-n", "5000", "--trials", "1", "--budget", "60s", "--out=a.osdyno"];
    let output = run(folder.path(), &[&words[..], &size].concat());
    let told = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    let recording = recording(folder.path());
    let guest = recording.systems.iter().find(|system| system.name == "guest").expect("the guest");
    assert!(guest.limits["memory"].iter().any(|limit| limit.value < 112 << 20), "{:?}", guest.limits);
    let ends = outcomes(&recording, "guest");
    let is_reported = |end: &&Outcome| match end {
        Outcome::Complete | Outcome::Limit { .. } | Outcome::Allowance { .. } => true,
        Outcome::Failed { reason } | Outcome::Crashed { reason, .. } => !reason.is_empty(),
        _ => false,
    };
    assert!(ends.len() == 3 && ends.iter().all(is_reported), "{ends:?} {told}");
    expect_nothing_left(folder.path());
}

#[test]
fn a_guest_at_work_is_gone_when_osdyno_is_killed() {
    let Some(kernel) = real() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let named = format!("--kernel=guest={}", kernel.display());
    let words = ["lab", "run", &named, "noop", "--trials=400", "--out=a.osdyno"];
    let mut program = osdyno(folder.path(), &words);
    let child = program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("osdyno starts");
    let has_measured = || {
        let recorded = record::read(folder.path().join("a.osdyno"));
        recorded.is_ok_and(|(recording, _)| !outcomes(&recording, "guest").is_empty())
    };
    let begun = Instant::now();
    while !has_measured() {
        assert!(begun.elapsed() < BOOT, "no trial in a guest within {BOOT:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    // Another test may emulate the same kernel; this emulator is the child of a guard of ours.
    let guards = processes_below(folder.path(), " guard ");
    let emulators: Vec<u32> = guards.iter().flat_map(|guard| children(*guard)).collect();
    assert!(!emulators.is_empty());
    signal(child.id(), "KILL");
    let _ = child.wait_with_output();
    until("no emulator is left", || {
        emulators.iter().all(|number| !Path::new(&format!("/proc/{number}")).exists())
    });
    expect_nothing_left(folder.path());
}

fn children(parent: u32) -> Vec<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let numbers = fs::read_to_string(path).unwrap_or_default();
    numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}
