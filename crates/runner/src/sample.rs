//! The part of a run that samples growing series.

use record::{EndStatus, Line, SentLine};

use crate::Executor;
use crate::blame::{Suspect, evidence, suspects};
use crate::event::RunEvent;
use crate::functions::Functions;
use crate::lines::failed;
use crate::run_loop::RunLoop;

impl<E: Executor> RunLoop<'_, E> {
    /// Samples growing series, if requested, and returns how the run ended; without it that is `status`.
    pub(crate) fn sample(&mut self, status: EndStatus, on_event: &mut dyn FnMut(RunEvent<'_>)) -> EndStatus {
        let Some(options) = self.plan.blame.as_ref().filter(|_| !self.is_stopped()) else { return status };
        let mut suspects = match &options.run {
            Some((run, findings)) => {
                let suspects = suspects(run, findings, options);
                self.keep(evidence(run, &suspects));
                suspects
            }
            None => suspects(&self.recording, &self.judgements.findings(&self.recording), options),
        };
        let mut functions = Functions::default();
        loop {
            let mut is_over = true;
            // In turns, so that disturbances of the machine affect all alike.
            for suspect in &mut suspects {
                if self.is_stopped() {
                    return match self.is_unwritten() {
                        true => EndStatus::Failed,
                        false => EndStatus::Interrupted,
                    };
                }
                is_over &= !self.sample_one(suspect, &mut functions, on_event);
            }
            if is_over {
                return status;
            }
        }
    }

    /// One more trial; whether there was one.
    fn sample_one(
        &mut self,
        suspect: &mut Suspect,
        functions: &mut Functions,
        on_event: &mut dyn FnMut(RunEvent<'_>),
    ) -> bool {
        let plan = self.plan;
        let Some(order) = suspect.next(self.random.u64(..)) else { return false };
        let is_its = |item: &crate::Item| {
            (item.workload.name, item.variant.name) == (order.workload.as_str(), order.variant.as_str())
        };
        let Some(index) = plan.items.iter().position(is_its) else { return false };
        let Some(system) = plan.targets.iter().position(|target| target.name == order.system) else {
            return false;
        };
        let (item, name) = (&plan.items[index], &plan.targets[system].name);
        let of = suspect.trials();
        let done = f64::from(suspect.done) / f64::from(of.max(1));
        on_event(RunEvent::Trial {
            item,
            system: name,
            trial: suspect.done,
            of,
            done: done.min(1.0),
            left: None,
        });
        let (begun, started_seconds) = (self.clock.now(), self.elapsed().as_secs_f64());
        let mut lines = match self.attempt(index, system, &order) {
            Ok(Some(lines)) => lines,
            Ok(None) => return false,
            Err(error) => vec![failed(&order, error.to_string()).into()],
        };
        let is_changed = |line: &&mut SentLine| matches!(line.line(), Line::Trial(_) | Line::Profile(_));
        for line in lines.iter_mut().filter(is_changed) {
            match line.line_mut() {
                Line::Trial(trial) => trial.started_seconds = started_seconds,
                Line::Profile(profile) => functions.name(profile),
                _ => {}
            }
        }
        suspect.learn(&lines, self.clock.now().saturating_sub(begun));
        self.keep(lines);
        self.pass_turn();
        true
    }
}
