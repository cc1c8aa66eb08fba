//! Finds the C program that the workload `compile` compiles: the decoder of zstd, whose source comes with a
//! crate that osdyno depends on for its run files. `cargo metadata` finds it. As a dependency of this crate
//! it would be compiled and linked too, although only its text is needed.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The parts of the library that its decoder needs.
const FOLDERS: [&str; 3] = ["", "common", "decompress"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../Cargo.lock");
    let library = library();
    if library.is_none() {
        println!("cargo::warning=no source of zstd was found: `compile` is unsupported in this build");
    }
    let files = library.map(|library| files(&library)).unwrap_or_default();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("c_program.rs");
    if let Err(error) = fs::write(&out, written(&files)) {
        println!("cargo::error=cannot write {}: {error}", out.display());
    }
}

/// The folder `lib` of zstd.
fn library() -> Option<PathBuf> {
    let mut cargo = Command::new(env::var_os("CARGO")?);
    cargo
        .args(["metadata", "--format-version=1", "--locked", "--filter-platform"])
        .arg(env::var_os("TARGET")?);
    let metadata: Value = serde_json::from_slice(&cargo.output().ok()?.stdout).ok()?;
    let packages = metadata["packages"].as_array()?;
    let zstd = packages.iter().find(|package| package["name"] == "zstd-sys")?;
    let folder = Path::new(zstd["manifest_path"].as_str()?).parent()?;
    Some(folder.join("zstd/lib")).filter(|library| library.is_dir())
}

/// Its sources and headers, by their names below the folder.
fn files(library: &Path) -> Vec<(String, PathBuf)> {
    let of_folder = |folder: &str| -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(library.join(folder)).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let is_source =
            |path: &PathBuf| path.extension().is_some_and(|ending| ending == "c" || ending == "h");
        let named = |path: PathBuf| {
            let name = path.strip_prefix(library).ok()?.to_str()?.replace('\\', "/");
            Some((name, path))
        };
        paths.filter(is_source).filter_map(named).collect()
    };
    let mut files: Vec<_> = FOLDERS.iter().flat_map(|folder| of_folder(folder)).collect();
    files.sort();
    files
}

fn written(files: &[(String, PathBuf)]) -> String {
    let mut text = "/// Names and contents.\npub(crate) const FILES: &[(&str, &[u8])] = &[\n".to_owned();
    for (name, path) in files {
        let _ = writeln!(text, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    text + "];\n"
}
