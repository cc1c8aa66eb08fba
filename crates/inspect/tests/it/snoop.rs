//! The architecture of a server, from small evidence like that of real servers.

use std::collections::BTreeMap;

use inspect::snoop::{
    Clue, Confidence, ConnectionEvidence, EpollEvidence, Missing, Moment, Prediction, ProcessEvidence,
    Recognition, ServerArchitecture, ServerEvidence, Stage, TaskEvidence,
};
use sys::process_table::{EpollWatch, ProcessMemory, ThreadUse, ThreadWait, WaitCall, WaitSource};

const LISTENER: u64 = 7;
const IN: u32 = 0x19;
const EDGE: u32 = 1 << 31;
const OUT: u32 = 4;
const ONCE: u32 = 1 << 30;

fn wait(call: WaitCall, descriptor: Option<i32>, descriptors: Option<u64>) -> ThreadWait {
    ThreadWait { call, descriptor, descriptors, source: WaitSource::SystemCall }
}

fn task(thread: u32, seen: ThreadWait, waits: u64) -> TaskEvidence {
    let used = ThreadUse { waits, cpu_seconds: waits as f64 * 1e-4, ..ThreadUse::default() };
    TaskEvidence { thread, used, is_followed: true, waits: BTreeMap::from([(seen, 10)]) }
}

/// A process with the listening socket as descriptor 3 and so many connections from descriptor 4 on.
fn process(pid: u32, first: u64, connections: usize, tasks: Vec<TaskEvidence>) -> ProcessEvidence {
    let connection = |index: usize| ConnectionEvidence {
        descriptor: 4 + index as i32,
        inode: first + index as u64,
        sends_signals: Some(false),
    };
    ProcessEvidence {
        pid,
        parent: if pid == 1000 { 1 } else { 1000 },
        threads: tasks.len() as u64,
        listening: vec![LISTENER],
        connections: (0..connections).map(connection).collect(),
        memory: Some(ProcessMemory {
            resident_bytes: 1 << 20,
            proportional_bytes: Some((1 << 20) + 1000 * connections as u64),
            private_bytes: None,
        }),
        tasks,
        ..ProcessEvidence::default()
    }
}

/// The same with all of it in an epoll set, descriptor 99.
fn watching(mut process: ProcessEvidence, listening: u32, connections: u32) -> ProcessEvidence {
    let watch = |descriptor, events, inode| EpollWatch { descriptor, events, inode: Some(inode) };
    let watched =
        process.connections.iter().map(|one| watch(one.descriptor, connections, one.inode)).collect();
    process.epolls = vec![EpollEvidence {
        descriptor: 99,
        listening: vec![watch(3, listening, LISTENER)],
        connections: watched,
    }];
    process
}

fn moment(stage: Stage, processes: Vec<ProcessEvidence>) -> Moment {
    Moment { stage, processes, unaccepted: 0 }
}

fn judged(moments: Vec<Moment>) -> Recognition {
    let evidence = ServerEvidence { root: 1000, processors: 2, moments, missing: Missing::default() };
    Recognition::of(&evidence).expect("an answer")
}

fn predicted(answer: &Recognition) -> &Prediction {
    answer.prediction.as_ref().expect("a prediction")
}

fn epoll_wait() -> ThreadWait {
    wait(WaitCall::Epoll, Some(99), None)
}

