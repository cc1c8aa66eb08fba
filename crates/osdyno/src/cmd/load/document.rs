//! The answer of a load as a document: rate, latency and causes of doubt first, the evidence below.

use ::report::document::{Column, Document, Element, Figure, Fold, Row, Section, Table, Text, Tone};
use ::report::html::{LoadMoment, LoadPlots};
use ::report::place::counted;
use ::report::quantity::{duration, time};
use ::report::shell;
use ::report::words::{NO_BREAK, count, percent};
use judge::{LoadVerdict, part_verdict};
use net::load::search::StageOutcome;
use net::load::{GeneratorReport, JointLoad, Level};
use record::{GeneratorLevel, HeldBackground};

use super::answer::{
    self, BaselineDifference, FoundRate, JudgedLevel, LevelComparison, LevelLimit, LoadAnswer,
};
use super::latency::{bare, bars, distributions, moment, percentiles};

/// How many kinds of failures are printed; JSON has all.
const FAILURES_MAX: usize = 6;
/// The width that a column of remarks needs.
const REMARK_MIN: usize = 24;

const LOWER_BOUND: &str = "most stages that ended the search were limited by the load generator, not by the \
    server, which may do more: give the load generator a processor of its own, or another machine";

const READING: &str = "Latency counts from the intended start of a request in an open loop (--rate), from \
    its sending in a closed loop. Intervals are of 95 %, from the variation between pieces of the time. \
    Requests without a response and those that timed out are slower than all that are drawn.";

impl LoadAnswer {
    /// The answer as a document.
    pub(super) fn document(&self) -> Document {
        let mut document = Document {
            title: self.targets.join(", "),
            over: vec![format!("osdyno {} load", env!("CARGO_PKG_VERSION"))],
            ..Document::default()
        };
        match (&self.found, &self.levels[..]) {
            (Some(found), _) => self.search(found, &mut document),
            (None, [level]) => {
                document.blocks.extend(self.claims(level).into_iter().map(Element::from));
                self.say_background(&mut document);
                document.push(self.evidence(0, level));
            }
            (None, levels) => self.levels(levels, &mut document),
        }
        if let Some(compared) = &self.compared {
            document.push(self.compared(compared));
        }
        document.push(self.repeat());
        document
    }

    /// The rate that meets the goal, the stages that show it, and the longer one.
    fn search(&self, found: &FoundRate, document: &mut Document) {
        document.say(answer(found));
        if found.is_lower_bound {
            document.say(Text::toned(LOWER_BOUND, Tone::Open));
        }
        self.say_background(document);
        document.push(rates(found));
        let which = if found.rate.is_some() { "The longer stage" } else { "The last stage" };
        let level = &found.confirmation;
        let seconds = duration(level.level.elapsed_seconds);
        document.push(Section::new(format!("{which}, {seconds} long")));
        document.blocks.extend(self.claims(level).into_iter().map(Element::from));
        document.push(self.evidence(0, level));
    }

    /// Several levels in a table; all of each is folded.
    fn levels(&self, levels: &[JudgedLevel], document: &mut Document) {
        document.say(extent(levels));
        if let Some(resolved) = &self.resolved {
            document.say(format!("server {}", resolved.text()));
        }
        let mut hints: Vec<&String> = levels.iter().filter_map(|level| level.verdict.hint.as_ref()).collect();
        hints.dedup();
        hints.iter().for_each(|hint| document.say(*hint));
        self.say_background(document);
        document.push(levels_table(levels));
        for (place, level) in levels.iter().enumerate() {
            let claims = self.claims(level).into_iter().map(Element::from);
            let blocks = claims.chain([self.evidence(place, level)]).collect();
            document.push(Fold {
                title: name(&level.level).into(),
                blocks,
                is_open: true,
                ..Fold::default()
            });
        }
    }

    /// Throughput and latency, causes of doubt, and remedies.
    fn claims(&self, judged: &JudgedLevel) -> Vec<Text> {
        let headline = (judged.level.latency.count > 0).then(|| headline(&judged.level));
        let doubt = judged.verdict.sentence().map(|sentence| Text::toned(sentence, Tone::Open));
        // Figures that do not count come behind the reason.
        let (headline, doubt) = match judged.verdict.limit {
            LevelLimit::Void => (doubt, headline.map(|text| Text::from("not counted: ").and(text))),
            _ => (headline, doubt),
        };
        let hint = judged.verdict.hint.as_ref().map(Text::from);
        [headline, doubt, hint].into_iter().flatten().collect()
    }

