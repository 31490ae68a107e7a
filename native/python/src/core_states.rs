//! The states of cores over time.

use std::path::PathBuf;

use necroscope_core::core_states::{Grid, MODES, Quantity, Rule};
use necroscope_core::table::{self, Values};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::collections::HashMap;

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
        let names: Vec<String> = ["time", "core"].iter().chain(&MODES).map(ToString::to_string).collect();
        let columns =
            py.detach(|| table::read(&path, Some(&names))).map_err(|error| table_error(error, &path))?;
        if self.0.add(&columns, offset) {
            return Ok(());
        }
        Err(PyOSError::new_err(format!("{}: a column is missing", path.display())))
    }

    /// Add counters by column.
    fn add_columns(&mut self, columns: HashMap<String, Vec<i64>>, offset: i64) -> PyResult<()> {
        let columns: Vec<_> = columns
            .into_iter()
            .map(|(name, values)| (name, Values::Int(values.into_iter().map(Some).collect())))
            .collect();
        if self.0.add(&columns, offset) { Ok(()) } else { Err(PyValueError::new_err("a column is missing")) }
    }

    /// `(core, a letter a step)`, a blank where nothing is known.
    fn states(&self) -> Vec<(i64, String)> {
        self.0.states()
    }
}