#[test]
fn the_same_process_is_another_server_by_how_it_waits() {
    let cases = [
        (wait(WaitCall::Select, None, Some(30)), ServerArchitecture::Select),
        (wait(WaitCall::Poll, None, Some(21)), ServerArchitecture::Poll),
    ];
    for (seen, expected) in cases {
        let at = |connections| vec![process(1000, 100, connections, vec![task(1, seen.clone(), 1)])];
        let answer = judged(vec![moment(Stage::Found, at(0)), moment(Stage::Held(20), at(20))]);
        assert_eq!((answer.architecture, answer.confidence), (expected, Confidence::Sure));
        assert_eq!(predicted(&answer).threads, Some(1.0), "it has as many threads at 10,000 connections");
    }
    let events = [
        (IN, IN, ServerArchitecture::Epoll),
        (IN, IN | EDGE, ServerArchitecture::EpollEdge),
        (IN | OUT | EDGE, IN | OUT | EDGE, ServerArchitecture::Coroutines),
        (IN | ONCE, IN | ONCE, ServerArchitecture::Coroutines),
    ];
    for (listening, connections, expected) in events {
        let at = |held| {
            vec![watching(process(1000, 100, held, vec![task(1, epoll_wait(), 1)]), listening, connections)]
        };
        let answer = judged(vec![moment(Stage::Found, at(0)), moment(Stage::Held(20), at(20))]);
        assert_eq!(answer.architecture, expected);
    }
}

#[test]
fn what_became_of_the_processes_tells_fork_from_prefork() {
    let accepting = || wait(WaitCall::Accept, Some(3), None);
    let reading = || wait(WaitCall::Read, Some(4), None);
    let parent = || process(1000, 0, 0, vec![task(1, accepting(), 1)]);
    let children = |connections| {
        let child = |pid: u32| process(pid, u64::from(pid), connections, vec![task(pid, reading(), 1)]);
        (2000..2012).map(child).collect::<Vec<_>>()
    };
    let held = || [vec![parent()], children(1)].concat();
    let forks = judged(vec![
        moment(Stage::Found, vec![parent()]),
        moment(Stage::Held(12), held()),
        moment(Stage::After, vec![parent()]),
    ]);
    assert_eq!((forks.architecture, forks.confidence), (ServerArchitecture::Fork, Confidence::Sure));
    assert!(forks.reasons.contains(&Clue::EndedWithConnection { processes: 12, of: 12 }), "{forks:?}");
    // The parent is one process more.
    assert_eq!(predicted(&forks).processes, Some(13.0 + 9988.0));
    let keeps = judged(vec![
        moment(Stage::Found, [vec![parent()], children(0)].concat()),
        moment(Stage::Held(12), held()),
        moment(Stage::After, [vec![parent()], children(0)].concat()),
    ]);
    assert_eq!(keeps.architecture, ServerArchitecture::Prefork);
    assert!(keeps.reasons.contains(&Clue::Outlived { processes: 12, of: 12 }), "{keeps:?}");
}

#[test]
fn a_program_that_has_the_connection_as_its_input_is_that_of_inetd() {
    let parent = || process(1000, 0, 0, vec![task(1, wait(WaitCall::Select, None, Some(4)), 1)]);
    let child = |pid: u32| {
        let mut child =
            process(pid, u64::from(pid), 1, vec![task(pid, wait(WaitCall::Read, Some(0), None), 1)]);
        child.connections[0].descriptor = 0;
        child.listening.clear();
        child.program = Some("/usr/bin/cat".to_owned());
        child
    };
    let held = [vec![parent()], (2000..2005).map(child).collect()].concat();
    let answer = judged(vec![moment(Stage::Found, vec![parent()]), moment(Stage::Held(5), held)]);
    assert_eq!(answer.architecture, ServerArchitecture::Inetd);
}

#[test]
fn threads_that_grow_are_one_each_and_threads_that_do_not_are_a_pool() {
    let accepting = |thread| task(thread, wait(WaitCall::Accept, Some(3), None), 1);
    let reading = |index: u32| task(100 + index, wait(WaitCall::Read, Some(4 + index as i32), None), 1);
    let with = |tasks: Vec<TaskEvidence>, held| vec![process(1000, 100, held, tasks)];
    let each = judged(vec![
        moment(Stage::Found, with(vec![accepting(1)], 0)),
        moment(Stage::Held(20), with([vec![accepting(1)], (0..20).map(reading).collect()].concat(), 20)),
    ]);
    assert_eq!(each.architecture, ServerArchitecture::Thread);
    assert_eq!(predicted(&each).threads, Some(21.0 + 9980.0));
    let mut full = moment(Stage::Held(20), with((0..8).map(reading).collect(), 8));
    full.unaccepted = 12;
    let pool = judged(vec![moment(Stage::Found, with((100..108).map(accepting).collect(), 0)), full]);
    assert_eq!(pool.architecture, ServerArchitecture::Pool);
    assert_eq!(predicted(&pool).at_most, Some(8), "the others wait");
}