    /// How each load beside it was held.
    fn say_background(&self, document: &mut Document) {
        let loads = self.held_background.iter().map(Vec::len).max().unwrap_or(0);
        for place in 0..loads {
            let levels = self.held_background.iter().filter_map(|level| level.get(place));
            let levels: Vec<HeldBackground> = levels.cloned().collect();
            let held = ::report::sentences::background(&levels, "levels, which say little of the server");
            held.into_iter().for_each(|sentence| document.say(sentence));
        }
    }

    /// Counts, distributions and drawings of one level.
    fn evidence(&self, place: usize, judged: &JudgedLevel) -> Element {
        let level = &judged.level;
        let generators = level.joint.as_ref().filter(|joint| joint.workers.len() > 1);
        let generators =
            generators.map(|joint| Element::from(generators_table(joint, &answer::facts(level))));
        let facts = [Element::from(self.facts(level))].into_iter().chain(generators);
        if level.latency.count == 0 {
            return Element::Beside(facts.collect());
        }
        let (id, name) = (format!("load{place}"), name(level));
        let moments: Vec<LoadMoment> = level.slices.iter().map(moment).collect();
        let plots = LoadPlots { id: &id, name: &name, moments: &moments, percentiles: &percentiles(level) };
        let mut tail = plots.latency_by_percentile().unwrap_or_default();
        tail.characters = bars(&level.latency);
        let figures = [plots.latency_over_time(), Some(tail), plots.responses_over_time()];
        let figures = figures.into_iter().flatten().map(Figure::into);
        Element::Beside(facts.chain([distributions(level).into()]).chain(figures).collect())
    }

    /// Counts and rates, each with its name.
    fn facts(&self, level: &Level) -> Table {
        let mut table = Table { class: "facts", ..Table::without_headings(2) };
        if let Some(resolved) = &self.resolved {
            table.push(["server".to_owned(), resolved.text()]);
        }
        table.push(["requests".to_owned(), requests(level)]);
        for failure in level.failures.iter().take(FAILURES_MAX) {
            let count = count(failure.count);
            table.push([String::new(), format!("{count} × {} ({})", failure.cause, failure.stage.name())]);
        }
        if !level.statuses.is_empty() {
            table.push(["statuses".to_owned(), statuses(level)]);
        }
        let rate = size(level.received_bytes as f64 / level.elapsed_seconds);
        table.push(["received".to_owned(), format!("{}, {rate}/s", size(level.received_bytes as f64))]);
        if self.settings.one_request_each() || level.connected_per_second >= 1.0 {
            let opened = count(level.connected_per_second as u64);
            table.push(["connections".to_owned(), format!("{opened} opened per second")]);
        }
        table.push(["generator".to_owned(), generator(level)]);
        if let Some(joint) = level.joint.as_ref().filter(|joint| joint.workers.len() > 1) {
            table.push(["generators".to_owned(), together(joint)]);
        }
        table
    }

    /// The levels divided by those of the baseline.
    fn compared(&self, compared: &[LevelComparison]) -> Section {
        let baseline = self.baseline.as_deref().unwrap_or("".as_ref()).display();
        let title = format!("Compared with {baseline}, by the variation within each load");
        let mut table = Table::without_headings(4);
        for LevelComparison { load, refused, ratios } in compared {
            let name = match load.rate {
                Some(rate) => format!("{rate} requests/s"),
                None => counted(&load.connections.to_string(), "connections"),
            };
            if let Some(why) = refused {
                let below = vec![format!("not compared; {why}").into()];
                table.push(Row { below, ..Row::from([name.as_str()]) });
            }
            for ratio in ratios {
                let (words, tone) = match ratio.difference {
                    BaselineDifference::Higher => ("higher", Tone::Plain),
                    BaselineDifference::Lower => ("lower", Tone::Plain),
                    BaselineDifference::Uncertain => ("no certain difference", Tone::Open),
                };
                let interval = format!("×{:.3} ({:.3}–{:.3})", ratio.ratio, ratio.low, ratio.high);
                let cells = [Text::from(&name), ratio.figure.into(), interval.into()];
                table.push(cells.into_iter().chain([Text::toned(words, tone)]).collect::<Vec<_>>());
            }
        }
        Section { blocks: vec![table.into()], ..Section::new(title) }
    }

    fn repeat(&self) -> Fold {
        let command = self.command.iter().map(|word| shell::quoted(word)).collect::<Vec<_>>().join(" ");
        let reading = Text::toned(READING, Tone::Faint);
        Fold {
            title: "How to repeat it".into(),
            blocks: vec![Element::Code(command), reading.into()],
            is_open: true,
            ..Fold::default()
        }
    }
}

/// The offered load.
fn name(level: &Level) -> String {
    match level.load.rate {
        Some(rate) => format!("{} requests/s asked for", count(rate.round() as u64)),
        None => counted(&count(level.load.connections as u64), "connections"),
    }
}

