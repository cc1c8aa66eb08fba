//! Cost of one more message queue, or of one more message in a queue, while n exist.
//!
//! **Question.** What does it cost to create, use and remove a message queue when n exist? What does a
//! message cost when n wait in the same queue?
//!
//! **Method.** With `posix` and `sysv` queues are created, each call timed, and kept. After each, a byte is
//! sent to one of them, chosen at random, and received, each call timed. At the end all are removed in random
//! order. With `posix-messages` and `sysv-messages` n messages of one byte are sent to one queue, and then
//! received. The messages of POSIX have random priorities, and the highest comes first; those of System V
//! have types, which are requested in random order. No call waits. What a killed trial leaves is removed by
//! its janitor.
//!
//! **Expected answer.** Flat for queues. A message of POSIX is logarithmic: priorities are in a tree
//! (ipc/mqueue.c). A message of System V is sent in constant time and received in linear time, because the
//! list of the queue is searched for its type (ipc/msg.c). Limits are low: 256 queues of POSIX for a user
//! (`fs.mqueue.queues_max`), with 10 messages each, and 16 KiB in a queue of System V (`kernel.msgmnb`).

use workload::resource::{
    DESCRIPTORS, MEMORY, MESSAGE_QUEUES, POSIX_MESSAGES, POSIX_QUEUE_BYTES, POSIX_QUEUES, QUEUE_BYTES,
};
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "queue",
    source: workload::page!("queue.rs"),
    grows: "message queues, or messages in one",
    variants: &[
        Variant { name: "posix", summary: "queues of POSIX, mq_open(3)" },
        Variant { name: "sysv", summary: "queues of System V, msgget(2)" },
        Variant { name: "posix-messages", summary: "messages in one queue of POSIX" },
        Variant { name: "sysv-messages", summary: "messages in one queue of System V" },
    ],
    operations: &[
        Operation::up("create", Expect::Constant, "one mq_open(3) or msgget(2)").only(QUEUES),
        Operation::up("send", Expect::Constant, "one mq_send(3) or msgsnd(2)")
            .except(&[("posix-messages", Expect::Logarithmic)]),
        Operation::up("receive", Expect::Constant, "one mq_receive(3) or msgrcv(2)").only(QUEUES),
        Operation::down("remove", Expect::Constant, "one mq_unlink(3) or msgctl(2), in random order")
            .only(QUEUES),
        Operation::down("take", Expect::Linear, "one mq_receive(3), or msgrcv(2) of a type, in random order")
            .except(&[("posix-messages", Expect::Logarithmic)])
            .only(&["posix-messages", "sysv-messages"]),
    ],
    needs: &[
        Need::new(POSIX_QUEUES, 1).only_in(&["posix"]),
        Need::new(POSIX_QUEUE_BYTES, POSIX_MESSAGE_BYTES).only_in(&["posix", "posix-messages"]),
        Need::new(DESCRIPTORS, 1).only_in(&["posix"]),
        Need::new(MESSAGE_QUEUES, 1).only_in(&["sysv"]),
        Need::new(POSIX_MESSAGES, 1).only_in(&["posix-messages"]),
        Need::new(QUEUE_BYTES, 1).only_in(&["sysv-messages"]),
        Need::new(MEMORY, 2 << 10),
    ],
    run: on_linux!(measured::run, "message queues that a killed trial leaves are removed on Linux only"),
    ..Workload::CURVE
};

const QUEUES: &[&str] = &["posix", "sysv"];

/// Linux counts for each message of a queue a `struct msg_msg` of 48 bytes, a node of the tree of 48 bytes,
/// and its byte: `mqueue_get_inode` in ipc/mqueue.c.
const POSIX_MESSAGE_BYTES: u64 = 97;

#[cfg(target_os = "linux")]
mod measured {
    use std::ffi::CString;
    use std::io;

    use sys::message_queue::{PosixQueue, SystemVQueue};
    use sys::persistent::{PersistentKind, PersistentNames};
    use workload::{Trial, TrialError};

