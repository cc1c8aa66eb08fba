//! The part of a workload's definition that its trials use: not the experiment, which itself uses a trial.

use crate::levels::Sizes;
use crate::operation::Operation;
use crate::reference::REFERENCES;
use crate::setting::Setting;

/// What a trial needs to know of its workload.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// The n at which something is measured.
    pub(crate) sizes: Sizes,
    /// What every trial measures.
    pub(crate) operations: &'static [Operation],
    /// What the user may choose.
    pub(crate) settings: &'static [Setting],
}

impl Declaration {
    /// The setting of that name.
    pub(crate) fn setting(&self, name: &str) -> Option<&'static Setting> {
        self.settings.iter().find(|setting| setting.name == name)
    }

    /// The references of its trials, whose columns follow those of its operations; none where n goes by
    /// levels.
    pub(crate) fn references(&self) -> &'static [Operation] {
        match self.sizes {
            Sizes::Every => REFERENCES,
            Sizes::Levels(_) => &[],
        }
    }

    /// The operations that are timed or reported, not summed, in the order of their columns.
    pub(crate) fn measured(&self) -> impl Iterator<Item = &'static Operation> + use<> {
        self.operations.iter().filter(|operation| operation.sum_of.is_empty())
    }
}