/// The number of levels, and their range.
fn extent(levels: &[JudgedLevel]) -> String {
    let levels_in_all = counted(&count(levels.len() as u64), "levels");
    match (levels.first(), levels.last()) {
        (Some(first), Some(last)) => {
            format!("{levels_in_all}, from {} to {}", name(&first.level), name(&last.level))
        }
        _ => levels_in_all,
    }
}

/// `31 240 requests/s (30 900–31 600) · p50 1.2 ms · p99 3.4 ms · p99.9 8.1 ms · none failed`.
fn headline(level: &Level) -> Text {
    let rate = count(level.completed_per_second.round() as u64);
    let interval = level.completed_per_second_interval.map_or(String::new(), |(low, high)| {
        format!(" ({}–{})", count(low.round() as u64), count(high.round() as u64))
    });
    let at = |percent: f64| {
        let percentile = level.latency.percentile(percent)?;
        Some(format!(" · p{percent} {}", bare(percentile)))
    };
    let latencies: String = [50.0, 99.0, 99.9].into_iter().filter_map(at).collect();
    let failed = match level.requests.failed {
        0 => Text::from("none failed"),
        failed => Text::toned(format!("{} FAILED", count(failed)), Tone::Notable),
    };
    let rate = Text::toned(format!("{rate} requests/s"), Tone::Strong);
    rate.and(format!("{interval}{latencies} · ")).and(failed)
}

fn requests(level: &Level) -> String {
    let mut parts =
        vec![format!("{} correct in {}", count(level.requests.completed), duration(level.elapsed_seconds))];
    if let Some(intended) = level.intended {
        parts.push(format!("{} intended", count(intended)));
        parts.push(format!("{} started", count(level.requests.started)));
    }
    if level.requests.late > 0 {
        parts.push(format!("{} after the end", count(level.requests.late)));
    }
    if level.requests.unanswered > 0 {
        parts.push(format!("{} without a response", count(level.requests.unanswered)));
    }
    if level.requests.failed > 0 {
        parts.push(format!("{} failed:", count(level.requests.failed)));
    }
    parts.join(", ")
}

/// `9 800 × 200, 12 × 404`.
fn statuses(level: &Level) -> String {
    let statuses = level.statuses.iter().map(|(status, number)| format!("{} × {status}", count(*number)));
    statuses.collect::<Vec<_>>().join(", ")
}

fn generator(level: &Level) -> String {
    let watch = &level.watch;
    let mut parts = vec![format!("{} busy", percent(watch.cpu_share))];
    if level.requests.completed > 0 {
        let cpu = watch.cpu_seconds / level.requests.completed as f64;
        parts.push(format!("{} of CPU time per request", time(cpu)));
    }
    if let Some(delay) = watch.run_delay_seconds.filter(|&delay| delay > 0.01 * level.elapsed_seconds) {
        parts.push(format!("waited {} for a processor", time(delay)));
    }
    if let Some(lateness) = &level.lateness {
        parts.push(format!("late by {} (p99)", time(lateness.quantile(0.99))));
    }
    for (name, number) in [
        ("retransmitted segments", watch.retransmits),
        ("connections dropped by a full accept queue", watch.listen_overflows),
    ] {
        if let Some(number) = number.filter(|&number| number > 0.0) {
            parts.push(format!("{} {name}", count(number as u64)));
        }
    }
    parts.join(", ")
}

/// How certainly all generators were at work at the same time.
fn together(joint: &JointLoad) -> String {
    format!(
        "{} began within {} (± {}); all were at work for {:.2}{NO_BREAK}% of the time",
        joint.workers.len(),
        time(joint.window.start_spread_seconds),
        time(joint.window.start_spread_error_seconds),
        100.0 * joint.window.overlap_share
    )
}

/// A row for each generator.
fn generators_table(joint: &JointLoad, facts: &GeneratorLevel) -> Table {
    let numbers = ["requests/s", "p50", "p99", "busy", "begun after", "clock ±"].map(Column::number);
    let columns = [Column::from("generator")].into_iter().chain(numbers).collect();
    let mut table = Table { class: "numbers", is_split: true, ..Table::of_columns(columns) };
    let known = |seconds: Option<f64>| seconds.map_or("—".to_owned(), time);
    for worker in &joint.workers {
        let rate = worker.requests.completed as f64 / worker.elapsed_seconds.max(1e-9);
        let is_observer = joint.observer.as_ref().is_some_and(|observer| observer.name == worker.name);
        let cells = [
            if is_observer { format!("{} (observer)", worker.name) } else { worker.name.clone() },
            count(rate.round() as u64),
            known(worker.latency_seconds_p50),
            known(worker.latency_seconds_p99),
            percent(worker.watch.cpu_share),
            time(worker.presence.begin_seconds),
            time(worker.presence.clock_error_seconds),
        ];
        let below =
            generator_limit(facts, worker).map(|why| Text::toned(format!("limited: {why}"), Tone::Open));
        table.push(Row { below: below.into_iter().collect(), ..Row::from(cells) });
    }
    table
}

