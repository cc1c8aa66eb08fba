//! The answer as a document: for each cost the claim first, then its flame graph and its functions.
//!
//! The graph is differential: as wide as the time where an operation is expensive; the part of that which
//! is new is hatched. Boxes are buttons, placed by percent, so that names have the size of text on any
//! screen. A script zooms and moves between them; without it names and shares are titles.

use std::collections::BTreeSet;
use std::fmt::Write;

use judge::Findings;
use report::document::{Assets, Column, Document, Figure, Fold, Row, Section, Table, Text, Tone};
use report::html::esc;
use report::quantity::time;
use report::words::{amount_with_interval, count, list, percent, sentence, share_with_interval};

use super::{
    BlameAnswer, CallTree, CounterGrowth, FunctionShare, GrowthPlace, SeriesBlame, SideCost, WaitingWeight,
};

/// Functions that are shown unless all are wanted.
const FUNCTIONS_MAX: usize = 10;
/// Time in no function, in words.
const WAITS: &str = "not processor time of the trial: it waits, or others have the processor";

/// How boxes look, on paper of either colour.
const STYLE: &str = include_str!("flame.css");
/// Zooms into a box, moves between boxes, and describes the box under the pointer.
const SCRIPT: &str = include_str!("flame.js");

/// Height of a box, in pixels.
const ROW: usize = 20;
/// Narrower boxes are left out, in percent of the time: they would be lines.
const NARROWEST: f64 = 0.08;
/// Deeper calls are left out, as a damaged file may nest without end.
const DEPTH_MOST: usize = 100;
/// Smaller parts of the growth are in titles only.
const NAMED_PART: f64 = 0.01;

/// The parts of a box.
const LEGEND: &str = "<p class=\"legend\"><span><span class=\"key new\"></span>more than at low n</span>\
    <span><span class=\"key old\"></span>as much as at low n</span>\
    <span><span class=\"key gone\"></span>less than at low n</span></p>";

impl BlameAnswer {
    /// The answer as a document, with the machines of the run.
    pub fn document(&self, findings: &Findings) -> Document {
        let tool = format!("{} {}", findings.run.tool.name, findings.run.tool.version);
        let machines = findings.systems.iter().map(|system| report::sentences::machine(&tool, system));
        let mut document = Document {
            title: "Where does the extra time go?".into(),
            over: ["osdyno blame".into()].into_iter().chain(machines).collect(),
            assets: Assets { style: STYLE, script: SCRIPT },
            ..Document::default()
        };
        for (place, series) in self.series.iter().enumerate() {
            document.push(series.section(&format!("flame-{place}")));
        }
        self.missing().into_iter().for_each(|text| document.say(text));
        if !self.series.is_empty() {
            document.push(reading());
        }
        document
    }

    /// That there is nothing to blame; the costs that are not explained or counted, and why.
    fn missing(&self) -> Vec<String> {
        let mut texts = Vec::new();
        if self.series.is_empty() && self.unexplained.is_empty() {
            let (margin, judged) = (percent(self.margin), self.judged);
            texts.push(format!(
                "Nothing to blame: no cost of this run that can be sampled ({judged} judged) grows for \
                 certain by more than {margin}."
            ));
        }
        if !self.unexplained.is_empty() {
            texts.push(format!("Not sampled, though it grows: {}.", list(&self.unexplained)));
        }
        texts.extend(self.reasons.iter().map(|reason| sentence(reason)));
        // A machine lacks the same counters in all series.
        let lacking: BTreeSet<&str> = self.series.iter().map(|series| series.uncounted.as_str()).collect();
        texts.extend(lacking.into_iter().filter(|reason| !reason.is_empty()).map(sentence));
        texts
    }
}

impl SeriesBlame {
    fn section(&self, id: &str) -> Section {
        let mut section = Section::new(self.claim());
        if self.waiting_weight == WaitingWeight::Leading {
            section.say(self.in_functions("the rest"));
        }
        self.remarks().into_iter().for_each(|remark| section.say(Text::toned(remark, Tone::Faint)));
        if let Some(svg) = flame_graph(self, id) {
            section.push(Figure { svg, ..Figure::default() });
        }
        let notable = self.functions.iter().filter(|one| one.is_notable);
        let (shown, others): (Vec<_>, Vec<_>) = self
            .functions
            .iter()
            .partition(|one| notable.clone().take(FUNCTIONS_MAX).any(|other| other == *one));
        section.blocks.extend(self.table(&shown).map(Into::into));
        let others = self.table(&others).map(|table| Fold {
            title: "Other functions".into(),
            blocks: vec![table.into()],
            ..Fold::default()
        });
        section.blocks.extend(others.map(Into::into));
        let counted = [(&self.counters, "for an operation"), (&self.in_use, "more was in use")];
        section.blocks.extend(counted.into_iter().filter_map(|(all, heading)| counted_table(all, heading)));
        if self.counters.is_empty() {
            let text = "Nothing was counted for an operation: it is too short, waits too long for two \
                        samples in turn, or is of other processes.";
            section.say(Text::toned(text, Tone::Faint));
        }
        section
    }

