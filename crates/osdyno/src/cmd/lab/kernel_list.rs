//! Ordered lists of kernels: from a good one to a bad one.

use std::fs;
use std::path::{Path, PathBuf};

use lab::{Accelerator, KernelVariant};
use runner::Target;

use super::kernels::{FoundKernel, Kernels};
use super::{boot, machine};
use crate::failure::Failure;

/// The options for a list.
pub(super) struct ListOptions<'a> {
    pub(super) good: &'a str,
    pub(super) bad: &'a str,
    pub(super) steps: &'a [String],
    pub(super) among: Option<&'a str>,
    pub(super) machine: &'a machine::Args,
    /// That of the emulator.
    pub(super) version: &'a str,
}

/// More are a mistake, such as a folder of other files.
const KERNELS_MOST: usize = 1000;

/// The kernels of the list in their order, as systems.
pub(super) fn targets(options: &ListOptions<'_>) -> Result<Vec<Target>, Failure> {
    let mut kernels = Kernels::default();
    let first = kernels.find(split(options.good).0)?;
    let accelerator = boot::accelerator(&first.path, options.machine)?;
    options.machine.warn_if_unreliable(accelerator, options.version);
    let mut target = |text: &str| target(text, options, accelerator, &mut kernels);
    let (good, bad) = (target(options.good)?, target(options.bad)?);
    let mut targets = vec![good];
    for step in options.steps {
        targets.push(target(step)?);
    }
    if let Some(among) = options.among {
        let ends = [order_of(options.good, &mut kernels)?, order_of(options.bad, &mut kernels)?];
        for kernel in between(among, &ends, &mut kernels)? {
            targets.push(boot::target(&kernel, &KernelVariant::default(), accelerator, options.machine)?);
        }
    }
    targets.push(bad);
    if targets.len() > KERNELS_MOST {
        let text = format!("{} kernels are too many; {KERNELS_MOST} are the most", targets.len());
        return Err(Failure::Usage(text));
    }
    Ok(targets)
}

/// A kernel, and behind the first space the words that follow its own on its command line.
fn split(text: &str) -> (&str, &str) {
    let (kernel, words) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    (kernel, words.trim())
}

fn target(
    text: &str,
    options: &ListOptions<'_>,
    accelerator: Accelerator,
    kernels: &mut Kernels,
) -> Result<Target, Failure> {
    let (kernel, words) = split(text);
    let variant = KernelVariant { cmdline: words.to_owned(), sysctl: None };
    boot::target(&kernels.find(kernel)?, &variant, accelerator, options.machine)
}

/// The place of a kernel among others.
fn order_of(text: &str, kernels: &mut Kernels) -> Result<ReleaseOrder, Failure> {
    let kernel = kernels.find(split(text).0)?;
    order_of_image(&kernel.path)?.ok_or_else(|| {
        let text =
            format!("{} names no release, so nothing is between it and another", kernel.path.display());
        Failure::Usage(text + "; list the kernels with --step")
    })
}

fn order_of_image(path: &Path) -> Result<Option<ReleaseOrder>, Failure> {
    let release = lab::release(path).map_err(|error| Failure::Refused(error.to_string()))?;
    Ok(release.map(|release| ReleaseOrder::of(&release)))
}

/// The kernels of a folder, or of Debian, whose releases are between those of the ends.
fn between(
    among: &str,
    ends: &[ReleaseOrder; 2],
    kernels: &mut Kernels,
) -> Result<Vec<FoundKernel>, Failure> {
    let mut found: Vec<(ReleaseOrder, FoundKernel)> = Vec::new();
    if among == "debian" {
        for [major, minor] in kernels.series_of_debian()? {
            // The ends stand for their series.
            if is_between(&[major, minor], &ends.each_ref().map(ReleaseOrder::series)) {
                let kernel = kernels.find(&format!("debian:{major}.{minor}"))?;
                found.extend(order_of_image(&kernel.path)?.map(|order| (order, kernel)));
            }
        }
    } else {
        for path in images(Path::new(among))? {
            if let Some(order) = order_of_image(&path)?.filter(|order| is_between(order, ends)) {
                let text = path.to_str().ok_or_else(|| {
                    Failure::Usage(format!("the path of the kernel {} is not UTF-8", path.display()))
                })?;
                found.push((order, kernels.find(text)?));
            }
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    if ends[1] < ends[0] {
        found.reverse();
    }
    Ok(found.into_iter().map(|(_, kernel)| kernel).collect())
}

/// The kernels in a folder.
fn images(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries
        .map_err(|error| Failure::Refused(format!("cannot read the folder {}: {error}", folder.display())))?;
    let paths = entries.into_iter().map(|entry| entry.path());
    Ok(paths.filter(|path| path.is_file() && lab::release(path).is_ok_and(|own| own.is_some())).collect())
}

fn is_between<T: Ord>(one: &T, [first, last]: &[T; 2]) -> bool {
    (first.min(last)..first.max(last)).contains(&one) && one != first.min(last)
}

/// How releases are ordered: by the numbers of the version, a candidate before its release, then by all
/// other numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ReleaseOrder {
    version: Vec<u64>,
    is_release: bool,
    all: Vec<u64>,
}

impl ReleaseOrder {
    fn of(release: &str) -> ReleaseOrder {
        let numbers = |text: &str| -> Vec<u64> {
            let digits = text.split(|letter: char| !letter.is_ascii_digit());
            digits.filter_map(|digits| digits.parse().ok()).collect()
        };
        let version = release.split(|letter: char| !letter.is_ascii_digit() && letter != '.').next();
        ReleaseOrder {
            version: numbers(version.unwrap_or_default()),
            is_release: !release.contains("-rc"),
            all: numbers(release),
        }
    }

    fn series(&self) -> [u64; 2] {
        [0, 1].map(|place| self.version.get(place).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_an_order() {
        let rising = [
            "6.1.0-9-cloud-amd64",
            "6.1.0-47-cloud-amd64",
            "6.12.95+deb12-amd64",
            "6.12.107+deb13-amd64",
            "7.3-rc7-cloud-amd64",
            "7.3.4+deb13-cloud-amd64",
        ];
        let orders: Vec<ReleaseOrder> = rising.iter().map(|release| ReleaseOrder::of(release)).collect();
        assert!(orders.is_sorted() && orders.windows(2).all(|pair| pair[0] != pair[1]), "{orders:?}");
        let (low, high) = (orders[1].clone(), orders[4].clone());
        let within = |ends: &[ReleaseOrder; 2]| -> Vec<bool> {
            orders.iter().map(|one| is_between(one, ends)).collect()
        };
        let wanted = [false, false, true, true, false, false];
        assert_eq!(within(&[low.clone(), high.clone()]), wanted);
        assert_eq!(within(&[high, low]), wanted);
    }

    #[test]
    fn words_of_a_command_line_follow_a_kernel() {
        assert_eq!(
            split("debian:6.12 mitigations=auto,nosmt  quiet "),
            ("debian:6.12", "mitigations=auto,nosmt  quiet")
        );
        assert_eq!(split("old=/boot/vmlinuz"), ("old=/boot/vmlinuz", ""));
    }
}
