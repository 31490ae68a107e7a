//! Stacks of many profiles as one window, and windows as bytes.

use std::path::PathBuf;

use necroscope_core::encoded::{decode, encode};
use necroscope_core::merged::{self, Part};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::profiles::{Query, Window, parquet_error, split_of};

/// Merge profiles; and what could not be read, by its place, with the error.
#[pyfunction]
pub fn merge_profiles(
    py: Python<'_>,
    parts: Vec<(PathBuf, Py<Query>)>,
    split: &str,
    threads: usize,
) -> PyResult<(Window, Vec<(usize, PyErr)>)> {
    let split = split_of(split)?;
    let parts: Vec<Part> =
        parts.into_iter().map(|(folder, query)| Part { folder, filter: query.get().0.clone() }).collect();
    let (window, failed) = py.detach(|| merged::merge(&parts, split, threads));
    let failed = failed.into_iter().map(|(place, error)| (place, parquet_error(error)));
    Ok((Window(window), failed.collect()))
}

/// Windows in bytes put together into one.
#[pyfunction]
pub fn merge_windows(py: Python<'_>, parts: Vec<Vec<u8>>) -> PyResult<Window> {
    py.detach(|| parts.iter().map(|part| decode(part)).collect::<Option<Vec<_>>>())
        .map(|windows| py.detach(|| Window(merged::put_together(&windows))))
        .ok_or_else(|| PyValueError::new_err("these are not the bytes of a window"))
}

/// A window as bytes.
#[pyfunction]
pub fn encode_window<'py>(py: Python<'py>, window: PyRef<'py, Window>) -> Bound<'py, PyBytes> {
    let window = &window.0;
    let bytes = py.detach(|| encode(window));
    PyBytes::new(py, &bytes)
}
