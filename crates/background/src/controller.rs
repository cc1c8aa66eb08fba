//! Decides the work that is due at each moment. Pure: it is given the time and the kernel's counter.
//!
//! A load is held within windows. Within one, the work due is the target times the elapsed time, less the
//! count: so a pause in which others had the processor is made up for within its window. Work that is missing
//! at its end is dropped: a pause must not double the load of the next second.

use std::time::Duration;

/// The length of a window whose rate is recorded.
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Time between two pieces of work, where one is due so soon: long enough for little overhead, and short
/// enough for a hundred pieces in a second.
const PACE: Duration = Duration::from_millis(10);

/// A shorter sleep takes no less.
const PAUSE_LEAST: Duration = Duration::from_micros(50);

/// The most work that one window leaves to the next one, as a share of a window's work: less than half of the
/// 2 % to which a load is held.
const CARRIED_MOST: f64 = 0.005;

/// Work that is done in one go at most, in windows of a second: a piece must not overshoot.
const PIECE_SECONDS: f64 = 0.01;

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// So much work, now.
    Work(f64),
    /// Nothing, for this time.
    Wait(Duration),
}

/// The rate of a window that has passed, and how long it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    pub(crate) rate: f64,
    pub(crate) elapsed: Duration,
}

/// Holds a rate.
#[derive(Debug)]
pub(crate) struct Controller {
    /// The target per second.
    target: f64,
    /// The least work at once.
    grain: f64,
    window: Duration,
    /// The begin of the window, and the counter then.
    begun: Duration,
    base: f64,
    /// The remainder of the window before.
    carried: f64,
    /// Varies the pace.
    random: u64,
}

impl Controller {
    pub(crate) fn new(target: f64, grain: f64) -> Controller {
        Controller {
            target,
            grain,
            window: SECOND,
            begun: Duration::ZERO,
            base: 0.0,
            carried: 0.0,
            random: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// Begins a new window of that length; the remainder of the last one is forgotten.
    pub(crate) fn begin(&mut self, window: Duration, now: Duration, counted: f64) {
        (self.window, self.begun, self.base, self.carried) = (window, now, counted, 0.0);
    }

    /// The window that has passed, if it has; the next one begins at once.
    pub(crate) fn passed(&mut self, now: Duration, counted: f64) -> Option<Window> {
        let elapsed = now.saturating_sub(self.begun);
        if elapsed < self.window {
            return None;
        }
        let done = counted - self.base;
        let most = (self.target * self.window.as_secs_f64() * CARRIED_MOST).max(self.grain);
        self.carried = (self.carried + self.target * elapsed.as_secs_f64() - done).clamp(-most, most);
        (self.begun, self.base) = (now, counted);
        Some(Window { rate: done / elapsed.as_secs_f64(), elapsed })
    }

    /// The step that is due now.
    pub(crate) fn step(&mut self, now: Duration, counted: f64) -> Step {
        let elapsed = now.saturating_sub(self.begun);
        let due = self.target * elapsed.as_secs_f64() + self.carried - (counted - self.base);
        if due >= self.grain {
            return Step::Work(due.min((self.target * PIECE_SECONDS).max(self.grain)));
        }
        // Until a grain is due; and not in step with the ticks of the kernel, which would then always or
        // never find this process at work.
        let until_grain = Duration::try_from_secs_f64((self.grain - due) / self.target).unwrap_or(PACE);
        let pace = PACE.mul_f64(0.5 + self.random_share());
        // Ever shorter towards the end: work that is due in the last pause would be missing in the window.
        let pause = pace.min(self.window.saturating_sub(elapsed) / 2);
        Step::Wait(until_grain.min(SECOND).max(pause).max(PAUSE_LEAST))
    }

    /// From 0 to 1 (xorshift64, Marsaglia 2003).
    fn random_share(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A machine that does `speed` in a second of work, and stands still now and then.
    struct Machine {
        speed: f64,
        now: Duration,
        counted: f64,
        /// When it stands still, and for how long.
        pauses: Vec<(Duration, Duration)>,
    }

    impl Machine {
        fn pass(&mut self, time: Duration) {
            self.now += time;
            let now = self.now;
            if let Some(place) = self.pauses.iter().position(|(at, _)| *at <= now) {
                self.now += self.pauses.remove(place).1;
            }
        }

        /// The rates of this many windows.
        fn run(&mut self, controller: &mut Controller, windows: usize) -> Vec<f64> {
            let mut rates = Vec::new();
            controller.begin(SECOND, self.now, self.counted);
            while rates.len() < windows {
                rates.extend(controller.passed(self.now, self.counted).map(|window| window.rate));
                match controller.step(self.now, self.counted) {
                    Step::Work(amount) => {
                        self.counted += amount;
                        self.pass(Duration::from_secs_f64(amount / self.speed));
                    }
                    // A sleep takes longer than it is asked to.
                    Step::Wait(time) => self.pass(time + Duration::from_micros(60)),
                }
            }
            rates
        }
    }

    fn machine(speed: f64) -> Machine {
        Machine { speed, now: Duration::from_secs(7), counted: 1e6, pauses: Vec::new() }
    }

    #[test]
    fn a_machine_that_can_holds_it_within_one_percent() {
        for target in [0.01, 0.25, 0.5, 0.75, 0.95] {
            let mut controller = Controller::new(target, 1e-4);
            for rate in machine(1.0).run(&mut controller, 20) {
                assert!((rate / target - 1.0).abs() < 0.011, "{target}: {rate}");
            }
        }
    }

    #[test]
    fn a_machine_that_cannot_does_what_it_can() {
        let mut controller = Controller::new(20e9, 4096.0);
        for rate in machine(0.4e9).run(&mut controller, 3) {
            assert!((rate / 0.4e9 - 1.0).abs() < 0.02, "{rate}");
        }
    }

    #[test]
    fn a_pause_is_made_up_for_in_its_second_and_not_in_the_next() {
        let mut controller = Controller::new(0.5, 2e-4);
        let mut machine = machine(1.0);
        let at = |seconds: f64| Duration::from_secs_f64(7.0 + seconds);
        machine.pauses = vec![(at(1.2), Duration::from_millis(300)), (at(3.6), Duration::from_millis(900))];
        let rates = machine.run(&mut controller, 6);
        let is_held = |rate: f64| (rate / 0.5 - 1.0).abs() < 0.02;
        assert!(is_held(rates[0]) && is_held(rates[1]), "made up for: {rates:?}");
        assert!(rates[3] < 0.45, "it was too long for that: {rates:?}");
        assert!(is_held(rates[4]) && is_held(rates[5]), "and the next ones are as before: {rates:?}");
    }

    #[test]
    fn few_large_grains_are_held_too() {
        let mut controller = Controller::new(100.0, 1.0);
        for rate in machine(1e5).run(&mut controller, 10) {
            assert!((rate / 100.0 - 1.0).abs() < 0.02, "{rate}");
        }
    }

    proptest! {
        #[test]
        fn never_more_than_is_due(target in 0.05..0.9_f64, pause in 0..400_u64, at in 0.0..3.0_f64) {
            let mut controller = Controller::new(target, 2e-4);
            let mut machine = machine(1.0);
            machine.pauses = vec![(Duration::from_secs_f64(7.0 + at), Duration::from_millis(pause))];
            for rate in machine.run(&mut controller, 5) {
                prop_assert!(rate < target * 1.02, "{} of {}", rate, target);
            }
        }
    }
}
