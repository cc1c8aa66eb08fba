//! Selects from the samples of a processor those of one process and its descendants, in the order of their
//! times.
//!
//! Each processor has a ring of its own, so a child's samples may be read before the record of its fork. They
//! wait until all rings have been read once more.

use std::collections::BTreeMap;

use super::Sample;
use super::records::Record;

/// The samples that wait, and the processes that they may be of.
#[derive(Debug)]
pub(super) struct Descendants {
    /// Its first thread is sampled elsewhere.
    root: u32,
    /// The root and its descendants, and whether each executes the same program.
    members: BTreeMap<u32, bool>,
    waiting: Vec<(u64, Event)>,
}

#[derive(Debug)]
enum Event {
    Forked { parent: u32, child: u32 },
    Executed { process: u32 },
    Sampled { process: u32, kernel: Vec<u64>, user: Vec<u64> },
}

/// An address in no file: addresses of another program mean nothing in the root's.
const ELSEWHERE: [u64; 1] = [0];

impl Descendants {
    pub(super) fn new(root: u32) -> Descendants {
        Descendants { root, members: BTreeMap::from([(root, true)]), waiting: Vec::new() }
    }

    /// Takes the records of a ring.
    pub(super) fn add(&mut self, record: Record<'_>) {
        let root = self.root;
        self.waiting.push(match record {
            Record::Forked { time_ns, parent, child } => (time_ns, Event::Forked { parent, child }),
            Record::Executed { time_ns, process } => (time_ns, Event::Executed { process }),
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
                    Some(&is_alike) => drop(self.members.insert(child, is_alike)),
                    None => drop(self.members.remove(&child)),
                },
                // A thread.
                Event::Forked { .. } => {}
                Event::Executed { process } => {
                    if let Some(is_alike) = self.members.get_mut(&process) {
                        *is_alike = false;
                    }
                }
                Event::Sampled { process, kernel, user } => {
                    let Some(&is_alike) = self.members.get(&process) else { continue };
                    let user = if is_alike || user.is_empty() { &user } else { &ELSEWHERE[..] };
                    on_sample(Sample { time_ns, kernel: &kernel, user, counters: &[] });
                }
            }
        }
    }
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
}