#[test]
fn several_loops_are_a_hybrid_and_one_below_a_master_is_not() {
    let master = || process(1000, 0, 0, vec![task(1, wait(WaitCall::Signal, None, None), 1)]);
    let worker = |pid, held| {
        watching(process(pid, u64::from(pid) * 100, held, vec![task(pid, epoll_wait(), 1)]), IN, IN)
    };
    let two = |held| vec![master(), worker(2000, held), worker(2001, held)];
    let answer = judged(vec![moment(Stage::Found, two(0)), moment(Stage::Held(20), two(10))]);
    assert_eq!(
        (answer.architecture, answer.mechanism),
        (ServerArchitecture::Hybrid, ServerArchitecture::Epoll)
    );
    assert!(answer.workers == 2 && answer.has_supervisor);
    let one = |held| vec![master(), worker(2000, held)];
    let answer = judged(vec![moment(Stage::Found, one(0)), moment(Stage::Held(20), one(20))]);
    assert_eq!(answer.architecture, ServerArchitecture::Epoll);
}

#[test]
fn threads_that_work_beside_a_loop_are_a_pool_and_idle_helpers_are_not() {
    let with = |held, pool_waits| {
        let pool = (10..20).map(|thread| task(thread, wait(WaitCall::Futex, None, None), pool_waits));
        let tasks = [vec![task(1, epoll_wait(), 1 + held as u64)], pool.collect()].concat();
        vec![watching(process(1000, 100, held, tasks), IN, IN)]
    };
    let idle = judged(vec![moment(Stage::Found, with(0, 5)), moment(Stage::Held(20), with(20, 5))]);
    assert_eq!(idle.architecture, ServerArchitecture::Epoll);
    let busy = judged(vec![moment(Stage::Found, with(0, 5)), moment(Stage::Held(20), with(20, 25))]);
    assert!(busy.architecture == ServerArchitecture::Hybrid && busy.has_pool, "{busy:?}");
}

/// A loop with 20 connections and threads that wait to be woken, each of which was woken so often.
fn beside_a_loop(woken: &[u64], threads: u64) -> Recognition {
    let with = |held: usize, woken: &[u64]| {
        let beside = woken.iter().zip(10..);
        let beside = beside.map(|(waits, thread)| task(thread, wait(WaitCall::Futex, None, None), 5 + waits));
        let tasks = [vec![task(1, epoll_wait(), 1 + held as u64)], beside.collect()].concat();
        let process = process(1000, 100, held, tasks);
        vec![watching(ProcessEvidence { threads: threads.max(process.threads), ..process }, IN, IN)]
    };
    let idle = vec![0; woken.len()];
    judged(vec![moment(Stage::Found, with(0, &idle)), moment(Stage::Held(20), with(20, woken))])
}

#[test]
fn threads_that_no_connection_woke_are_helpers() {
    let helpers = beside_a_loop(&[3, 3, 3, 3, 3], 0);
    assert_eq!(helpers.architecture, ServerArchitecture::Epoll, "15 times for 20 connections");
    assert_eq!(helpers.confidence, Confidence::Sure);
    // Two that are woken for each connection are a small pool, or those of a runtime.
    let two = beside_a_loop(&[10, 10], 0);
    assert_eq!((two.architecture, two.confidence), (ServerArchitecture::Epoll, Confidence::Likely));
    assert_eq!(two.alternatives, [ServerArchitecture::Hybrid]);
}

