//! Windows: its version by RtlGetVersion, which manifests do not change, and its memory. Wine, which
//! implements the same calls on another kernel, says in its ntdll.dll that it is there.

use std::ffi::{CStr, c_char};
use std::path::Path;

use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX, OSVERSIONINFOW};

use super::collector::Collector;

pub(super) fn read(facts: &mut Collector, _scratch: Option<&Path>) {
    facts.add("kernel.name", Some("Windows"));
    facts.add("kernel.release", version());
    facts.add("memory.page_bytes", Some(crate::memory::page_bytes()));
    if let Some(memory) = memory() {
        facts.add("memory.total_bytes", Some(memory.ullTotalPhys));
    }
    if let Some(version) = wine() {
        facts.add("machine.emulation", Some(format!("Wine {version}")));
    }
}

fn version() -> Option<String> {
    let size = size_of::<OSVERSIONINFOW>() as u32;
    let mut version = OSVERSIONINFOW { dwOSVersionInfoSize: size, ..OSVERSIONINFOW::default() };
    // SAFETY: the call fills the structure, which has the size that it says, and outlives it.
    let status = unsafe { RtlGetVersion(&raw mut version) };
    let numbers = [version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber];
    (status == 0).then(|| numbers.map(|number| number.to_string()).join("."))
}

/// Physical memory and how much of it is free.
pub(crate) fn memory() -> Option<MEMORYSTATUSEX> {
    let mut memory =
        MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..MEMORYSTATUSEX::default() };
    // SAFETY: the call fills the structure, which has the size that it says, and outlives it.
    let answer = unsafe { GlobalMemoryStatusEx(&raw mut memory) };
    (answer != 0).then_some(memory)
}

/// The version of Wine, by the function that its developers name for this question (Wine Developer's Guide).
fn wine() -> Option<String> {
    // SAFETY: the names are C strings, and ntdll.dll is loaded as long as the process lives. The function has
    // no arguments and returns a constant C string.
    let version = unsafe {
        let library = GetModuleHandleA(c"ntdll.dll".as_ptr().cast());
        let function = GetProcAddress(library, c"wine_get_version".as_ptr().cast())?;
        let function: extern "C" fn() -> *const c_char = std::mem::transmute(function);
        CStr::from_ptr(function())
    };
    Some(version.to_string_lossy().into_owned())
}
