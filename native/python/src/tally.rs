//! The table of processes and kernel functions by second.

use necroscope_core::tally;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::profiles::{Profile, Query, parquet_error};

/// `(process, function, way, samples of each bin, summed depth in the stacks)`
type Row = (String, String, &'static str, Vec<u32>, u64);

/// Samples of processes and kernel functions in bins of time.
#[pyclass]
pub struct Tally(tally::Tally);

#[pymethods]
impl Tally {
    #[new]
    fn new(starts: Vec<i64>, length: i64) -> PyResult<Self> {
        let wrong = || PyValueError::new_err("bins must be in order and not overlap");
        tally::Tally::new(starts, length).map(Self).ok_or_else(wrong)
    }

    /// Add the samples of one profile; bins may span several.
    fn add(&mut self, py: Python<'_>, profile: &Profile, query: &Query) -> PyResult<()> {
        py.detach(|| self.0.add(&profile.0, &query.0)).map_err(parquet_error)
    }

    /// Samples of each bin: that pass the filter, and on any core.
    #[getter]
    fn totals(&self) -> (Vec<u32>, Vec<u32>) {
        (self.0.here.clone(), self.0.everywhere.clone())
    }

    /// The lines with at least so many samples, in a stable order.
    fn rows(&self, least: u64) -> Vec<Row> {
        let rows = self.0.rows(least).into_iter();
        rows.map(|row| (row.process, row.function, row.way.word(), row.counts, row.depth)).collect()
    }
}
