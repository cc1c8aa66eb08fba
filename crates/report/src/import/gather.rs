//! Values by series, trial and direction, and the recording that they make.

use std::collections::{BTreeMap, HashMap};

use record::{
    Direction, End, Expect, Line, Order, Outcome, Recording, Run, SCHEMA, Series, SeriesKind, Shape, Side,
    System, Tool, Trial, TrialClock, Unit, Workload,
};

use judge::SEED;

/// So many series are read; more are no plan of measurements but another kind of file.
pub const SERIES_MAX: usize = 10_000;
/// So many trials, of all series and directions together, are read.
pub(crate) const TRACKS_MAX: usize = 200_000;

/// Values by series, trial and direction.
#[derive(Debug, Default)]
pub(super) struct Gather {
    series: Vec<Gathered>,
    by_name: HashMap<Vec<u8>, usize>,
    tracks: Vec<Track>,
    by_trial: HashMap<(usize, u32, Direction), usize>,
}

#[derive(Debug)]
struct Gathered {
    name: String,
    /// Smallest step of the clock, in what the values are in; 0 where it is not known.
    tick: f64,
}

/// The values of one trial of a series that went one way.
#[derive(Debug)]
struct Track {
    series: usize,
    trial: u32,
    direction: Direction,
    sizes: Vec<u64>,
    values: Vec<f64>,
}

/// The place of a track in [`Gather`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(usize);

impl Gather {
    /// Whether not even a name was met.
    pub(super) fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Makes room for a trial of a series; its name alone is enough for it to be in the recording. `Err` says
    /// why there is none.
    pub(super) fn place(
        &mut self,
        series: &[u8],
        trial: u32,
        direction: Direction,
        tick: f64,
    ) -> Result<Place, String> {
        let series = match self.by_name.get(series) {
            Some(series) => *series,
            None if self.series.len() == SERIES_MAX => {
                return Err(format!("there are more than {SERIES_MAX} series"));
            }
            None => {
                let name = String::from_utf8_lossy(series).into_owned();
                self.series.push(Gathered { name, tick });
                self.by_name.insert(series.to_vec(), self.series.len() - 1);
                self.series.len() - 1
            }
        };
        let key = (series, trial, direction);
        if let Some(place) = self.by_trial.get(&key) {
            return Ok(Place(*place));
        }
        if self.tracks.len() == TRACKS_MAX {
            return Err(format!("there are more than {TRACKS_MAX} trials"));
        }
        self.tracks.push(Track { series, trial, direction, sizes: Vec::new(), values: Vec::new() });
        self.by_trial.insert(key, self.tracks.len() - 1);
        Ok(Place(self.tracks.len() - 1))
    }

    /// Adds a value to a trial.
    pub(super) fn add(&mut self, place: Place, n: u64, value: f64) {
        let track = &mut self.tracks[place.0];
        track.sizes.push(n);
        track.values.push(value);
    }

    /// The recording: each series is a workload with one kind of series for each way it went.
    pub(super) fn into_recording(self, system: &str, warnings: Vec<String>, unit: Unit) -> Recording {
        let Gather { series, tracks, .. } = self;
        // By series, then by trial.
        let mut trials: BTreeMap<(usize, u32), Vec<Track>> = BTreeMap::new();
        let mut ways = vec![(false, false); series.len()];
        for track in tracks {
            match track.direction {
                Direction::Up => ways[track.series].0 = true,
                Direction::Down => ways[track.series].1 = true,
            }
            trials.entry((track.series, track.trial)).or_default().push(track);
        }
        let head = [Line::System(System {
            name: system.to_owned(),
            prefix: Vec::new(),
            environment: BTreeMap::new(),
            warnings,
            limits: BTreeMap::new(),
            processors: None,
            noise_floor: None,
        })];
        let workloads =
            series.iter().zip(&ways).map(|(series, ways)| Line::Workload(workload(series, *ways, unit)));
        let measured = trials.into_iter().flat_map(|((of, number), tracks)| {
            let name = &series[of].name;
            let head = Line::Trial(trial(system, name, number, series[of].tick, &tracks));
            let tracks = tracks.into_iter().filter(|track| !track.values.is_empty());
            let lines: Vec<Line> = tracks.map(|track| Line::Series(track.line(system, name))).collect();
            [head].into_iter().chain(lines)
        });
        let end = [Line::End(End { status: "complete".into(), elapsed_seconds: 0.0 })];
        Recording::of(run(), head.into_iter().chain(workloads).chain(measured).chain(end))
    }
}

