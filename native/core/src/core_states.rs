//! How every core spent every step of time, in one letter.
//!
//! Rules say what a letter stands for. The first that holds names an interval, and of several intervals in
//! one step the one with the earlier rule is shown: rules go from the worst to the best.

use std::collections::{BTreeMap, HashMap};

use crate::table::{Column, Values};

/// The counters of a core, in the order in which `Ticks` has them.
pub const MODES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

type Ticks = [i64; MODES.len()];

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

    /// Add the counters of a segment, whose times are `offset` behind UTC. False: a column is missing.
    pub fn add(&mut self, table: &[Column], offset: i64) -> bool {
        let column = |wanted: &str| {
            table.iter().find(|(name, _)| name == wanted).and_then(|(_, values)| match values {
                Values::Int(values) => Some(values),
                _ => None,
            })
        };
        let (Some(times), Some(cores)) = (column("time"), column("core")) else { return false };
        let Some(modes) = MODES.iter().map(|mode| column(mode)).collect::<Option<Vec<_>>>() else {
            return false;
        };
        let mut by_core: HashMap<i64, Vec<(i64, Ticks)>> = HashMap::new();
        for (row, (time, core)) in times.iter().zip(cores).enumerate() {
            if let (Some(time), Some(core)) = (time, core) {
                let ticks = std::array::from_fn(|mode| modes[mode][row].unwrap_or(0));
                by_core.entry(*core).or_default().push((*time, ticks));
            }
        }
        for (core, mut readings) in by_core {
            readings.sort_unstable();
            for pair in readings.windows(2) {
                self.add_interval(core, pair[0], pair[1], offset);
            }
        }
        true
    }

    fn add_interval(&mut self, core: i64, before: (i64, Ticks), after: (i64, Ticks), offset: i64) {
        let unknown = self.rules.len();
        let row = self.rows.entry(core).or_insert_with(|| vec![unknown; self.columns]);
        // The kernel lets idle and iowait step back by a tick now and then.
        let used: Ticks = std::array::from_fn(|mode| (after.1[mode] - before.1[mode]).max(0));
        let total: i64 = used.iter().sum();
        let middle = before.0 + (after.0 - before.0) / 2 + offset;
        let place = (middle - self.begin).div_euclid(self.step);
        if total == 0 || after.0 - before.0 > self.longest {
            return;
        }
        if let Some(cell) = usize::try_from(place).ok().and_then(|place| row.get_mut(place)) {
            let holds = |rule: &Rule| rule.quantity.share(&used, total) >= rule.at_least;
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
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn rules() -> Vec<Rule> {
        let rule = |letter, quantity, at_least| Rule { letter, quantity, at_least };
        vec![rule('S', Quantity::Kernel, 0.7), rule('U', Quantity::Busy, 0.95), rule('.', Quantity::Any, 0.0)]
    }

    /// One core whose counters grow by these ticks of user, system and idle time a second.
    fn table(seconds: &[[i64; 3]]) -> Vec<Column> {
        let mut sums = vec![[0_i64; 3]];
        for second in seconds {
            let last = sums[sums.len() - 1];
            sums.push([last[0] + second[0], last[1] + second[1], last[2] + second[2]]);
        }
        let ints = |values: Vec<i64>| Values::Int(values.into_iter().map(Some).collect());
        let mut columns = vec![
            ("time".to_string(), ints((0..sums.len() as i64).map(|n| n * SECOND).collect())),
            ("core".to_string(), ints(vec![3; sums.len()])),
        ];
        for mode in MODES {
            let place = ["user", "system", "idle"].iter().position(|name| *name == mode);
            let values = sums.iter().map(|sum| place.map_or(0, |place| sum[place])).collect();
            columns.push((mode.to_string(), ints(values)));
        }
        columns
    }

    #[test]
    fn the_first_rule_that_holds_names_an_interval() {
        let mut grid = Grid::new(10 * SECOND, 14 * SECOND, SECOND, 2 * SECOND, rules());
        assert!(grid.add(&table(&[[0, 99, 1], [99, 0, 1], [10, 0, 90]]), 10 * SECOND));
        assert_eq!(grid.states(), [(3, "SU. ".to_string())]);
    }

    #[test]
    fn the_worst_second_of_a_step_is_shown() {
        let mut grid = Grid::new(0, 4 * SECOND, 2 * SECOND, 2 * SECOND, rules());
        grid.add(&table(&[[0, 0, 100], [0, 100, 0], [0, 0, 100], [100, 0, 0]]), 0);
        assert_eq!(grid.states(), [(3, "SU".to_string())]);
    }

    #[test]
    fn an_interval_over_a_hole_says_nothing() {
        let mut columns = table(&[[0, 100, 0], [0, 100, 0], [0, 100, 0]]);
        if let Values::Int(times) = &mut columns[0].1 {
            times[2] = Some(7 * SECOND);
            times[3] = Some(8 * SECOND);
        }
        let mut grid = Grid::new(0, 8 * SECOND, SECOND, 2 * SECOND, rules());
        grid.add(&columns, 0);
        assert_eq!(grid.states(), [(3, "S      S".to_string())]);
    }

    #[test]
    fn a_table_without_the_columns_is_refused() {
        let mut grid = Grid::new(0, SECOND, SECOND, SECOND, rules());
        assert!(!grid.add(&[("time".into(), Values::Int(vec![Some(0)]))], 0));
    }
}
