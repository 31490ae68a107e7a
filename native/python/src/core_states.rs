//! The states of cores over time.

use std::collections::HashMap;
use std::path::PathBuf;

use necroscope_core::core_states::{Grid, Quantity, Rule};
use necroscope_core::core_times::CoreTimes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::tables::table_error;

/// Steps of time by cores.
#[pyclass]
pub struct CoreGrid(Grid);

#[pymethods]
impl CoreGrid {
    /// Times in UTC; rules as `(letter, quantity, at least)`, the worst first.
    #[new]
    fn new(begin: i64, end: i64, step: i64, longest: i64, rules: Vec<(char, String, f64)>) -> PyResult<Self> {
        let rules = rules
            .into_iter()
            .map(|(letter, name, at_least)| {
                let quantity = Quantity::named(&name)
                    .ok_or_else(|| PyValueError::new_err(format!("no such quantity: {name}")))?;
                Ok(Rule { letter, quantity, at_least })
            })
            .collect::<PyResult<Vec<_>>>()?;
        Ok(Self(Grid::new(begin, end, step, longest, rules)))
    }

    /// Add the counters of a sealed segment.
    fn add_file(&mut self, py: Python<'_>, path: PathBuf, offset: i64) -> PyResult<()> {
        let mut times = CoreTimes::default();
        py.detach(|| times.read(&path)).map_err(|error| table_error(error, &path))?;
        self.0.add(&mut times, offset);
        Ok(())
    }

    /// Add counters by column.
    fn add_columns(&mut self, columns: HashMap<String, Vec<i64>>, offset: i64) -> PyResult<()> {
        self.0.add(&mut core_times(columns)?, offset);
        Ok(())
    }

    /// `(core, a letter a step)`, a blank where nothing is known.
    fn states(&self) -> Vec<(i64, String)> {
        self.0.states()
    }
}

/// Counters by column.
pub fn core_times(columns: HashMap<String, Vec<i64>>) -> PyResult<CoreTimes> {
    CoreTimes::of(columns).ok_or_else(|| PyValueError::new_err("a column is missing or too short"))
}
