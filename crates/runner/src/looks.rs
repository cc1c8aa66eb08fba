//! The planned looks of a run: which items are decided, and which get more trials.

use std::collections::BTreeSet;

use judge::MeasuredVariant;

use crate::Executor;
use crate::plan::{GateOptions, Item};
use crate::run::RunEvent;
use crate::run_loop::RunLoop;
use crate::schedule::{self, Step};

impl<E: Executor> RunLoop<'_, E> {
    /// Gives every item the trials of the first look, then more to those that are undecided.
    pub(crate) fn adapt(&mut self, looks: &[u32], on_event: &mut dyn FnMut(RunEvent<'_>)) {
        let Some(&first) = looks.first() else { return };
        let all: Vec<usize> =
            (0..self.progress.len()).filter(|&index| !self.progress[index].is_hopeless()).collect();
        let costs: Vec<f64> = all.iter().map(|&index| self.progress[index].cost()).collect();
        let done: Vec<u32> = all.iter().map(|&index| self.progress[index].done).collect();
        let least = |&index: &usize| schedule::least(self.plan.items[index].workload, self.plan.least);
        let least: Vec<u32> = all.iter().map(least).collect();
        let owed = |&place: &usize| costs[place] * f64::from(least[place].saturating_sub(done[place]));
        if (0..all.len()).map(|place| owed(&place)).sum::<f64>() > self.remaining().as_secs_f64() {
            self.core_variants_first(&all, &least, on_event);
        }
        let done: Vec<u32> = all.iter().map(|&index| self.progress[index].done).collect();
        let shares = schedule::share(&costs, &done, first, &least, self.remaining());
        let mut targets: Vec<u32> = self.progress.iter().map(|progress| progress.done).collect();
        all.iter().zip(shares).for_each(|(&index, share)| targets[index] = share);
        self.bring_to(&all, &targets, on_event);

        let mut looked_at = all;
        let mut open: Vec<usize> = Vec::new();
        while !self.is_over() {
            let at_look = |&index: &usize| looks.contains(&self.progress[index].done);
            let (at_look, between): (Vec<usize>, Vec<usize>) =
                looked_at.iter().partition(|&index| at_look(index));
            open.extend(self.undecided(&at_look, on_event));
            // An item that did not reach its look goes on if there is time after all.
            open.extend(between.into_iter().filter(|&index| !self.progress[index].is_hopeless()));
            open.sort_unstable();
            open.dedup();
            let items = &self.plan.items;
            let still_open: Vec<&Item> = open.iter().map(|&index| &items[index]).collect();
            on_event(RunEvent::Looked { open: &still_open, of: items.len() });
            let steps = open.iter().filter_map(|&index| self.step(index, looks)).collect();
            let steps = schedule::next(steps, self.remaining());
            if steps.is_empty() {
                return;
            }
            looked_at = steps.iter().map(|step| step.item).collect();
            open.retain(|index| !looked_at.contains(index));
            steps.iter().for_each(|step| targets[step.item] = self.progress[step.item].done + step.trials);
            self.bring_to(&looked_at, &targets, on_event);
        }
    }

    /// Measures the core variants of each workload until they can be compared. Where variants were chosen by
    /// name, none of them comes before another.
    fn core_variants_first(
        &mut self,
        items: &[usize],
        least: &[u32],
        on_event: &mut dyn FnMut(RunEvent<'_>),
    ) {
        let mut targets: Vec<u32> = self.progress.iter().map(|progress| progress.done).collect();
        items.iter().zip(least).for_each(|(&index, &least)| targets[index] = least);
        let is_core = |&index: &usize| {
            let Item { workload, variant, .. } = &self.plan.items[index];
            let chosen = self.plan.items.iter().filter(|item| item.workload.name == workload.name).count();
            workload.core_variants.contains(&variant.name) && chosen == workload.variants.len()
        };
        let core: Vec<usize> = items.iter().copied().filter(is_core).collect();
        self.bring_to(&core, &targets, on_event);
    }

    /// The trials that the item needs to reach the next look; none after the last.
    fn step(&self, item: usize, looks: &[u32]) -> Option<Step> {
        let progress = &self.progress[item];
        let trials = looks.iter().find(|&&look| look > progress.done)? - progress.done;
        Some(Step { item, trials, cost_seconds: progress.cost() * f64::from(trials) })
    }

    /// The items for which more trials may decide more, after these were measured.
    fn undecided(&mut self, measured: &[usize], on_event: &mut dyn FnMut(RunEvent<'_>)) -> Vec<usize> {
        if let Some(gate) = &self.plan.gate {
            return self.undecided_by(gate);
        }
        let workloads: BTreeSet<&str> =
            measured.iter().map(|&index| self.plan.items[index].workload.name).collect();
        workloads.into_iter().flat_map(|workload| self.undecided_of(workload, measured, on_event)).collect()
    }

    /// The items about which a gate is undecided; the others need no more trials.
    fn undecided_by(&mut self, options: &GateOptions) -> Vec<usize> {
        let findings = self.judgements.findings(&self.recording);
        let baseline = options.baseline.as_ref().map(|(name, recording)| (name.as_str(), recording));
        let open = judge::gate::undecided_series(&options.gate, baseline, &self.recording, &findings);
        // A series is called like its workload and variant, with its own name behind it.
        let is_its = |series: &String, item: &str| {
            series.strip_prefix(item).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let is_open = |&index: &usize| {
            let item = self.plan.items[index].name();
            open.iter().any(|series| is_its(series, &item)) && !self.progress[index].is_hopeless()
        };
        (0..self.plan.items.len()).filter(is_open).collect()
    }

    /// The same of one workload.
    fn undecided_of(
        &mut self,
        workload: &str,
        measured: &[usize],
        on_event: &mut dyn FnMut(RunEvent<'_>),
    ) -> Vec<usize> {
        let is_of = |&index: &usize| self.plan.items[index].workload.name == workload;
        let mut changed = Vec::new();
        for &index in measured.iter().filter(|index| is_of(index)) {
            let variant = self.plan.items[index].variant.name;
            let systems = self.plan.targets.iter().zip(&self.progress[index].systems);
            let open = systems.filter(|(_, system)| !system.hopeless);
            changed.extend(open.map(|(target, _)| MeasuredVariant { system: &target.name, variant }));
        }
        let (judgements, steps) = (&mut self.judgements, self.plan.steps);
        let findings = judgements.of_workload(&self.recording, workload, &|system, variant| {
            steps.is_some() || changed.contains(&MeasuredVariant { system, variant })
        });
        let variants = match steps {
            Some(margin) => judge::bisect::unsettled(&self.recording, &findings, margin),
            None => judge::undecided(&self.recording, &findings, &changed, !self.plan.aa),
        };
        let is_open = |&index: &usize| {
            variants.contains(self.plan.items[index].variant.name) && !self.progress[index].is_hopeless()
        };
        let open: Vec<usize> = (0..self.plan.items.len()).filter(is_of).filter(is_open).collect();
        let decided = measured.iter().filter(|index| is_of(index) && !open.contains(index));
        let decided: Vec<&str> = decided.map(|&index| self.plan.items[index].variant.name).collect();
        if !decided.is_empty() {
            on_event(RunEvent::Decided { findings: &findings, variants: &decided });
        }
        open
    }
}
