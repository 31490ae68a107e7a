//! Tables of recorded counters: Python lists to columns and back.

use std::io;
use std::path::{Path, PathBuf};

use necroscope_core::counters::{self, Found};
use necroscope_core::table::{self, TableError, Values};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

/// Write columns `(name, kind, values)` as a Parquet file.
#[pyfunction]
pub fn write_table(
    py: Python<'_>,
    path: PathBuf,
    columns: Vec<(String, String, Bound<'_, PyList>)>,
) -> PyResult<()> {
    let columns = columns
        .into_iter()
        .map(|(name, kind, list)| values_of(&name, &kind, &list).map(|values| (name, values)))
        .collect::<PyResult<Vec<_>>>()?;
    py.detach(|| table::write(&path, &columns)).map_err(|error| table_error(error, &path))
}

/// Columns of a Parquet file by name, in the order of the file.
#[pyfunction]
#[pyo3(signature = (path, names=None))]
pub fn read_table(py: Python<'_>, path: PathBuf, names: Option<Vec<String>>) -> PyResult<Bound<'_, PyDict>> {
    let columns =
        py.detach(|| table::read(&path, names.as_deref())).map_err(|error| table_error(error, &path))?;
    let lists = PyDict::new(py);
    for (name, values) in columns {
        let list = match values {
            Values::Int(values) => PyList::new(py, values),
            Values::Float(values) => PyList::new(py, values),
            Values::Text(values) => PyList::new(py, values),
            Values::Bool(values) => PyList::new(py, values),
        }?;
        lists.set_item(name, list)?;
    }
    Ok(lists)
}

/// Time, `(source, None or (absence, detail))`, `(source, cost)`
type Moment = (i64, Vec<(String, Option<(String, String)>)>, Vec<(String, i64)>);

/// The readings of a journal as tables.
#[pyclass]
pub struct CounterTables {
    tables: counters::CounterTables,
    misfit: String,
    misfit_detail: Option<String>,
}

#[pymethods]
impl CounterTables {
    #[new]
    fn new(layout: &[u8], misfit: String, misfit_detail: Option<String>) -> PyResult<Self> {
        let unread = || PyValueError::new_err("not a layout of tables");
        let tables = counters::CounterTables::parse(layout).ok_or_else(unread)?;
        Ok(Self { tables, misfit, misfit_detail })
    }

    /// Take the rows of a moment; what is left of it comes back.
    fn add(&mut self, moment: &[u8]) -> PyResult<Moment> {
        let unread = || PyValueError::new_err("not a moment");
        let moment = self.tables.add(moment).ok_or_else(unread)?;
        let readings = moment.readings.into_iter().map(|(id, found)| match found {
            Found::Rows => (id, None),
            Found::Absence { kind, detail } => (id, Some((kind, detail))),
            Found::Misfit(how) => {
                (id, Some((self.misfit.clone(), self.misfit_detail.clone().unwrap_or(how))))
            }
        });
        Ok((moment.time_ns, readings.collect(), moment.costs))
    }

    /// Write a Parquet file for every table of the sources that gave something.
    fn write(&mut self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        py.detach(|| self.tables.write(&folder)).map_err(|error| table_error(error, &folder))
    }
}

fn values_of(name: &str, kind: &str, list: &Bound<'_, PyList>) -> PyResult<Values> {
    Ok(match kind {
        "int" => Values::Int(cells(name, kind, list, int)?),
        "float" => Values::Float(cells(name, kind, list, float)?),
        "text" => Values::Text(cells(name, kind, list, text)?),
        "bool" => Values::Bool(cells(name, kind, list, boolean)?),
        _ => return Err(PyValueError::new_err(format!("column {name}: no such kind: {kind}"))),
    })
}

fn cells<V>(
    name: &str,
    kind: &str,
    list: &Bound<'_, PyList>,
    take: impl Fn(&Bound<'_, PyAny>) -> Option<V>,
) -> PyResult<Vec<Option<V>>> {
    let cell = |(row, value): (usize, Bound<'_, PyAny>)| {
        if value.is_none() {
            return Ok(None);
        }
        let other = || {
            let found = value.get_type();
            PyValueError::new_err(format!("column {name}: row {row} is of {found}, not of the kind {kind}"))
        };
        take(&value).map(Some).ok_or_else(other)
    };
    list.iter().enumerate().map(cell).collect()
}

/// Kernel counters are unsigned: what is too large is the largest there is, rather than an error.
fn int(value: &Bound<'_, PyAny>) -> Option<i64> {
    let number = whole_number(value)?;
    let beyond = || Some(if number.lt(0).ok()? { i64::MIN } else { i64::MAX });
    number.extract().ok().or_else(beyond)
}

fn float(value: &Bound<'_, PyAny>) -> Option<f64> {
    match value.cast::<PyFloat>() {
        Ok(number) => number.extract().ok(),
        Err(_) => whole_number(value)?.extract().ok(),
    }
}

/// A name of the kernel need not be UTF-8: what is not is replaced, rather than an error.
fn text(value: &Bound<'_, PyAny>) -> Option<String> {
    value.cast::<PyString>().ok().map(|text| text.to_string_lossy().into_owned())
}

fn boolean(value: &Bound<'_, PyAny>) -> Option<bool> {
    value.cast::<PyBool>().ok()?.extract().ok()
}

fn whole_number<'a, 'py>(value: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyInt>> {
    // To Python a bool is an int; in a table it is a mistake.
    if value.is_instance_of::<PyBool>() { None } else { value.cast::<PyInt>().ok() }
}

/// The Python error for a table that was not written or read.
pub fn table_error(error: TableError, path: &Path) -> PyErr {
    match error {
        TableError::Io(error) => os_error(&error, path),
        TableError::Shape(what) => PyValueError::new_err(what),
        TableError::Format(what) => PyOSError::new_err(format!("{}: {what}", path.display())),
    }
}

/// An OSError with errno, text and file, of which Python makes FileNotFoundError and the like.
pub fn os_error(error: &io::Error, path: &Path) -> PyErr {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(number) => {
            let plain = text.split(" (os error").next().unwrap_or_default().to_string();
            PyOSError::new_err((number, plain, path.as_os_str().to_os_string()))
        }
        None => PyOSError::new_err(format!("{}: {text}", path.display())),
    }
}
