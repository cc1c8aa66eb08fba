//! Values by series, trial and direction, and the recording that they make.

use std::collections::{BTreeMap, HashMap};

use record::{
    Direction, End, EndStatus, Line, Recording, Run, SCHEMA, Series, SeriesKind, System, Tool, Trial,
    TrialClock, TrialParameters, Unit, Workload,
};

/// So many series are read; a file with more is of another kind.
pub const SERIES_MAX: usize = 10_000;
/// So many trials, of all series and directions together, are read.
const TRACKS_MAX: usize = 200_000;

/// Values by series, trial and direction.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    series: Vec<Gathered>,
    by_name: HashMap<Vec<u8>, usize>,
    tracks: Vec<Track>,
    by_trial: HashMap<(usize, u32, Direction), usize>,
    /// Values below the smallest n that is wanted.
    below: u64,
}

#[derive(Debug)]
struct Gathered {
    name: String,
    /// Smallest step of the clock, in the unit of the values; 0 where it is not known.
    tick: f64,
    /// The name of its reference, where one was measured.
    reference: Option<String>,
    /// The unit of its values, where it is not that of all tables.
    unit: Option<Unit>,
}

/// The values of one trial of a series that went one way.
#[derive(Debug)]
struct Track {
    series: usize,
    trial: u32,
    direction: Direction,
    points: Points,
    /// The values of the reference.
    reference: Points,
}

/// Values, and n for each.
#[derive(Debug, Default)]
struct Points {
    sizes: Vec<u64>,
    values: Vec<f64>,
}

/// The place of a track in [`Gather`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(usize);

impl Gather {
    pub(crate) fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Makes room for a trial of a series; its name alone is enough for it to be in the recording. `Err` says
    /// why there is none.
    pub(crate) fn place(
        &mut self,
        series: &[u8],
        trial: u32,
        direction: Direction,
        tick: f64,
    ) -> Result<Place, String> {
        let series = self.series(series, tick)?;
        let key = (series, trial, direction);
        if let Some(place) = self.by_trial.get(&key) {
            return Ok(Place(*place));
        }
        if self.tracks.len() == TRACKS_MAX {
            return Err(format!("there are more than {TRACKS_MAX} trials"));
        }
        let (points, reference) = Default::default();
        self.tracks.push(Track { series, trial, direction, points, reference });
        self.by_trial.insert(key, self.tracks.len() - 1);
        Ok(Place(self.tracks.len() - 1))
    }

    /// The place of a series, which is new where its name is.
    fn series(&mut self, name: &[u8], tick: f64) -> Result<usize, String> {
        match self.by_name.get(name) {
            Some(series) => Ok(*series),
            None if self.series.len() == SERIES_MAX => {
                Err(format!("there are more than {SERIES_MAX} series"))
            }
            None => {
                let shown = String::from_utf8_lossy(name).into_owned();
                self.series.push(Gathered { name: shown, tick, reference: None, unit: None });
                self.by_name.insert(name.to_vec(), self.series.len() - 1);
                Ok(self.series.len() - 1)
            }
        }
    }

    pub(crate) fn absorb(&mut self, other: Gather) -> Result<(), String> {
        self.below += other.below;
        for series in &other.series {
            self.series(series.name.as_bytes(), series.tick)?;
        }
        for track in other.tracks {
            let of = &other.series[track.series];
            let Place(at) = self.place(of.name.as_bytes(), track.trial, track.direction, of.tick)?;
            let (into, series) = (&mut self.tracks[at], track.series);
            into.points.append(track.points);
            into.reference.append(track.reference);
            let (into, of) = (into.series, &other.series[series]);
            if self.series[into].reference.is_none() {
                self.series[into].reference.clone_from(&of.reference);
            }
            self.series[into].unit = self.series[into].unit.or(of.unit);
        }
        Ok(())
    }

    /// Counts a value that is left out because its n is small.
    pub(crate) fn leave_below(&mut self) {
        self.below += 1;
    }

    /// How many were.
    pub(crate) fn below(&self) -> u64 {
        self.below
    }

    pub(crate) fn values(&self) -> u64 {
        self.tracks.iter().map(|track| track.points.values.len() as u64).sum()
    }

    /// Sets the unit of the series of a trial.
    pub(crate) fn set_unit(&mut self, place: Place, unit: Unit) {
        let series = self.tracks[place.0].series;
        self.series[series].unit = Some(unit);
    }

    pub(crate) fn add(&mut self, place: Place, n: u64, value: f64) {
        self.tracks[place.0].points.push(n, value);
    }

    /// Adds a value of the reference that was measured beside a trial, with the reference's name.
    pub(crate) fn add_reference(&mut self, place: Place, name: &str, n: u64, value: f64) {
        let track = &mut self.tracks[place.0];
        track.reference.push(n, value);
        let series = &mut self.series[track.series];
        if series.reference.is_none() {
            // A series may be called like the column.
            let is_taken = series.name == name;
            series.reference = Some(if is_taken { format!("{name} beside it") } else { name.to_owned() });
        }
    }

