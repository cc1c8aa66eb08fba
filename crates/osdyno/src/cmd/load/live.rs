//! The live view: one line on a terminal, rewritten each second. In a pipe there is none.

use std::cell::RefCell;

use ::report::place::counted;
use ::report::quantity::time;
use ::report::words::count;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use net::load::{Load, Progress, Recent};

use crate::console::Console;

/// The line on the terminal.
pub(super) struct Screen {
    bar: ProgressBar,
    last: RefCell<Progress>,
}

/// Steps of the progress bar.
const BAR_STEPS: u64 = 1000;

impl Screen {
    pub(super) fn new(console: &Console) -> Screen {
        let target =
            if console.watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(BAR_STEPS), target);
        let style = ProgressStyle::with_template("  {bar:6} {percent:>3} %  {wide_msg}");
        let style = style.map(|style| style.progress_chars("█▉▊▋▌▍▎▏ "));
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Screen { bar: bar.with_style(style), last: RefCell::default() }
    }

    /// Whether standard error is a terminal.
    pub(super) fn is_watched(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Rewrites the line when a second is over; during a warm-up it only says that.
    pub(super) fn show(&self, load: &Load, progress: &Progress) {
        let mut last = self.last.borrow_mut();
        if progress.seconds < last.seconds {
            *last = Progress::default();
        }
        let line = match &progress.recent {
            _ if progress.warming_up => format!("warming up · {}", asked(load, progress)),
            Some(recent) => {
                let line = line(load, progress, &last, recent);
                *last = progress.clone();
                line
            }
            None => return,
        };
        self.bar.set_position((progress.share * BAR_STEPS as f64) as u64);
        self.bar.set_message(line);
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The events since the last line. All of a closed loop fits into 80 columns; the end is cut off where a
/// terminal is narrower.
fn line(load: &Load, progress: &Progress, last: &Progress, recent: &Recent) -> String {
    let span = (progress.seconds - last.seconds).max(1e-9);
    let rate = progress.completed.saturating_sub(last.completed) as f64 / span;
    let at = |share| recent.quantile(share).map_or("—".to_owned(), time);
    let (p50, p99) = (at(0.5), at(0.99));
    let (rate, failed) = (count(rate.round() as u64), count(progress.failed));
    format!("{rate}/s · p50 {p50} · p99 {p99} · {failed} failed · {}", asked(load, progress))
}

fn asked(load: &Load, progress: &Progress) -> String {
    let connections = counted(&count(progress.open as u64), "connections");
    match load.rate {
        Some(rate) => format!("{connections}, {}/s asked for", count(rate.round() as u64)),
        None => connections,
    }
}
