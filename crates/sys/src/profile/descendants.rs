//! Selects from the samples of a processor those of one process and its descendants, in the order of their
//! times.
//!
//! Each processor has a ring of its own, so a child's samples may be read before the record of its fork. They
//! wait until all rings have been read once more.

use std::collections::BTreeMap;

use super::perf_event::Record;
use super::{CodeMapping, Sample};

/// The samples that wait, and the processes that they may be of.
#[derive(Debug)]
pub(super) struct Descendants {
    /// Its first thread is sampled elsewhere.
    root: u32,
    /// The root and its descendants, each with its program.
    members: BTreeMap<u32, Program>,
    /// The code of other programs, each file once, at addresses that no process has.
    code: Vec<CodeMapping>,
    waiting: Vec<(u64, Event)>,
}

/// The program that a process executes.
#[derive(Clone, Debug)]
enum Program {
    /// That of the root, at the same addresses.
    OfRoot,
    /// Another, with the addresses of its code and the first ones in `code`.
    Other(Vec<MovedCode>),
}

/// Code of a process, and its place among that of all.
#[derive(Clone, Copy, Debug)]
struct MovedCode {
    start: u64,
    end: u64,
    to: u64,
}

#[derive(Debug)]
enum Event {
    Forked { parent: u32, child: u32 },
    Executed { process: u32 },
    Mapped { process: u32, mapping: CodeMapping },
    Sampled { process: u32, kernel: Vec<u64>, user: Vec<u64> },
}

/// An address in no file.
const ELSEWHERE: u64 = 0;
/// Addresses from here on are neither of programs nor of the kernel on any processor that we have. Executions
/// of a program have its code at other addresses each time; here a function has one.
const MOVED: u64 = 1 << 62;

