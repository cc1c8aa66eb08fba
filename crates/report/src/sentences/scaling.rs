//! How an operation scales over workers, in words.

use record::{ProcessorKind, Processors};
use stats::{Interval, Scaling, ScalingClass, Speedup};

use crate::words::{count, factor_with_interval, share_with_interval};

/// How throughput falls short: `4 % (3–5 %) of the work is serial: at most ×25 (20–33) of one worker`. Empty
/// where nothing is lost for certain.
pub(crate) fn loss(scaling: &Scaling, processors: Option<&Processors>) -> String {
    let Some(last) = scaling.speedups.last() else { return String::new() };
    let claim = match scaling.class {
        ScalingClass::Scales | ScalingClass::Undecided => return String::new(),
        ScalingClass::Negative => "negative: less than one worker alone".to_owned(),
        ScalingClass::TurnsBack => {
            let peak = scaling.law.and_then(|law| law.peak);
            peak.map_or("turns back".to_owned(), |peak| format!("turns back at {} workers", whole(peak)))
        }
        ScalingClass::Serial => serial(scaling, last.workers),
        ScalingClass::Loses => loses(scaling, processors),
    };
    claim + &by_machine(last)
}

fn serial(scaling: &Scaling, top: u64) -> String {
    let Some(law) = scaling.law else { return "loses".into() };
    let share = if law.serial.low > 0.0 {
        format!("{} of the work is serial", share_with_interval(law.serial))
    } else {
        "each worker waits for all others".to_owned()
    };
    match (law.ceiling, law.peak) {
        (Some(ceiling), _) => format!("{share}: at most {} of one worker", factor_with_interval(ceiling)),
        (None, Some(_)) => format!("{share}; no peak up to {}", count(top)),
        (None, None) => share,
    }
}

/// Where the throughput of more workers rises less.
fn loses(scaling: &Scaling, processors: Option<&Processors>) -> String {
    match scaling.bend {
        Some(bend) => {
            let border = border(processors, bend.after).filter(|_| bend.is_border);
            let kind = border.map_or("", |kind| match kind {
                ProcessorKind::Sibling => ", where the second thread of each core begins",
                ProcessorKind::Slower => ", where slower cores begin",
                ProcessorKind::Node => ", where another memory node begins",
            });
            let (after, ratio) = (count(bend.after), factor_with_interval(bend.ratio));
            format!("each worker beyond {after} adds {ratio} of one before{kind}")
        }
        None => match scaling.loss {
            Some(loss) => format!("loses: each of two waits {} of its time", share_of_time(loss)),
            None => "loses, and no law describes it".into(),
        },
    }
}

/// σ + 2κ is the wait of two workers for each other over the work of one.
pub(crate) fn share_of_time(loss: Interval) -> String {
    let share = |loss: f64| loss / (1.0 + loss);
    share_with_interval(Interval { value: share(loss.value), low: share(loss.low), high: share(loss.high) })
}

fn border(processors: Option<&Processors>, after: u64) -> Option<ProcessorKind> {
    let borders = processors.map_or(&[][..], |processors| &processors.borders);
    borders.iter().find(|border| u64::from(border.after) == after).map(|border| border.kind)
}

fn whole(peak: Interval) -> String {
    format!("{} ({}–{})", peak.value.round(), peak.low.floor(), peak.high.ceil())
}

/// The loss of the machine itself, which is not that of the operation.
fn by_machine(last: &Speedup) -> String {
    let ideal = last.workers as f64;
    let loses = last.reference.filter(|reference| reference.high < MACHINE_LOSES * ideal);
    loses.map_or_else(String::new, |reference| {
        format!("; a loop in user space reaches {}", factor_with_interval(reference))
    })
}

/// A machine that does less than this share of the ideal is worth a word.
const MACHINE_LOSES: f64 = 0.95;
