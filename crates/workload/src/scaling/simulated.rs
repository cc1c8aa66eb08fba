//! A simulated world for rounds: workers of different speed, and faults that are planted in one of them.

use fastrand::Rng;

use super::*;

/// A departure of one worker from the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    NeverArrives,
    DiesInTheMiddle,
    HangsInTheOperation,
    /// It does not wait for the others.
    BeginsEarly,
    /// It is stopped for half of the window.
    IsStopped,
    /// Another process has its processor for half of the window.
    LosesItsProcessor,
    /// It adds each operation twice.
    CountsTwice,
}

const WINDOW: u64 = 100_000;
const TIMES: RoundTimes = RoundTimes { window: WINDOW, patience: 50_000, ticks_per_ns: 1.0 };

struct SimulatedWorker<'a> {
    member: Option<Member<'a>>,
    fault: Fault,
    /// When it next does something.
    at: u64,
    operation: u64,
    /// Operations that it really did.
    truth: u64,
    is_operating: bool,
    stopped: u64,
    is_dead: bool,
}

/// Plays one round, with a fault in the last worker. Returns the leader's result and the true counts.
fn play(workers: usize, fault: Fault, seed: u64) -> (Result<Round, Void>, Vec<u64>) {
    let mut rng = Rng::with_seed(seed);
    let numbers: Vec<AtomicU64> = (0..Board::needed(workers)).map(|_| AtomicU64::new(7)).collect();
    let board = Board::new(&numbers);
    let mut leader = Leader::begin(board, workers, 1, TIMES, 0);
    let mut workers_of_round: Vec<SimulatedWorker<'_>> = (0..workers)
        .map(|number| SimulatedWorker {
            member: None,
            fault: if number + 1 == workers { fault } else { Fault::None },
            at: rng.u64(0..20_000),
            operation: rng.u64(20..200),
            truth: 0,
            is_operating: false,
            stopped: 0,
            is_dead: false,
        })
        .collect();
    let mut leader_at = 0;
    loop {
        let next = (0..workers)
            .filter(|&worker| !workers_of_round[worker].is_dead)
            .min_by_key(|&worker| workers_of_round[worker].at);
        match next.filter(|&worker| workers_of_round[worker].at <= leader_at) {
            Some(worker) => step(&mut workers_of_round[worker], board, worker, &mut rng),
            None => {
                let ended = workers_of_round
                    .iter()
                    .position(|worker| worker.is_dead && worker.fault == Fault::DiesInTheMiddle);
                match leader.step(leader_at, ended) {
                    LeaderStep::WaitUntil(until) => leader_at = until.min(leader_at + 10_000),
                    LeaderStep::Watch => leader_at += rng.u64(1..100),
                    LeaderStep::Over(result) => {
                        return (result, workers_of_round.iter().map(|worker| worker.truth).collect());
                    }
                }
            }
        }
    }
}

fn step<'a>(worker: &mut SimulatedWorker<'a>, board: Board<'a>, number: usize, rng: &mut Rng) {
    let now = worker.at;
    let Some(member) = &mut worker.member else {
        if worker.fault == Fault::NeverArrives {
            worker.is_dead = true;
            return;
        }
        worker.member = Some(Member::arrive(board, number, 1));
        worker.at += 1;
        return;
    };
    if worker.is_operating {
        worker.truth += 1;
        worker.is_operating = false;
    }
    if worker.fault == Fault::BeginsEarly && !member.is_begun {
        if member.begin == 0 {
            member.begin = now;
        }
        if board.is_before(1) {
            worker.is_operating = true;
            member.count += 1;
            worker.at += worker.operation;
            return;
        }
        member.is_begun = true;
    }
    match member.step(|| now) {
        MemberStep::Wait => worker.at += rng.u64(1..50),
        MemberStep::Over => {
            let delay_ns = if worker.fault == Fault::LosesItsProcessor { worker.stopped } else { 0 };
            let usage = Usage { cpu_ns: now - member.begin, delay_ns, switches: 0 };
            worker.member.take().expect("a member").conclude(now, usage);
            worker.is_dead = true;
        }
        MemberStep::Operate => {
            worker.is_operating = true;
            worker.at += rng.u64(worker.operation / 2..worker.operation * 2);
            let is_late = now.saturating_sub(member.begin) > WINDOW / 4;
            match worker.fault {
                Fault::CountsTwice => member.count += 1,
                Fault::DiesInTheMiddle if is_late => worker.is_dead = true,
                Fault::HangsInTheOperation if is_late => worker.at = u64::MAX,
                Fault::IsStopped | Fault::LosesItsProcessor if is_late && worker.stopped == 0 => {
                    worker.stopped = WINDOW / 2;
                    worker.at += worker.stopped;
                }
                _ => {}
            }
        }
    }
}