    /// The part of the growth that is largest, in a sentence.
    fn claim(&self) -> String {
        match self.waiting.filter(|_| self.waiting_weight == WaitingWeight::Leading) {
            Some(waiting) => {
                let [low, high] = [self.low, self.high].map(|side| time(side.seconds));
                format!(
                    "{} of the growth of {} from {low} to {high} of elapsed time is {WAITS}",
                    share_with_interval(waiting),
                    self.label
                )
            }
            None => self.in_functions(&self.label),
        }
    }

    /// The functions that hold the processor time.
    fn in_functions(&self, whose: &str) -> String {
        let [low, high] = [self.low, self.high].map(|side| time(side.processor_seconds));
        let from = format!("the growth of {whose} from {low} to {high} of processor time");
        match (self.place, &self.holder) {
            (GrowthPlace::NotSeen, _) => format!(
                "{}: the samples do not show its growth ({low} to {high} of processor time for an operation, \
                 {} trials); more trials may, or it waits",
                self.label, self.trials
            ),
            (GrowthPlace::Function, Some(one)) => {
                format!("{} of {from} is in {}", share_with_interval(one.own), one.name)
            }
            (_, Some(one)) => {
                format!("{} of {from} is in {} and its callees", share_with_interval(one.whole), one.name)
            }
            (_, None) => {
                let most = self.functions.first();
                let most =
                    most.map(|one| format!("; most, {}, in {}", share_with_interval(one.own), one.name));
                let more = self.growth.map(|growth| format!(", {} more", time(growth.value)));
                format!(
                    "No function holds half of {from}{}{}",
                    more.unwrap_or_default(),
                    most.unwrap_or_default()
                )
            }
        }
    }

    /// Where it was sampled, and the limits of the answer.
    fn remarks(&self) -> Vec<String> {
        let range = |side: SideCost| report::place::range(side.range.n_low, side.range.n_high);
        let between = if self.step.is_some() { "before and after the step" } else { "at both ends" };
        let mut remarks = vec![format!(
            "n = {} against {}, {between} · {} trials · {} and {} samples",
            range(self.low),
            report::place::counted(&range(self.high), &self.grows),
            self.trials,
            count(self.low.samples),
            count(self.high.samples)
        )];
        if let Some(waiting) = self.waiting.filter(|_| self.waiting_weight == WaitingWeight::Notable) {
            let waiting = share_with_interval(waiting);
            remarks.push(format!("{waiting} of the growth of the elapsed time is {WAITS}"));
        }
        if self.waiting_weight != WaitingWeight::Negligible && !self.unsampled.is_empty() {
            let why = &self.unsampled;
            remarks.push(format!("children and other threads of the trial are not in the samples: {why}"));
        }
        if !self.nameless.is_empty() {
            remarks.push(self.nameless.clone());
        }
        if self.lost > 0 {
            remarks
                .push(format!("up to {} samples of a trial were lost; shares are of the others", self.lost));
        }
        remarks
    }

    /// Functions with their shares: of the processor time, which is the rest where most of the growth is
    /// waiting.
    fn table(&self, functions: &[&FunctionShare]) -> Option<Table> {
        let of = match self.waiting_weight {
            WaitingWeight::Leading => "of the rest",
            _ => "of the growth",
        };
        let numbers = [of, "with callees", "at low n", "at high n"].map(Column::number);
        let mut table = Table::of_columns([Column::from("function")].into_iter().chain(numbers).collect());
        for one in functions {
            let [low, high] = one.own_seconds.map(time);
            let [own, whole] = [one.own, one.whole].map(share_with_interval);
            let name = one.full_name();
            let sentence =
                format!("{name}: {own} {of}, {whole} with its callees; {low} at low n, {high} at high n");
            let row = Row::from([name, own, whole, low, high]);
            table.push(Row { sentence: Some(sentence.into()), ..row });
        }
        (!functions.is_empty()).then_some(table)
    }
}

