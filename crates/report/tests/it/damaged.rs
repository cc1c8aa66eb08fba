//! Damaged run files are judged, compared and drawn as far as they can be read, and nothing panics.

use crate::damage;

use std::panic::catch_unwind;
use std::thread::{self, available_parallelism};

use fastrand::Rng;

/// Damages of each sample; `OSDYNO_SEEDS` changes how many there are. The fuzz target `record_drawn` tries more.
const DAMAGES: u64 = 50;

/// Otherwise the damages would meet nothing.
#[test]
fn the_samples_are_sound() {
    for sample in damage::samples() {
        let text = damage::text(&sample);
        let mut reader = record::Reader::new(text.as_slice(), "sample").expect("a run file");
        assert!(reader.by_ref().count() > 20);
        assert_eq!(reader.losses(), []);
        damage::draw(&text);
    }
}

#[test]
fn whatever_is_damaged_is_judged_and_drawn() {
    let samples = damage::samples();
    let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let damages = number("OSDYNO_SEEDS").unwrap_or(DAMAGES);
    let seeds = number("OSDYNO_SEED").map_or(0..damages * samples.len() as u64, |seed| seed..seed + 1);
    let (first, last) = (seeds.start, seeds.end);
    let threads = available_parallelism().map_or(1, usize::from);
    let failed: Vec<u64> = thread::scope(|scope| {
        let share = |thread| {
            let seeds = (first..last).skip(thread).step_by(threads);
            let samples = &samples;
            move || seeds.filter(|seed| catch_unwind(|| draw(*seed, samples)).is_err()).collect::<Vec<u64>>()
        };
        let shares: Vec<_> = (0..threads).map(|thread| scope.spawn(share(thread))).collect();
        shares.into_iter().flat_map(|share| share.join().expect("panics are caught")).collect()
    });
    assert!(failed.is_empty(), "OSDYNO_SEED repeats one of {failed:?}");
}

fn draw(seed: u64, samples: &[Vec<serde_json::Value>]) {
    let mut lines = samples[seed as usize % samples.len()].clone();
    damage::damage(&mut lines, &mut Rng::with_seed(seed));
    damage::draw(&damage::text(&lines));
}