#[test]
fn every_operation_counts_once() {
    for seed in 0..500 {
        let (result, truth) = play(1 + seed as usize % 7, Fault::None, seed);
        let round = result.expect("a round");
        assert_eq!(round.counts, truth, "seed {seed}");
        for ticks in round.ticks {
            assert!((WINDOW - 100..WINDOW + WINDOW / 50).contains(&ticks), "seed {seed}: {ticks}");
        }
    }
}

#[test]
fn a_round_with_a_fault_does_not_count() {
    for seed in 0..200 {
        let workers = 2 + seed as usize % 5;
        let last = workers - 1;
        let of = |fault| play(workers, fault, seed).0.expect_err("a void round");
        assert_eq!(of(Fault::NeverArrives), Void::Absent { worker: last });
        assert_eq!(of(Fault::DiesInTheMiddle), Void::Ended { worker: last });
        assert_eq!(of(Fault::HangsInTheOperation), Void::Endless { worker: last });
        assert!(matches!(of(Fault::LosesItsProcessor), Void::Waited { share, .. } if share > 0.4));
    }
}

/// One that begins when it arrives has the machine to itself until the last has arrived.
#[test]
fn workers_that_do_not_begin_together_do_not_count() {
    let apart =
        (0..200).filter(|&seed| matches!(play(4, Fault::BeginsEarly, seed).0, Err(Void::Apart { .. })));
    assert!(apart.count() > 100);
}

/// Workers do not wait for the leader to count.
#[test]
fn a_worker_may_arrive_at_the_next_round_before_the_last_is_counted() {
    let numbers: Vec<AtomicU64> = (0..Board::needed(1)).map(|_| AtomicU64::new(0)).collect();
    let board = Board::new(&numbers);
    for round in 1..=2 {
        let mut member = Member::arrive(board, 0, round);
        let mut leader = Leader::begin(board, 1, round, TIMES, 0);
        assert_eq!(leader.step(1, None), LeaderStep::WaitUntil(WINDOW + 1));
        assert_eq!(member.step(|| 2), MemberStep::Operate);
        assert_eq!(member.step(|| 3), MemberStep::Operate);
        assert_eq!(leader.step(WINDOW + 1, None), LeaderStep::Watch);
        assert_eq!(member.step(|| 4), MemberStep::Over);
        member.conclude(WINDOW + 2, Usage::default());
        if round == 1 {
            Member::arrive(board, 0, 2);
        }
        let LeaderStep::Over(Ok(counted)) = leader.step(WINDOW + 3, None) else { panic!("a round") };
        assert_eq!(counted.counts, [2]);
    }
}

/// A stopped worker counts less, which the fairness shows; time that it did not ask for is no wait.
#[test]
fn a_stopped_worker_is_slow() {
    let (result, truth) = play(2, Fault::IsStopped, 3);
    let (whole, _) = play(2, Fault::None, 3);
    let (stopped, whole) = (result.expect("a round"), whole.expect("a round"));
    assert_eq!(stopped.counts, truth);
    assert!(stopped.counts[1] < whole.counts[1] * 2 / 3, "{stopped:?} {whole:?}");
}

/// A worker may fail after the leader has looked for one that did, and before it looks for the last to end.
#[test]
fn a_worker_that_fails_has_not_come_to_the_end() {
    let numbers: Vec<AtomicU64> = (0..Board::needed(1)).map(|_| AtomicU64::new(0)).collect();
    let board = Board::new(&numbers);
    refuse(board, 0, 24);
    assert!(board.is_refused(0) && !board.has_come_to(0, 1, DONE));
    let step = Leader::begin(board, 1, 1, TIMES, 0).step(1, None);
    assert_eq!(step, LeaderStep::Over(Err(Void::Refused { errno: 24 })));
}

/// The simulation would notice a protocol that counts wrongly.
#[test]
fn a_worker_that_counts_twice_is_noticed_here() {
    let (result, truth) = play(3, Fault::CountsTwice, 5);
    assert_ne!(result.expect("a round").counts, truth);
}
