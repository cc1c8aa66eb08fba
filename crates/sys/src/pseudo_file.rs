//! Reads the small files of /proc and /sys (proc(5), sysfs(5)).
//!
//! A file that is missing, forbidden or empty is `None`. Kernels differ in their files, and a fact that
//! cannot be read is left out, never guessed.

use std::path::Path;

/// The file without the white space around it.
pub(crate) fn text(path: impl AsRef<Path>) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// The first word of the file as a number.
pub(crate) fn number(path: impl AsRef<Path>) -> Option<u64> {
    text(path)?.split_whitespace().next()?.parse().ok()
}

/// The value behind `name:` in files that have one `name: value` a line.
pub(crate) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim()).filter(|value| !value.is_empty())
    })
}

/// The bytes behind `name:` where the file says `name:  123 kB`.
pub(crate) fn field_bytes(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The number behind `name ` in files that have one `name value` a line, such as /proc/vmstat.
pub(crate) fn counter(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok()).flatten()
    })
}

/// The number of that name in tables of two lines for each group: `Tcp: NAME NAME …` above `Tcp: 1 2 …`.
pub(crate) fn column(table: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter(|line| line.starts_with(group));
    let index = lines.next()?.split(' ').position(|column| column == name)?;
    lines.next()?.split(' ').nth(index)?.parse().ok()
}

/// A list of processors such as `0-3,8` as numbers (cpuset(7), "List format").
pub(crate) fn cpu_list(list: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            cpus.extend(first..=last);
        }
    }
    cpus
}

/// Whether this process sees the processes of the whole machine.
pub(crate) fn in_first_pid_namespace() -> bool {
    /// `PROC_PID_INIT_INO` in include/linux/proc_ns.h.
    const FIRST: &str = "pid:[4026531836]";
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link == Path::new(FIRST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "MemTotal:  24684096 kB\nMemFree:   1 kB\nSeccomp:\t2\nSeccomp_filters:\t7\nempty:\n";
        assert_eq!(field_bytes(text, "MemTotal"), Some(24_684_096 * 1024));
        assert_eq!(field(text, "Seccomp"), Some("2"));
        assert_eq!(field(text, "empty"), None);
        assert_eq!(field(text, "Mem"), None);
        assert_eq!(counter("pswpin 3\npswpout 4\n", "pswpout"), Some(4));
    }

    #[test]
    fn columns_are_found_by_name() {
        let table = "Ip: A B\nIp: 1 2\nTcp: ActiveOpens RetransSegs InErrs\nTcp: 76 5 0\n";
        assert_eq!(column(table, "Tcp:", "RetransSegs"), Some(5));
        assert_eq!(column(table, "Tcp:", "NoSuch"), None);
    }

    #[test]
    fn cpu_lists_are_spelled_out() {
        assert_eq!(cpu_list("0-2,5,7-8\n"), [0, 1, 2, 5, 7, 8]);
        assert_eq!(cpu_list(""), [0; 0]);
    }

    #[test]
    fn absent_files_are_absent() {
        assert_eq!(text("/proc/there-is-no-such-file"), None);
    }
}
