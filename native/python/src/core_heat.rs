//! How full cores were, second by second.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use necroscope_core::core_heat::{self, Heat, Seconds};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::core_states::core_times;
use crate::tables::table_error;

/// Every second of a segment.
#[pyclass(frozen)]
pub struct SegmentHeat(Arc<Seconds>);

#[pymethods]
impl SegmentHeat {
    /// How much memory it takes.
    #[getter]
    fn size_bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// The seconds of sealed segments, in their order; an error in the place of one that cannot be read.
#[pyfunction]
pub fn seconds_of_files(py: Python<'_>, files: Vec<(PathBuf, i64)>) -> PyResult<Vec<Py<PyAny>>> {
    let all = py.detach(|| core_heat::read_all(&files));
    let rows = all.into_iter().zip(&files).map(|(read, (path, _))| match read {
        Ok(seconds) => Ok(Py::new(py, SegmentHeat(Arc::new(seconds)))?.into_any()),
        Err(error) => Ok(table_error(error, path).into_value(py).into_any()),
    });
    rows.collect()
}

/// Columns of whole seconds by cores.
#[pyclass]
pub struct CoreHeat(Heat);

#[pymethods]
impl CoreHeat {
    #[new]
    fn new(begin: i64, end: i64, step: i64) -> PyResult<Self> {
        let wrong = || PyValueError::new_err("begin and step must be whole seconds");
        Heat::new(begin, end, step).map(Self).ok_or_else(wrong)
    }

    /// Add the seconds of a segment.
    fn add_seconds(&mut self, py: Python<'_>, seconds: &SegmentHeat) {
        let (heat, seconds) = (&mut self.0, Arc::clone(&seconds.0));
        py.detach(move || heat.add(&seconds));
    }

    /// Add counters by column.
    fn add_columns(&mut self, columns: HashMap<String, Vec<i64>>, offset: i64) -> PyResult<()> {
        let seconds = Seconds::of(&mut core_times(columns)?, offset);
        self.0.add(&seconds.map_err(|error| PyValueError::new_err(error.to_string()))?);
        Ok(())
    }

    /// The cores that anything is known of.
    #[getter]
    fn cores(&self) -> Vec<i64> {
        self.0.cores()
    }

    /// How many columns there are.
    #[getter]
    fn columns(&self) -> usize {
        self.0.columns()
    }

    /// The percentages of a quantity, core by core.
    fn percents<'py>(&self, py: Python<'py>, quantity: &str) -> PyResult<Bound<'py, PyBytes>> {
        let percents = self.0.percents(quantity);
        let unknown = || PyValueError::new_err(format!("no such quantity: {quantity}"));
        Ok(PyBytes::new(py, &percents.ok_or_else(unknown)?))
    }
}
