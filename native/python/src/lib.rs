//! The Python skin of `necroscope-core`: types in, types out, nothing decided here.

mod core_heat;
mod core_states;
mod ledger;
mod merged;
mod profiles;
mod scope;
mod tables;
mod tally;
mod text_imports;

use std::os::fd::{IntoRawFd, RawFd};
use std::path::PathBuf;

use necroscope_core::rooted::Root;
use necroscope_core::{directories, tasks};
use pyo3::prelude::*;

/// `(pid, tid, comm, core or -1, user_ticks, system_ticks)`
type TaskRow = (u32, u32, String, i64, u64, u64);

/// `(pid of the parent, its comm, ticks)`
type ChildrenRow = (u32, String, u64);

/// List a directory and all directories below it: `(relative paths, unreadable, too deep to have a path)`.
#[pyfunction]
fn list_directories(py: Python<'_>, root: PathBuf) -> PyResult<(Vec<String>, usize, usize)> {
    let listing = py.detach(|| directories::list_directories(&root))?;
    Ok((listing.directories, listing.unreadable, listing.too_deep))
}

/// Find a file below a root, which no link leads out of: a descriptor that says only which file it is.
#[pyfunction]
fn find_below(root: PathBuf, name: PathBuf) -> PyResult<RawFd> {
    let found = Root::open(&root).and_then(|root| root.find(&name, true));
    found.map(IntoRawFd::into_raw_fd).map_err(|error| tables::os_error(&error, &name))
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

    /// `(processes, tasks, children)` since the scan before: the busiest threads of every core, and the
    /// parents whose ended children used the most; `most` of each.
    fn scan(&mut self, py: Python<'_>, most: usize) -> PyResult<(usize, Vec<TaskRow>, Vec<ChildrenRow>)> {
        let scanner = &mut self.0;
        let mut scan = py.detach(move || scanner.scan())?;
        scan.keep_busiest(most);
        let core = |core: Option<u32>| core.map_or(-1, i64::from);
        let tasks = scan
            .tasks
            .into_iter()
            .map(|t| (t.pid, t.tid, t.comm, core(t.core), t.user_ticks, t.system_ticks));
        let children = scan.children.into_iter().map(|c| (c.pid, c.comm, c.ticks));
        Ok((scan.processes, tasks.collect(), children.collect()))
    }
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(list_directories, module)?)?;
    module.add_function(wrap_pyfunction!(find_below, module)?)?;
    module.add_class::<TaskScanner>()?;
    module.add_class::<core_states::CoreGrid>()?;
    module.add_class::<core_heat::CoreHeat>()?;
    module.add_class::<core_heat::SegmentHeat>()?;
    module.add_function(wrap_pyfunction!(core_heat::seconds_of_files, module)?)?;
    module.add_class::<ledger::CgroupTrace>()?;
    module.add_function(wrap_pyfunction!(profiles::import_perf_data, module)?)?;
    module.add_function(wrap_pyfunction!(profiles::perf_data_span, module)?)?;
    module.add_function(wrap_pyfunction!(text_imports::import_perf_script, module)?)?;
    module.add_function(wrap_pyfunction!(text_imports::import_folded, module)?)?;
    module.add_function(wrap_pyfunction!(text_imports::sniff_profile, module)?)?;
    module.add_class::<tables::CounterTables>()?;
    module.add_function(wrap_pyfunction!(tables::write_table, module)?)?;
    module.add_function(wrap_pyfunction!(tables::read_table, module)?)?;
    module.add_function(wrap_pyfunction!(merged::merge_profiles, module)?)?;
    module.add_function(wrap_pyfunction!(merged::merge_windows, module)?)?;
    module.add_function(wrap_pyfunction!(merged::encode_window, module)?)?;
    module.add_class::<profiles::Profile>()?;
    module.add_class::<profiles::Query>()?;
    module.add_class::<profiles::Search>()?;
    module.add_class::<scope::Scope>()?;
    module.add_class::<tally::Tally>()?;
    module.add_class::<profiles::Window>()
}
