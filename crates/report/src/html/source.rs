//! The source of the parts of a page.

use judge::{Finding, Findings, Highlight};
use record::{Recording, SeriesKey};

/// The most bytes of all pictures of clouds together, before base64 makes them a third larger.
const CLOUD_BYTES: usize = 1_600_000;
/// The most bytes of all points that can be zoomed.
const ZOOM_BYTES: usize = 1_100_000;

/// A series with its number in the findings, by which it is linked.
pub(super) type Numbered<'a> = (usize, &'a Finding);

/// The limits of one series: its two clouds and its points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) cloud: usize,
    pub(super) zoom: usize,
}

impl Budget {
    /// Divides the limits among the series that have points.
    pub(super) fn of(findings: &Findings) -> Budget {
        let drawn = findings.series.iter().filter(|f| f.measurements > 0).count().max(1);
        Budget { cloud: (CLOUD_BYTES / 2 / drawn).min(60_000), zoom: (ZOOM_BYTES / drawn).min(400_000) }
    }
}

/// The source of the parts of a page.
pub(super) struct Source<'a> {
    pub(super) recording: &'a Recording,
    pub(super) findings: &'a Findings,
    /// The same without the details: only the series that the run was made for.
    pub(super) asked: &'a Findings,
    /// The highlights of these.
    pub(super) highlights: &'a [Highlight<'a>],
    pub(super) budget: Budget,
}

impl<'a> Source<'a> {
    /// The series that are wanted, each with its number.
    pub(super) fn series(&self, is_wanted: impl Fn(&Finding) -> bool) -> Vec<Numbered<'a>> {
        self.findings.series.iter().enumerate().filter(|(_, finding)| is_wanted(finding)).collect()
    }

    pub(super) fn numbered(&self, key: &SeriesKey) -> Option<Numbered<'a>> {
        self.findings.series.iter().enumerate().find(|(_, finding)| finding.key == *key)
    }

    /// The card in which a series has its figure, from 1.
    pub(super) fn card(&self, finding: &Finding) -> Option<usize> {
        let place = self.highlights.iter().position(|highlight| highlight.first().key == finding.key);
        place.map(|place| place + 1)
    }
}