    /// The recording: each series is a workload with one kind of series for each way it went. Series without
    /// a unit of their own have the one given.
    pub(crate) fn into_recording(self, system: &str, warnings: Vec<String>, unit: Unit) -> Recording {
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
        let head = [Line::System(System { name: system.to_owned(), warnings, ..System::default() })];
        let workloads =
            series.iter().zip(&ways).map(|(series, ways)| Line::Workload(workload(series, *ways, unit)));
        let measured = trials.into_iter().flat_map(|((of, number), tracks)| {
            let head = Line::Trial(trial(system, &series[of].name, number, series[of].tick, &tracks));
            let lines: Vec<Line> =
                tracks.into_iter().flat_map(|track| track.lines(system, &series[of])).collect();
            [head].into_iter().chain(lines)
        });
        let end = [Line::End(End { status: EndStatus::Complete, elapsed_seconds: 0.0 })];
        Recording::from_run(run(), head.into_iter().chain(workloads).chain(measured).chain(end))
    }
}

impl Track {
    /// The track as a series, and its reference as one.
    fn lines(self, system: &str, of: &Gathered) -> Vec<Line> {
        let Track { trial, direction, points, reference, .. } = self;
        let own = [(Some(&of.name), points), (of.reference.as_ref(), reference)];
        let measured = own.into_iter().filter(|(_, points)| !points.values.is_empty());
        let line = |(name, points): (Option<&String>, Points)| {
            let (system, workload, name) = (system.to_owned(), of.name.clone(), name?.clone());
            Some(Line::Series(Series { system, workload, trial, name, ..points.series(direction) }))
        };
        measured.filter_map(line).collect()
    }
}

impl Points {
    fn push(&mut self, n: u64, value: f64) {
        self.sizes.push(n);
        self.values.push(value);
    }

    fn append(&mut self, other: Points) {
        self.sizes.extend(other.sizes);
        self.values.extend(other.values);
    }

    /// The points as a series that has no name yet, in the order of n; at one n in the order of the file.
    fn series(mut self, direction: Direction) -> Series {
        self.sort(direction);
        let (n_first, n_step) = self.even().unwrap_or_else(|| (self.sizes.first().copied().unwrap_or(0), 0));
        // The list is needed only where one n and one step do not suffice.
        let sizes = if n_step == 0 { self.sizes } else { Vec::new() };
        Series { direction, n_first, n_step, sizes, batch: 1, values: self.values, ..Series::default() }
    }

    fn sort(&mut self, direction: Direction) {
        let falls = direction == Direction::Down;
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

/// "osdyno": the seed that `judge` draws with, for a run that itself drew nothing.
const SEED: u64 = 0x6f73_6479_6e6f;

fn run() -> Run {
    Run {
        schema: SCHEMA,
        tool: Tool { name: "osdyno".into(), version: env!("CARGO_PKG_VERSION").into(), build: String::new() },
        seed: SEED,
        ..Run::default()
    }
}

fn workload(series: &Gathered, (up, down): (bool, bool), unit: Unit) -> Workload {
    let unit = series.unit.unwrap_or(unit);
    let kind = |name: &str, direction| {
        let name = name.to_owned();
        SeriesKind { name, direction, unit, ..SeriesKind::default() }
    };
    // A name without a usable trial is a series too, and its verdict says so.
    let ways = [(up || !down).then_some(Direction::Up), down.then_some(Direction::Down)];
    let ways = || ways.into_iter().flatten();
    let of_reference = |name: &String| ways().map(|way| kind(name, way)).collect();
    Workload {
        name: series.name.clone(),
        version: 1,
        grows: "n".into(),
        series: ways().map(|way| kind(&series.name, way)).collect(),
        references: series.reference.as_ref().map(of_reference).unwrap_or_default(),
        ..Workload::default()
    }
}

fn trial(system: &str, name: &str, number: u32, tick: f64, tracks: &[Track]) -> Trial {
    let unusable = tracks.iter().all(|track| track.points.values.is_empty());
    Trial {
        order: TrialParameters {
            system: system.to_owned(),
            workload: name.to_owned(),
            version: 1,
            trial: number,
            n: tracks.iter().flat_map(|track| &track.points.sizes).copied().max().unwrap_or(0),
            ..TrialParameters::default()
        },
        clock: (tick > 0.0).then(|| TrialClock {
            source: String::new(),
            tick_seconds: tick,
            read_seconds: 0.0,
        }),
        warnings: if unusable { vec!["A trial has no line that could be used.".into()] } else { Vec::new() },
        ..Trial::default()
    }
}