impl Descendants {
    pub(super) fn new(root: u32) -> Descendants {
        Descendants {
            root,
            members: BTreeMap::from([(root, Program::OfRoot)]),
            code: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Takes the records of a ring.
    pub(super) fn add(&mut self, record: Record<'_>) {
        let root = self.root;
        self.waiting.push(match record {
            Record::Forked { time_ns, parent, child } => (time_ns, Event::Forked { parent, child }),
            Record::Executed { time_ns, process } => (time_ns, Event::Executed { process }),
            Record::Mapped { time_ns, process, mapping } => (time_ns, Event::Mapped { process, mapping }),
            Record::Sampled { process, thread, .. } if (process, thread) == (root, root) => return,
            Record::Sampled { process, sample, .. } => {
                let (kernel, user) = (sample.kernel.to_vec(), sample.user.to_vec());
                (sample.time_ns, Event::Sampled { process, kernel, user })
            }
        });
    }

    /// Hands over the samples before that time, which are complete.
    pub(super) fn settle(&mut self, before_ns: u64, on_sample: &mut dyn FnMut(Sample<'_>)) {
        self.waiting.sort_by_key(|(time_ns, _)| *time_ns);
        let settled = self.waiting.partition_point(|(time_ns, _)| *time_ns < before_ns);
        for (time_ns, event) in self.waiting.drain(..settled) {
            match event {
                // A number may be reused by a process outside the tree.
                Event::Forked { parent, child } if parent != child => match self.members.get(&parent) {
                    Some(program) => drop(self.members.insert(child, program.clone())),
                    None => drop(self.members.remove(&child)),
                },
                // A thread.
                Event::Forked { .. } => {}
                Event::Executed { process } => {
                    if let Some(program) = self.members.get_mut(&process) {
                        *program = Program::Other(Vec::new());
                    }
                }
                Event::Mapped { process, mapping } => {
                    if let Some(Program::Other(code)) = self.members.get_mut(&process) {
                        let (start, end) = (mapping.start, mapping.end);
                        code.push(MovedCode { start, end, to: moved(&mut self.code, mapping) });
                    }
                }
                Event::Sampled { process, kernel, mut user } => {
                    let Some(program) = self.members.get(&process) else { continue };
                    if let Program::Other(code) = program {
                        user.iter_mut().for_each(|address| *address = moved_address(code, *address));
                    }
                    on_sample(Sample { time_ns, kernel: &kernel, user: &user, counters: &[] });
                }
            }
        }
    }

    /// The code of other programs than the root's, at the addresses that samples have.
    pub(super) fn code(&self) -> &[CodeMapping] {
        &self.code
    }
}

/// The first address in `code` of such a part of a file.
fn moved(code: &mut Vec<CodeMapping>, mapping: CodeMapping) -> u64 {
    let length = mapping.end.saturating_sub(mapping.start);
    let is_same = |known: &&CodeMapping| {
        (known.inode, known.offset, known.end - known.start) == (mapping.inode, mapping.offset, length)
            && known.path == mapping.path
    };
    if let Some(known) = code.iter().find(is_same) {
        return known.start;
    }
    let start = code.last().map_or(MOVED, |last| last.end);
    code.push(CodeMapping { start, end: start.saturating_add(length), ..mapping });
    start
}

/// An address of a process among the code of all. A later mapping covers an earlier one.
fn moved_address(code: &[MovedCode], address: u64) -> u64 {
    let is_in = |part: &&MovedCode| (part.start..part.end).contains(&address);
    code.iter().rfind(is_in).map_or(ELSEWHERE, |part| part.to.saturating_add(address - part.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: u32 = 100;

    fn sampled(time_ns: u64, process: u32, thread: u32) -> Record<'static> {
        let sample = Sample { time_ns, kernel: &[0xffff_0001], user: &[0x40], counters: &[] };
        Record::Sampled { process, thread, sample }
    }

    /// When samples were handed over, and where each was in the program.
    fn settled(descendants: &mut Descendants, before_ns: u64) -> Vec<(u64, u64)> {
        let mut seen = Vec::new();
        descendants.settle(before_ns, &mut |sample| seen.push((sample.time_ns, sample.user[0])));
        seen
    }

    #[test]
    fn children_and_threads_of_the_process_belong_to_it_and_others_do_not() {
        let mut all = Descendants::new(ROOT);
        for record in [
            // Its ring was read before that with the forks.
            sampled(30, 102, 102),
            sampled(11, 101, 101),
            sampled(12, 7, 7),
            sampled(13, ROOT, 105),
            sampled(14, ROOT, ROOT),
            Record::Forked { time_ns: 10, parent: ROOT, child: 101 },
            Record::Forked { time_ns: 20, parent: 101, child: 102 },
            Record::Forked { time_ns: 21, parent: 7, child: 8 },
            sampled(22, 8, 8),
        ] {
            all.add(record);
        }
        assert_eq!(settled(&mut all, 30), [(11, 0x40), (13, 0x40)], "the first thread has its own sampler");
        assert_eq!(settled(&mut all, u64::MAX), [(30, 0x40)]);
    }

    #[test]
    fn another_program_has_other_addresses_and_a_number_may_be_given_again() {
        let mut all = Descendants::new(ROOT);
        for record in [
            Record::Forked { time_ns: 1, parent: ROOT, child: 101 },
            Record::Executed { time_ns: 3, process: 101 },
            sampled(2, 101, 101),
            sampled(4, 101, 101),
            Record::Forked { time_ns: 5, parent: 7, child: 101 },
            sampled(6, 101, 101),
        ] {
            all.add(record);
        }
        assert_eq!(settled(&mut all, u64::MAX), [(2, 0x40), (4, 0)]);
    }

    #[test]
    fn a_function_has_one_address_in_all_executions_of_its_program() {
        let mut all = Descendants::new(ROOT);
        for (time_ns, process, start) in [(10, 101, 0x30), (20, 102, 0x20)] {
            let mapping =
                CodeMapping { start, end: start + 0x30, offset: 0, inode: 7, path: "/bin/true".to_owned() };
            all.add(Record::Forked { time_ns, parent: ROOT, child: process });
            all.add(Record::Executed { time_ns: time_ns + 1, process });
            all.add(Record::Mapped { time_ns: time_ns + 2, process, mapping });
            all.add(sampled(time_ns + 3, process, process));
        }
        assert_eq!(settled(&mut all, u64::MAX), [(13, MOVED + 0x10), (23, MOVED + 0x20)]);
        let code: Vec<(u64, u64)> = all.code().iter().map(|code| (code.start, code.end)).collect();
        assert_eq!(code, [(MOVED, MOVED + 0x30)]);
    }
}