impl Track {
    /// The track as a series, its values in the order of n; the order of the file stays among equal n.
    fn line(mut self, system: &str, name: &str) -> Series {
        self.sort();
        let (n_first, n_step) = self.even().unwrap_or_else(|| (self.sizes.first().copied().unwrap_or(0), 0));
        // Only what one n and one step cannot say needs the list.
        let sizes = if n_step == 0 { self.sizes } else { Vec::new() };
        Series {
            system: system.to_owned(),
            workload: name.to_owned(),
            variant: String::new(),
            trial: self.trial,
            name: name.to_owned(),
            direction: self.direction,
            n_first,
            n_step,
            sizes,
            batch: 1,
            values: self.values,
        }
    }

    fn sort(&mut self) {
        let falls = self.direction == Direction::Down;
        let sorted = if falls { self.sizes.is_sorted_by(|a, b| a >= b) } else { self.sizes.is_sorted() };
        if sorted {
            return;
        }
        let mut pairs: Vec<(u64, f64)> = self.sizes.drain(..).zip(self.values.drain(..)).collect();
        if falls {
            pairs.sort_by_key(|pair| std::cmp::Reverse(pair.0));
        } else {
            pairs.sort_by_key(|pair| pair.0);
        }
        (self.sizes, self.values) = pairs.into_iter().unzip();
    }

    /// The first n and the step from each to the next, where it is one and the same.
    fn even(&self) -> Option<(u64, i64)> {
        let step = |pair: &[u64]| i64::try_from(i128::from(pair[1]) - i128::from(pair[0])).ok();
        let mut steps = self.sizes.windows(2).map(step);
        let first = steps.next()??;
        (first != 0 && steps.all(|step| step == Some(first))).then_some((self.sizes[0], first))
    }
}

fn run() -> Run {
    Run {
        schema: SCHEMA,
        tool: Tool { name: "osdyno".into(), version: env!("CARGO_PKG_VERSION").into(), build: String::new() },
        started_at: String::new(),
        command: Vec::new(),
        preset: String::new(),
        seed: SEED,
        budget_seconds: None,
        looks: Vec::new(),
        pinned: false,
        paired: false,
    }
}

fn workload(series: &Gathered, (up, down): (bool, bool), unit: Unit) -> Workload {
    let kind = |direction| SeriesKind {
        name: series.name.clone(),
        direction,
        side: Side::Client,
        expect: Expect::Any,
        expect_by_variant: BTreeMap::new(),
        summary: String::new(),
        sum_of: Vec::new(),
        unit,
        both_ways: false,
        detail: false,
    };
    // A name of which no trial was kept is a series too: it says that there is nothing.
    let ways = [(up || !down).then_some(Direction::Up), down.then_some(Direction::Down)];
    Workload {
        name: series.name.clone(),
        version: 1,
        summary: String::new(),
        page: String::new(),
        grows: "n".into(),
        variants: Vec::new(),
        series: ways.into_iter().flatten().map(kind).collect(),
        references: Vec::new(),
        shape: Shape::Curve,
        server: false,
        rivals: false,
    }
}

fn trial(system: &str, name: &str, number: u32, tick: f64, tracks: &[Track]) -> Trial {
    let unusable = tracks.iter().all(|track| track.values.is_empty());
    Trial {
        order: Order {
            system: system.to_owned(),
            workload: name.to_owned(),
            version: 1,
            variant: String::new(),
            trial: number,
            n: tracks.iter().flat_map(|track| &track.sizes).copied().max().unwrap_or(0),
            cpu: None,
            seed: 0,
            allowance_seconds: None,
            window_seconds: None,
            server_cpu: None,
            server: None,
            settings: [].into(),
            references: false,
            offered: Vec::new(),
            helpers: 0,
            timeout_seconds: 0.0,
            scratch: String::new(),
        },
        started_seconds: 0.0,
        elapsed_seconds: 0.0,
        clock: (tick > 0.0).then(|| TrialClock {
            source: String::new(),
            tick_seconds: tick,
            read_seconds: 0.0,
        }),
        outcome: Outcome::Complete,
        checks: Vec::new(),
        activity: BTreeMap::new(),
        warnings: if unusable { vec!["A trial has no line that could be used.".into()] } else { Vec::new() },
    }
}