    /// Any type but 0.
    const ANY: u32 = 1;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let is_posix = trial.variant().starts_with("posix");
        let kind = if is_posix { PersistentKind::PosixQueue } else { PersistentKind::MessageQueue };
        let count = if trial.variant().ends_with("messages") { 1 } else { trial.n() };
        let names = PersistentNames::reserve(trial.scratch(), kind, count)
            .map_err(TrialError::at("to choose names for the queues"))?;
        let posix_names = (0..count).map(|place| PosixQueue::name(names.number(place)));
        let posix_names = TrialError::collect("to name the queues", posix_names)?;
        match trial.variant() {
            "posix" => {
                let create = |place: usize| PosixQueue::create(&posix_names[place], 1);
                let receive = |queue: &PosixQueue| queue.receive().map(|(_, byte)| byte);
                // The queue goes with its last descriptor and its name.
                let close = |place: usize, queue| {
                    drop::<PosixQueue>(queue);
                    &posix_names[place]
                };
                queues(
                    trial,
                    create,
                    |queue, byte| queue.send(0, byte),
                    receive,
                    close,
                    |name| PosixQueue::unlink(name),
                )
            }
            "sysv" => {
                let create = |place| SystemVQueue::create(names.number(place));
                let send = |queue: &SystemVQueue, byte| queue.send(ANY, byte);
                queues(
                    trial,
                    create,
                    send,
                    |queue| queue.receive(ANY),
                    |_, queue| queue,
                    SystemVQueue::remove,
                )
            }
            "posix-messages" => posix_messages(trial, &posix_names[0]),
            _ => system_v_messages(trial, names.number(0)),
        }
    }

    fn queues<Q, R>(
        trial: &mut Trial<'_>,
        create: impl Fn(usize) -> io::Result<Q>,
        send: impl Fn(&Q, u8) -> io::Result<()>,
        receive: impl Fn(&Q) -> io::Result<u8>,
        close: impl Fn(usize, Q) -> R,
        remove: impl Fn(R) -> io::Result<()>,
    ) -> Result<(), TrialError> {
        let mut choice = fastrand::Rng::with_seed(trial.seed());
        let (mut queues, mut wrong) = (Vec::with_capacity(trial.n()), 0);
        let kept = trial.compact_steps(&["create", "send", "receive"], |n, lap| {
            let queue = create(n)?;
            lap.mark();
            queues.push(queue);
            let (chosen, byte) = (&queues[choice.usize(..=n)], choice.u8(..));
            lap.skip();
            send(chosen, byte)?;
            lap.mark();
            let received = receive(chosen)?;
            lap.mark();
            wrong += usize::from(received != byte);
            lap.skip();
            Ok(())
        })?;
        trial.check("every byte was received from its queue", wrong == 0);
        queues.truncate(kept.len());
        let queues = trial.shuffled(queues.into_iter().enumerate().collect());
        trial.compact_steps_back(&["remove"], queues, |(place, queue), lap| {
            let closed = close(place, queue);
            lap.skip();
            remove(closed)?;
            lap.mark();
            Ok(())
        })
    }

    fn posix_messages(trial: &mut Trial<'_>, name: &CString) -> Result<(), TrialError> {
        /// `MQ_PRIO_MAX`.
        const PRIORITIES: u32 = 32_768;
        let queue = PosixQueue::create(name, trial.n()).map_err(TrialError::at("to create a queue"))?;
        let mut random = fastrand::Rng::with_seed(trial.seed());
        let sent = trial.compact_steps(&["send"], |_, lap| {
            let priority = random.u32(..PRIORITIES);
            lap.skip();
            queue.send(priority, priority as u8)?;
            lap.mark();
            Ok(())
        })?;
        let (mut highest, mut wrong) = (PRIORITIES, 0);
        trial.compact_down("take", sent.into_iter(), |()| {
            let (priority, byte) = queue.receive()?;
            wrong += usize::from(priority > highest || byte != priority as u8);
            highest = priority;
            Ok(())
        })?;
        trial.check("messages came by their priorities, with their bytes", wrong == 0);
        Ok(())
    }

    fn system_v_messages(trial: &mut Trial<'_>, key: u32) -> Result<(), TrialError> {
        let queue = SystemVQueue::create(key).map_err(TrialError::at("to create a queue"))?;
        let kinds = trial.compact_steps(&["send"], |n, lap| {
            let kind = n as u32 + 1;
            queue.send(kind, kind as u8)?;
            lap.mark();
            Ok(kind)
        })?;
        let (kinds, mut wrong) = (trial.shuffled(kinds), 0);
        trial.compact_down("take", kinds, |kind| {
            wrong += usize::from(queue.receive(kind)? != kind as u8);
            Ok(())
        })?;
        trial.check("every message had the byte of its type", wrong == 0);
        Ok(())
    }
}