fn counted_table(all: &[CounterGrowth], heading: &str) -> Option<report::document::Element> {
    let numbers = ["at low n", "at high n"].map(Column::number);
    let mut table = Table::of_columns([Column::from(heading)].into_iter().chain(numbers).collect());
    for one in all {
        let [low, high] = [one.low, one.high].map(amount_with_interval);
        let sentence = format!("{}: {low} at low n, {high} at high n", one.name);
        table.push(Row { sentence: Some(sentence.into()), ..Row::from([one.name.clone(), low, high]) });
    }
    (!all.is_empty()).then(|| table.into())
}

fn reading() -> Fold {
    let shares = "The trial was sampled, with its children, while an operation was under way, at the n where \
                  it is cheap and at those where it is expensive, in trials that count for nothing else. A \
                  share is the processor time that a function has more for one operation, as a part of all \
                  that one operation takes more. Shares add up to 100 %, and one that falls is below zero. \
                  Intervals are over trials, at 95 %, for each function by itself.";
    let graph = "In a flame graph a box is a function, and stands on the one that called it. Its width is \
                 its processor time where the operation is expensive. The hatched part of that is new; the \
                 plain part was there at low n too. A box with a dotted edge has less than before. Behind a \
                 name is its share of the growth, with its callees. Point at a box for its figures; click \
                 to see it larger. Functions that a program calls may be missing in programs without frame \
                 pointers; those of the kernel are all there. Parts of the kernel that run with interrupts \
                 off are seen where these are on again, which is often the end of a lock.";
    Fold {
        title: "How to read this".into(),
        blocks: vec![Text::from(shares).into(), Text::from(graph).into()],
        is_open: true,
        ..Fold::default()
    }
}

/// The graph with its legend; `None` where there is no time to show.
fn flame_graph(series: &SeriesBlame, id: &str) -> Option<String> {
    let tree = &series.tree;
    let all = tree.seconds[1];
    if !(all.is_finite() && all > 0.0) {
        return None;
    }
    let mut boxes = String::new();
    let mut graph = Graph { all, growth: tree.growth(), deepest: 0 };
    graph.draw(tree, &series.label, 0.0, 0, &mut boxes);
    let height = ROW * (graph.deepest + 1);
    Some(format!(
        "<div class=\"flame\" id=\"{id}\" role=\"group\" aria-label=\"Differential flame graph of {}\" \
         style=\"height:{height}px\">{boxes}</div><output class=\"at\" for=\"{id}\"></output>{LEGEND}",
        esc(&series.label)
    ))
}

struct Graph {
    all: f64,
    growth: f64,
    /// How deep a call was drawn.
    deepest: usize,
}

impl Graph {
    fn draw(&mut self, tree: &CallTree, name: &str, x: f64, depth: usize, html: &mut String) {
        let width = tree.seconds[1] / self.all * 100.0;
        if width < NARROWEST || depth > DEPTH_MOST {
            return;
        }
        self.deepest = self.deepest.max(depth);
        let of_growth = part(tree.growth(), self.growth);
        let title = format!(
            "{name}: {} at low n, {} at high n; {} of the growth, {} of the time",
            time(tree.seconds[0]),
            time(tree.seconds[1]),
            of_growth.map_or_else(|| "—".to_owned(), percent),
            percent(tree.seconds[1] / self.all)
        );
        let is_less = tree.growth() < 0.0;
        let shown = of_growth.filter(|part| part.abs() >= NAMED_PART);
        let shown = shown.map(|part| format!(" <i>{}{}</i>", if is_less { "" } else { "+" }, percent(part)));
        let _ = write!(
            html,
            "<button type=\"button\" class=\"{}\" style=\"left:{x:.3}%;width:{width:.3}%;bottom:{}px;\
             --old:{:.1}%\" data-at=\"{x:.4} {width:.4} {depth}\" title=\"{}\"><span>{}{}</span></button>",
            if is_less { "less" } else { "more" },
            depth * ROW,
            // The part that was there before, from the left; the rest is new.
            (tree.seconds[0] / tree.seconds[1]).clamp(0.0, 1.0) * 100.0,
            esc(&title),
            esc(name),
            shown.unwrap_or_default()
        );
        let mut x = x;
        for call in &tree.calls {
            self.draw(call, &call.name, x, depth + 1, html);
            x += call.seconds[1] / self.all * 100.0;
        }
    }
}

/// The share of the growth. One that is larger than all, beside others that fall, is all of it: the rest is
/// within its interval.
fn part(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole).clamp(-0.99, 1.0))
}
