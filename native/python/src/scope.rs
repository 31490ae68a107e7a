//! The subsecond-offset heatmap with a search.

use std::collections::HashMap;

use necroscope_core::scope;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::profiles::{Profile, Query, parquet_error};

/// A day of columns of fifty rows.
const MOST_CELLS: usize = 86_400 * 50;

/// Samples by second and fraction of a second.
#[pyclass]
pub struct Scope(scope::Scope);

#[pymethods]
impl Scope {
    #[new]
    fn new(columns: usize, rows: usize) -> PyResult<Self> {
        if rows == 0 || columns.saturating_mul(rows) > MOST_CELLS {
            return Err(PyValueError::new_err(format!("not from 1 to {MOST_CELLS} cells")));
        }
        Ok(Self(scope::Scope::new(columns, rows)))
    }

    /// Add the samples of one profile; the first column begins where the query does, or at `begin`.
    fn add(&mut self, py: Python<'_>, profile: &Profile, query: &Query, begin: i64) -> PyResult<()> {
        py.detach(|| self.0.add(&profile.0, &query.0, begin)).map_err(parquet_error)
    }

    /// `(counted, idle, unknown)` samples.
    #[getter]
    fn totals(&self) -> (u64, u64, u64) {
        (self.0.samples, self.0.idle, self.0.unknown)
    }

    /// The largest count of a cell.
    #[getter]
    fn most(&self) -> u32 {
        self.0.counts.iter().copied().max().unwrap_or(0)
    }

    /// Samples of each cell.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        short_numbers(py, &self.0.counts)
    }

    /// Samples of each cell that the search matches.
    #[getter]
    fn matched<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        short_numbers(py, &self.0.matched)
    }

    /// `(core, samples)` in the order of cores.
    #[getter]
    fn cpus(&self) -> Vec<(i32, u64)> {
        let mut rows: Vec<_> = self.0.cpus.iter().map(|(&cpu, &samples)| (cpu, samples)).collect();
        rows.sort_unstable();
        rows
    }

    /// `(name, samples)`, most first.
    fn processes(&self, most: usize) -> Vec<(String, u64)> {
        most_first(&self.0.processes, most)
    }

    /// `(name, samples)`, most first.
    fn threads(&self, most: usize) -> Vec<(String, u64)> {
        most_first(&self.0.threads, most)
    }
}

fn short_numbers<'py>(py: Python<'py>, values: &[u32]) -> Bound<'py, PyBytes> {
    let capped = values.iter().map(|&value| u16::try_from(value).unwrap_or(u16::MAX));
    PyBytes::new(py, &capped.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
}

fn most_first(names: &HashMap<String, u64>, most: usize) -> Vec<(String, u64)> {
    let mut rows: Vec<_> = names.iter().map(|(name, &samples)| (name.clone(), samples)).collect();
    rows.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    rows.truncate(most);
    rows
}
