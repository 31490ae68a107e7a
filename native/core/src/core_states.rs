//! How every core spent every step of time, in one letter.
//!
//! Rules say what a letter stands for. The first that holds names an interval, and of several intervals in
//! one step the one with the earlier rule is shown: rules go from the worst to the best.

use std::collections::BTreeMap;

use crate::core_times::{CoreTimes, Interval, Ticks};

/// What a rule looks at: a share of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// System, interrupts and softirqs.
    Kernel,
    /// Softirqs alone.
    Softirq,
    /// Taken away by the hypervisor.
    Steal,
    /// All that is not free.
    Busy,
    /// User space, niced or not.
    User,
    /// Idle, with something waiting for a disk.
    Iowait,
    /// Always 1.
    Any,
}

impl Quantity {
    /// The quantity of a name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "kernel" => Self::Kernel,
            "softirq" => Self::Softirq,
            "steal" => Self::Steal,
            "busy" => Self::Busy,
            "user" => Self::User,
            "iowait" => Self::Iowait,
            "any" => Self::Any,
            _ => return None,
        })
    }

    fn share(self, used: &Ticks, total: i64) -> f64 {
        let [user, nice, system, _, iowait, irq, softirq, steal] = *used;
        let ticks = match self {
            Self::Kernel => system + irq + softirq,
            Self::Softirq => softirq,
            Self::Steal => steal,
            Self::Busy => user + nice + system + irq + softirq + steal,
            Self::User => user + nice,
            Self::Iowait => iowait,
            Self::Any => total,
        };
        ticks as f64 / total as f64
    }
}

/// A letter, and the share from which on it stands for an interval.
#[derive(Debug, Clone)]
pub struct Rule {
    /// What is shown.
    pub letter: char,
    /// What is looked at.
    pub quantity: Quantity,
    /// The least share.
    pub at_least: f64,
}

/// Steps of time by cores.
#[derive(Debug)]
pub struct Grid {
    begin: i64,
    step: i64,
    columns: usize,
    /// An interval longer than this lies over a hole, and says nothing of any one second in it.
    longest: i64,
    rules: Vec<Rule>,
    /// By core: the rule that holds in every step; one past the last where nothing is known.
    rows: BTreeMap<i64, Vec<usize>>,
}

impl Grid {
    /// An empty grid from `begin` (UTC) on.
    pub fn new(begin: i64, end: i64, step: i64, longest: i64, rules: Vec<Rule>) -> Self {
        let step = step.max(1);
        let columns = usize::try_from((end - begin).max(0) / step).unwrap_or(0)
            + usize::from((end - begin).max(0) % step > 0);
        Self { begin, step, columns, longest, rules, rows: BTreeMap::new() }
    }

    /// Add the counters of a segment, whose times are `offset` behind UTC.
    pub fn add(&mut self, times: &mut CoreTimes, offset: i64) {
        times.intervals(offset, |interval| self.add_interval(interval));
    }

    fn add_interval(&mut self, interval: &Interval) {
        let unknown = self.rules.len();
        let row = self.rows.entry(interval.core).or_insert_with(|| vec![unknown; self.columns]);
        let total = interval.total();
        let middle = interval.begin + interval.length() / 2;
        let place = (middle - self.begin).div_euclid(self.step);
        if total == 0 || interval.length() > self.longest {
            return;
        }
        if let Some(cell) = usize::try_from(place).ok().and_then(|place| row.get_mut(place)) {
            let holds = |rule: &Rule| rule.quantity.share(&interval.used, total) >= rule.at_least;
            *cell = (*cell).min(self.rules.iter().position(holds).unwrap_or(unknown));
        }
    }

    /// A letter a step for every core; a blank where nothing is known.
    pub fn states(&self) -> Vec<(i64, String)> {
        let letter = |&rule: &usize| self.rules.get(rule).map_or(' ', |rule| rule.letter);
        self.rows.iter().map(|(&core, row)| (core, row.iter().map(letter).collect())).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn rules() -> Vec<Rule> {
        let rule = |letter, quantity, at_least| Rule { letter, quantity, at_least };
        vec![rule('S', Quantity::Kernel, 0.7), rule('U', Quantity::Busy, 0.95), rule('.', Quantity::Any, 0.0)]
    }

    /// One core whose counters grow by these ticks of user, system and idle time a second.
    fn times(seconds: &[[i64; 3]], at: &[i64]) -> CoreTimes {
        let mut sums = vec![[0_i64; 3]];
        for second in seconds {
            let last = sums[sums.len() - 1];
            sums.push([last[0] + second[0], last[1] + second[1], last[2] + second[2]]);
        }
        let mode = |place: usize| sums.iter().map(|sum| sum[place]).collect::<Vec<_>>();
        let mut columns = HashMap::from([
            ("time".to_string(), at.iter().map(|second| second * SECOND).collect()),
            ("core".to_string(), vec![3; sums.len()]),
            ("user".to_string(), mode(0)),
            ("system".to_string(), mode(1)),
            ("idle".to_string(), mode(2)),
        ]);
        for other in ["nice", "iowait", "irq", "softirq", "steal"] {
            columns.insert(other.to_string(), vec![0; sums.len()]);
        }
        CoreTimes::of(columns).unwrap()
    }

    #[test]
    fn the_first_rule_that_holds_names_an_interval() {
        let mut grid = Grid::new(10 * SECOND, 14 * SECOND, SECOND, 2 * SECOND, rules());
        grid.add(&mut times(&[[0, 99, 1], [99, 0, 1], [10, 0, 90]], &[0, 1, 2, 3]), 10 * SECOND);
        assert_eq!(grid.states(), [(3, "SU. ".to_string())]);
    }

    #[test]
    fn the_worst_second_of_a_step_is_shown() {
        let mut grid = Grid::new(0, 4 * SECOND, 2 * SECOND, 2 * SECOND, rules());
        let seconds = [[0, 0, 100], [0, 100, 0], [0, 0, 100], [100, 0, 0]];
        grid.add(&mut times(&seconds, &[0, 1, 2, 3, 4]), 0);
        assert_eq!(grid.states(), [(3, "SU".to_string())]);
    }

    #[test]
    fn an_interval_over_a_hole_says_nothing() {
        let mut grid = Grid::new(0, 8 * SECOND, SECOND, 2 * SECOND, rules());
        grid.add(&mut times(&[[0, 100, 0]; 3], &[0, 1, 7, 8]), 0);
        assert_eq!(grid.states(), [(3, "S      S".to_string())]);
    }
}