#[test]
fn threads_that_were_looked_at_stand_for_those_that_were_not() {
    let all = beside_a_loop(&[5; 4], 0);
    assert!(all.has_pool && all.confidence == Confidence::Sure, "{all:?}");
    // One of a hundred was sampled: the two that worked represent all.
    let sample = [&[1, 1][..], &[0; 8]].concat();
    let few = beside_a_loop(&sample, 1100);
    assert!(few.has_pool && few.threads == 200, "{few:?}");
    assert_eq!(few.confidence, Confidence::Likely, "most were not looked at");
    assert!(few.doubts.contains(&Clue::ThreadsNotSeen { threads: 1089 }), "{few:?}");
}

#[test]
fn a_pool_that_grows_with_its_work_is_one_as_well() {
    let with = |held: usize, threads: u32| {
        let pool = (10..10 + threads).map(|thread| task(thread, wait(WaitCall::Futex, None, None), 8));
        let tasks = [vec![task(1, epoll_wait(), 1 + held as u64)], pool.collect()].concat();
        vec![watching(process(1000, 100, held, tasks), IN, IN)]
    };
    let grown = judged(vec![moment(Stage::Found, with(0, 0)), moment(Stage::Held(40), with(40, 6))]);
    assert!(grown.architecture == ServerArchitecture::Hybrid && grown.has_pool, "{grown:?}");
}

#[test]
fn a_loop_that_hands_connections_to_threads_has_a_pool() {
    // Eight threads read one connection each, and the loop watches some of the others; the rest are queued.
    let reading = |index: i32| task(100 + index as u32, wait(WaitCall::Read, Some(4 + index), None), 1);
    for watched in [6, 0] {
        let tasks = [vec![task(1, epoll_wait(), 1)], (0..8).map(reading).collect()].concat();
        let mut held = watching(process(1000, 100, 20, tasks), IN, IN);
        held.epolls[0].connections.truncate(watched);
        let idle = watching(process(1000, 0, 0, vec![task(1, epoll_wait(), 1)]), IN, IN);
        let answer = judged(vec![moment(Stage::Found, vec![idle]), moment(Stage::Held(20), vec![held])]);
        assert!(answer.architecture == ServerArchitecture::Hybrid && answer.has_pool, "{answer:?}");
    }
}

#[test]
fn threads_that_stay_after_their_connections_may_be_a_pool() {
    let reading = |index: u32| task(100 + index, wait(WaitCall::Read, Some(4 + index as i32), None), 1);
    let waiting = |index: u32| task(100 + index, wait(WaitCall::Futex, None, None), 1);
    let accepting = || vec![task(1, wait(WaitCall::Accept, Some(3), None), 1)];
    let with = |tasks: Vec<TaskEvidence>, held| vec![process(1000, 100, held, [accepting(), tasks].concat())];
    let answer = |after: Vec<TaskEvidence>| {
        judged(vec![
            moment(Stage::Found, with(Vec::new(), 0)),
            moment(Stage::Held(20), with((0..20).map(reading).collect(), 20)),
            moment(Stage::After, with(after, 0)),
        ])
    };
    let ended = answer(Vec::new());
    assert_eq!((ended.architecture, ended.confidence), (ServerArchitecture::Thread, Confidence::Sure));
    let stayed = answer((0..20).map(waiting).collect());
    assert_eq!((stayed.architecture, stayed.confidence), (ServerArchitecture::Thread, Confidence::Likely));
    assert_eq!(stayed.alternatives, [ServerArchitecture::Pool]);
}

#[test]
fn a_ring_for_files_makes_no_event_loop() {
    let tasks = vec![
        task(1, wait(WaitCall::Poll, None, Some(3)), 1),
        task(2, wait(WaitCall::Ring, Some(9), None), 1),
    ];
    let mut database = process(1000, 0, 0, tasks);
    database.descriptors.rings = 1;
    assert_ne!(judged(vec![moment(Stage::Found, vec![database])]).architecture, ServerArchitecture::Ring);
    let mut server = process(1000, 100, 20, vec![task(1, wait(WaitCall::Ring, Some(9), None), 1)]);
    server.descriptors.rings = 1;
    assert_eq!(judged(vec![moment(Stage::Found, vec![server])]).architecture, ServerArchitecture::Ring);
}

