//! What the tests need of the machine, and where Debian keeps it.

use crate::Failure;
use crate::command::{exists, program, show};

struct Need {
    /// A program that is there when the package is.
    program: &'static str,
    packages: &'static [&'static str],
    why: &'static str,
}

const NEEDS: &[Need] =
    &[Need { program: "cc", packages: &["gcc", "libc6-dev"], why: "links every program, and compiles zstd" }];

/// Installs what is missing when we are root on a Debian system; otherwise says what to install.
pub(crate) fn install() -> Result<(), Failure> {
    let missing: Vec<&Need> = NEEDS.iter().filter(|need| !exists(need.program)).collect();
    if missing.is_empty() {
        println!("everything is there");
        return Ok(());
    }
    for need in &missing {
        println!("missing: {}, which {}", need.program, need.why);
    }
    let packages: Vec<&str> = missing.iter().flat_map(|need| need.packages).copied().collect();
    if !(exists("apt-get") && is_root()) {
        return Err(format!("install {} and run this again", packages.join(" ")).into());
    }
    show(program("apt-get").args(["-qq", "update"]))?;
    let install = ["-qq", "install", "--yes", "--no-install-recommends"];
    show(program("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(install).args(packages))
}

fn is_root() -> bool {
    crate::command::read(program("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}
