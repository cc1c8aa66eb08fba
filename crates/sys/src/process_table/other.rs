//! Systems whose processes we cannot look into.

use std::io;

use super::entry::{Descriptor, EpollWatch, ProcessEntry, ProcessMemory, SocketEntry, ThreadUse, ThreadWait};
use crate::Unsupported;

const REASON: Unsupported =
    Unsupported("what other processes wait for is read from Linux's /proc, as far as is written");

macro_rules! unsupported {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(pub(super) fn $name($($argument: $type),*) -> io::Result<$result> {
            $(let _ = $argument;)*
            Err(REASON.into())
        })*
    };
}

unsupported! {
    processes() -> Vec<ProcessEntry>;
    process(pid: u32) -> ProcessEntry;
    program(pid: u32) -> String;
    command(pid: u32) -> Vec<String>;
    descriptors(pid: u32) -> Vec<Descriptor>;
    epoll_watches(pid: u32, descriptor: i32) -> Vec<EpollWatch>;
    sends_signals(pid: u32, descriptor: i32) -> bool;
    sockets(pid: u32) -> Vec<SocketEntry>;
    network_namespace(pid: u32) -> u64;
    memory(pid: u32, is_shared_known: bool) -> ProcessMemory;
    threads(pid: u32) -> Vec<u32>;
    thread_use(pid: u32, thread: u32) -> ThreadUse;
    thread_wait(pid: u32, thread: u32) -> ThreadWait;
}

pub(super) fn hides_others() -> bool {
    false
}