/// Why a generator offered less than its part, if it did.
fn generator_limit(facts: &GeneratorLevel, worker: &GeneratorReport) -> Option<String> {
    let part = facts.parts.iter().find(|part| part.name == worker.name)?;
    match part_verdict(facts, part) {
        verdict @ LoadVerdict::Limited(..) => ::report::sentences::load_reason(facts, &verdict),
        _ => None,
    }
}

fn levels_table(levels: &[JudgedLevel]) -> Table {
    let is_open_loop = levels.iter().any(|judged| judged.level.load.rate.is_some());
    let offered = if is_open_loop { "asked for" } else { "connections" };
    let mut columns = vec![Column::from(offered)];
    columns.extend(["requests/s", "p50", "p99", "p99.9", "failed"].map(Column::number));
    let is_remarked = levels.iter().any(|judged| judged.verdict.sentence().is_some());
    columns.extend(is_remarked.then(|| "remark".into()));
    let mut table = Table { wraps_at: REMARK_MIN, is_split: true, ..Table::of_columns(columns) };
    for JudgedLevel { level, verdict } in levels {
        let label = match level.load.rate {
            Some(rate) => format!("{}/s", count(rate.round() as u64)),
            None => count(level.load.connections as u64),
        };
        let at = |percent: f64| level.latency.percentile(percent).map_or("—".to_owned(), bare);
        let rate = count(level.completed_per_second.round() as u64);
        let mut cells = vec![label, rate, at(50.0), at(99.0), at(99.9), count(level.requests.failed)];
        cells.extend(is_remarked.then(|| verdict.sentence().unwrap_or_default()));
        table.push(cells);
    }
    table
}

/// The rate that meets the goal, in one sentence.
fn answer(found: &FoundRate) -> String {
    let goal = format!("p{} ≤ {}", found.goal.percent, time(found.goal.seconds));
    let per_second = |rate: f64| count(rate.round() as u64);
    let (Some(rate), Some((low, high))) = (found.rate, found.interval) else {
        return format!("no rate was found that meets {goal}{}", at_lowest(found));
    };
    let confirmation = &found.confirmation.level;
    let interval = format!("{}–{}", per_second(low), per_second(high));
    let longer = confirmation.load.rate.map_or(String::new(), per_second);
    let confirmed = if found.confirmed { "confirmed" } else { "not confirmed" };
    let (short, long) = (duration(found.stage_seconds), duration(confirmation.elapsed_seconds));
    let rate = per_second(rate);
    let met = format!("{rate} requests/s ({interval}) meet {goal} in stages of {short}");
    format!("{met}; {confirmed} by one of {long} at {longer}/s")
}

/// The percentile at the lowest rate, below which none was tried.
fn at_lowest(found: &FoundRate) -> String {
    let lowest = found.stages.iter().min_by(|one, other| one.rate.total_cmp(&other.rate));
    let failed = lowest.filter(|stage| stage.outcome == StageOutcome::Fails);
    let Some((stage, seconds)) = failed.and_then(|stage| Some((stage, stage.seconds?))) else {
        return String::new();
    };
    let rate = count(stage.rate.round() as u64);
    format!(": at {rate}/s, the lowest rate, p{} is {}", found.goal.percent, time(seconds))
}

/// The stages of each rate in a row.
fn rates(found: &FoundRate) -> Table {
    let percentile = format!("p{} (median)", found.goal.percent);
    let numbers = ["stages", "met it", &percentile, "completed", "generator saturated"].map(Column::number);
    let columns = [Column::from("asked for")].into_iter().chain(numbers).collect();
    let mut table = Table { is_split: true, ..Table::of_columns(columns) };
    for rate in &found.rates {
        table.push([
            format!("{}/s", count(rate.rate.round() as u64)),
            rate.stages.to_string(),
            rate.met.to_string(),
            rate.seconds.map_or("—".to_owned(), time),
            format!("{}/s", count(rate.completed_per_second.round() as u64)),
            rate.limited.to_string(),
        ]);
    }
    table
}

/// Bytes in the unit that suits.
fn size(bytes: f64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    match units.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{:.1}{NO_BREAK}{name}", bytes / unit),
        None => format!("{bytes:.0}{NO_BREAK}B"),
    }
}
