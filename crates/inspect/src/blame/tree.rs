//! Which function calls which, with the processor time of each where an operation is cheap and expensive.

/// A function as it is called from those above it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallTree {
    /// Its name; empty at the root.
    pub name: String,
    /// Where it is.
    pub module: String,
    /// Processor time in it and in all that it calls, for one operation: where that is cheap, and expensive.
    pub seconds: [f64; 2],
    /// What it calls, the most expensive first.
    pub calls: Vec<CallTree>,
}

impl CallTree {
    /// Adds time to a path, the outermost first.
    pub(super) fn add(&mut self, path: &[(String, &str)], seconds: [f64; 2]) {
        self.seconds.iter_mut().zip(seconds).for_each(|(sum, seconds)| *sum += seconds);
        let Some(((name, module), rest)) = path.split_first() else { return };
        let is_it = |call: &CallTree| call.name == *name && call.module == *module;
        let place = self.calls.iter().position(is_it).unwrap_or_else(|| {
            let (name, module) = (name.clone(), (*module).to_owned());
            self.calls.push(CallTree { name, module, ..CallTree::default() });
            self.calls.len() - 1
        });
        self.calls[place].add(rest, seconds);
    }

    /// Puts the most expensive first.
    pub(super) fn sort(&mut self) {
        self.calls.sort_by(|one, other| other.seconds[1].total_cmp(&one.seconds[1]));
        self.calls.iter_mut().for_each(CallTree::sort);
    }

    /// How much more time is spent in it where an operation is expensive.
    pub fn growth(&self) -> f64 {
        self.seconds[1] - self.seconds[0]
    }

    /// The innermost function in which at least that much of the growth is, going down where most of it is.
    pub(super) fn narrowest(&self, least: f64) -> Option<&CallTree> {
        let largest = self.calls.iter().max_by(|one, other| one.growth().total_cmp(&other.growth()))?;
        if largest.growth() < least {
            return None;
        }
        Some(largest.narrowest(least).unwrap_or(largest))
    }

    /// How many functions call each other here at most, this one not counted.
    pub fn depth(&self) -> usize {
        self.calls.iter().map(|call| call.depth() + 1).max().unwrap_or(0)
    }
}