#[test]
fn an_idle_server_is_a_guess_with_alternatives() {
    let idle = process(1000, 0, 0, vec![task(1, wait(WaitCall::Accept, Some(3), None), 1)]);
    let answer = judged(vec![moment(Stage::Found, vec![idle])]);
    assert_eq!(answer.confidence, Confidence::Guess);
    assert!(answer.alternatives.contains(&ServerArchitecture::Thread), "{answer:?}");
    assert!(answer.doubts.contains(&Clue::FewConnections { connections: 0 }));
    assert_eq!(answer.prediction, None, "nothing follows from a guess");
}

#[test]
fn nothing_seen_is_no_answer() {
    let evidence = |moments| ServerEvidence { root: 1000, moments, ..ServerEvidence::default() };
    assert!(Recognition::of(&evidence(Vec::new())).is_none());
    let hidden = process(1000, 0, 0, Vec::new());
    assert!(Recognition::of(&evidence(vec![moment(Stage::Found, vec![hidden])])).is_none());
}

/// A process with one thread and one connection, and others that wait to be accepted.
fn one_by_one(stage: Stage, unaccepted: u64, seen: ThreadWait) -> Moment {
    Moment { unaccepted, ..moment(stage, vec![process(1000, 100, 1, vec![task(1000, seen, 1)])]) }
}

#[test]
fn a_process_that_leaves_all_but_one_waiting_serves_one_after_the_other() {
    let reading = || wait(WaitCall::Read, Some(4), None);
    // None of our connections is open.
    let found = judged(vec![one_by_one(Stage::Found, 3, reading())]);
    assert_eq!((found.architecture, found.confidence), (ServerArchitecture::Iterative, Confidence::Likely));
    assert!(found.reasons.contains(&Clue::Unaccepted { connections: 3 }), "{found:?}");
    assert_eq!((found.doubts.as_slice(), predicted(&found).at_most), (&[][..], Some(1)));
    let idle = process(1000, 0, 0, vec![task(1000, wait(WaitCall::Accept, Some(3), None), 1)]);
    let held = vec![moment(Stage::Found, vec![idle]), one_by_one(Stage::Held(40), 39, reading())];
    let held = judged(held);
    assert_eq!((held.architecture, held.confidence), (ServerArchitecture::Iterative, Confidence::Sure));
    // If no connection waits, one connection may have a process or a thread of its own.
    let alone = judged(vec![one_by_one(Stage::Found, 0, reading())]);
    assert_eq!(alone.confidence, Confidence::Guess);
    assert!(alone.alternatives.contains(&ServerArchitecture::Thread), "{alone:?}");
}

#[test]
fn a_superserver_that_waits_for_its_server_is_iterative_and_a_busy_worker_is_not() {
    let superserver = || process(1000, 0, 0, vec![task(1000, wait(WaitCall::Select, None, Some(8)), 1)]);
    let below = |program: Option<&str>| {
        let reading = wait(WaitCall::Read, Some(4), None);
        let mut child = process(2000, 200, 1, vec![task(2000, reading, 1)]);
        child.program = program.map(str::to_owned);
        Moment { unaccepted: 4, ..moment(Stage::Found, vec![superserver(), child]) }
    };
    assert_eq!(judged(vec![below(Some("/usr/bin/other"))]).architecture, ServerArchitecture::Iterative);
    assert_ne!(judged(vec![below(None)]).architecture, ServerArchitecture::Iterative);
}

#[test]
fn memory_that_did_not_grow_is_not_said_to_be_nothing_for_each() {
    let at = |held| {
        let mut process = watching(process(1000, 100, held, vec![task(1, epoll_wait(), 1)]), IN, IN);
        process.memory = Some(ProcessMemory { resident_bytes: 1 << 20, ..ProcessMemory::default() });
        vec![process]
    };
    let answer = judged(vec![moment(Stage::Found, at(0)), moment(Stage::Held(40), at(40))]);
    let predicted = predicted(&answer);
    assert!(predicted.is_memory_seen && predicted.connection_bytes.is_none(), "{predicted:?}");
}
