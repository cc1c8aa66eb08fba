//! How often the verdicts of simulated runs on flat costs are wrong.

use judge::ALPHA;
use runner::Ran;

use super::scenario::{Fate, Scenario};
use super::world::Simulation;

/// Verdicts on series whose cost is flat.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    all: u64,
    flat: u64,
    /// Those that say that the cost changes.
    wrong: u64,
}

impl Verdicts {
    pub(crate) fn new(simulation: &Simulation, ran: &Ran) -> Verdicts {
        let mut verdicts = Verdicts::default();
        for finding in &ran.findings.series {
            let Some(verdict) = &finding.verdict else { continue };
            if !is_flat(&simulation.world.scenario, &finding.key) {
                continue;
            }
            verdicts.all += 1;
            // `runner` may not import `stats`, which has the type of these names.
            match format!("{:?}", verdict.class).as_str() {
                "Flat" => verdicts.flat += 1,
                "Inconclusive" => {}
                _ => verdicts.wrong += 1,
            }
        }
        verdicts
    }

    pub(crate) fn add(&mut self, other: &Verdicts) {
        self.all += other.all;
        self.flat += other.flat;
        self.wrong += other.wrong;
    }

    /// At most α, and the rate of a sample may be three standard errors above the true one.
    pub(crate) fn are_wrong_no_more_often_than_allowed(&self) {
        let (wrong, all) = (self.wrong as f64, self.all as f64);
        let allowed = ALPHA * all + 3.0 * (ALPHA * (1.0 - ALPHA) * all).sqrt();
        assert!(wrong <= allowed, "{wrong} of {all} verdicts on flat costs are wrong");
        // A judge without any verdict would keep the promise too.
        assert!(self.flat * 4 > self.all, "few flat costs are found to be flat: {self:?}");
    }
}

fn is_flat(scenario: &Scenario, key: &record::SeriesKey) -> bool {
    let system = scenario.plan.targets.iter().position(|target| target.name == key.system);
    let item = scenario.item(&key.workload, &key.variant);
    system.is_some_and(|system| {
        let behaviour = &scenario.systems[system].items[item];
        behaviour.growth == 1.0 && behaviour.fate == Fate::Healthy
    })
}
