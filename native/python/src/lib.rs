//! The Python skin of `necroscope-core`: types in, types out, nothing decided here.

use std::path::PathBuf;

use necroscope_core::{directories, tasks};
use pyo3::prelude::*;

/// `(pid, tid, comm, core, user_ticks, system_ticks)`
type TaskRow = (u32, u32, String, u32, u64, u64);

/// List a directory and all directories below it: `(relative paths, unreadable)`.
#[pyfunction]
fn list_directories(py: Python<'_>, root: PathBuf) -> PyResult<(Vec<String>, usize)> {
    let listing = py.detach(|| directories::list_directories(&root))?;
    Ok((listing.directories, listing.unreadable))
}

/// Remembers the CPU time of every thread below a proc mount.
#[pyclass]
struct TaskScanner(tasks::Scanner);

#[pymethods]
impl TaskScanner {
    #[new]
    fn new(proc: PathBuf) -> Self {
        Self(tasks::Scanner::new(&proc))
    }

    /// `(processes, rows)`: the `limit` busiest threads since the scan before, busiest first.
    fn scan(&mut self, py: Python<'_>, limit: usize) -> PyResult<(usize, Vec<TaskRow>)> {
        let scanner = &mut self.0;
        let scan = py.detach(move || scanner.scan())?;
        let rows = scan.tasks.into_iter().take(limit);
        let rows = rows.map(|t| (t.pid, t.tid, t.comm, t.core, t.user_ticks, t.system_ticks)).collect();
        Ok((scan.processes, rows))
    }
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(list_directories, module)?)?;
    module.add_class::<TaskScanner>()
}
