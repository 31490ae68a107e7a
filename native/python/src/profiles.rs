//! Profiles: importing, opening, asking.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use necroscope_core::flame;
use necroscope_core::heatmap;
use necroscope_core::import;
use necroscope_core::perf_data::{self, Capture, Clip, ReadError};
use necroscope_core::profile::{IdleRule, Profile as Imported};
use necroscope_core::seal::seal;
use necroscope_core::sealed::{Error, Sealed};
use necroscope_core::search;
use necroscope_core::symbols::Sources;
use necroscope_core::window::{self, Filter, Split};
use pyo3::exceptions::{PyOSError, PyPermissionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// `(columns, rows, cells by column)`
type Cells = (usize, usize, Vec<u32>);

/// `(name, kind, module)`
type LabelRow = (String, &'static str, String);

/// Parents, labels, totals and own samples of the window, the same of the baseline, and the labels.
type TreeColumns = (Vec<u32>, Vec<u32>, Vec<u64>, Vec<u64>, Vec<u64>, Vec<u64>, Vec<LabelRow>);

/// The same as bytes of 32-bit numbers; None without a baseline.
type TreeBytes<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Option<Bound<'py, PyBytes>>,
    Option<Bound<'py, PyBytes>>,
    Vec<LabelRow>,
);

/// The Python error for a file that gave nothing.
pub fn read_error(error: ReadError) -> PyErr {
    match error {
        ReadError::Io(error) => error.into(),
        ReadError::Format(what) => PyValueError::new_err(what),
    }
}

/// The Python error for a sealed profile that cannot be written or read.
pub fn parquet_error(error: Error) -> PyErr {
    match &error {
        Error::External(cause) if is_denied(cause.as_ref()) => PyPermissionError::new_err(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

fn is_denied(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Read a perf.data file, name its frames and write it as a sealed profile into a folder.
///
/// Without a root no file of a program is opened: functions of programs have no names.
#[pyfunction]
#[pyo3(signature = (path, folder, *, kallsyms, root, idle, interrupt, begin=None, end=None))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
pub fn import_perf_data<'py>(
    py: Python<'py>,
    path: PathBuf,
    folder: PathBuf,
    kallsyms: Option<PathBuf>,
    root: Option<PathBuf>,
    idle: Vec<String>,
    interrupt: Vec<String>,
    begin: Option<i64>,
    end: Option<i64>,
) -> PyResult<Bound<'py, PyDict>> {
    let sources = Sources { kallsyms, root };
    let clip = Clip { begin, end };
    let (profile, capture) = py.detach(|| import::import(&path, &sources, clip)).map_err(read_error)?;
    py.detach(|| seal(&profile, &profile.idle(&IdleRule { idle, interrupt }), &folder))
        .map_err(parquet_error)?;
    let facts = describe(py, &profile)?;
    describe_capture(&facts, &capture)?;
    let cores = profile.samples.per_core().into_iter();
    let rows = cores.map(|core| (core.cpu, core.samples, core.first, core.last, core.largest_gap));
    facts.set_item("per_core", rows.collect::<Vec<_>>())?;
    Ok(facts)
}

/// Times of the first and the last sample of a perf.data file, or None.
#[pyfunction]
pub fn perf_data_span(py: Python<'_>, path: PathBuf) -> PyResult<Option<(u64, u64)>> {
    py.detach(|| perf_data::read(&path).map(|capture| capture.samples.span())).map_err(read_error)
}

/// What is in a profile, in numbers.
pub fn describe<'py>(py: Python<'py>, profile: &Imported) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("samples", profile.samples.time.len())?;
    facts.set_item("begin_ns", profile.samples.time.first())?;
    facts.set_item("end_ns", profile.samples.time.last())?;
    facts.set_item("stacks", profile.stacks.rows().len())?;
    facts.set_item("frames", profile.frames.len())?;
    facts.set_item("unnamed_frames", profile.frames.iter().filter(|frame| frame.name.is_empty()).count())?;
    facts.set_item("tasks", profile.tasks.len())?;
    facts.set_item("events", &profile.events)?;
    Ok(facts)
}

fn describe_capture(facts: &Bound<'_, PyDict>, capture: &Capture) -> PyResult<()> {
    facts.set_item("lost_samples", capture.lost_samples)?;
    facts.set_item("lost_records", capture.lost_records)?;
    facts.set_item("throttles", capture.throttles)?;
    facts.set_item("gaps", &capture.gaps)?;
    let clock = capture.clock.map(|clock| (clock.clock_id, clock.wall_ns, clock.clock_ns));
    facts.set_item("clock", clock)?;
    let lines: Vec<_> = capture.lines.iter().map(|line| (line.time, line.cpu, &line.text)).collect();
    facts.set_item("lines", lines)?;
    facts.set_item("hostname", &capture.origin.hostname)?;
    facts.set_item("release", &capture.origin.release)?;
    facts.set_item("perf_version", &capture.origin.version)?;
    facts.set_item("cores_online", capture.origin.cores_online)?;
    facts.set_item("command", &capture.origin.command)
}

/// A sealed profile, opened.
#[pyclass(frozen)]
pub struct Profile(pub Sealed);

#[pymethods]
impl Profile {
    #[new]
    fn new(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        py.detach(|| Sealed::open(&folder)).map(Self).map_err(parquet_error)
    }

    /// Times of the first and the last sample, or None.
    fn span(&self) -> PyResult<Option<(i64, i64)>> {
        self.0.span().map_err(parquet_error)
    }

    /// Names of the events.
    #[getter]
    fn events(&self) -> Vec<String> {
        self.0.events.clone()
    }

    /// `(pid, tid, comm, process)` of every thread that was sampled.
    #[getter]
    fn tasks(&self) -> Vec<(u32, u32, String, String)> {
        self.0
            .tasks
            .iter()
            .map(|task| (task.pid, task.tid, task.comm.clone(), task.process.clone()))
            .collect()
    }

    /// `(columns, rows, cells)`: one column a second from `begin`, one row a fraction of it.
    fn subsecond(&self, py: Python<'_>, query: &Query, rows: usize) -> PyResult<Cells> {
        cells(py.detach(|| heatmap::subsecond(&self.0, &query.0, rows)))
    }

    /// `(columns, rows, cells)`: one column a step of time from `begin`, one row a core.
    fn cores(&self, py: Python<'_>, query: &Query, step_ns: i64) -> PyResult<Cells> {
        cells(py.detach(|| heatmap::cores(&self.0, &query.0, step_ns)))
    }
}

fn cells(map: Result<heatmap::Heatmap, Error>) -> PyResult<Cells> {
    map.map(|map| (map.columns, map.rows, map.cells)).map_err(parquet_error)
}

/// What is looked for in the names of functions, processes and threads.
#[pyclass(frozen)]
pub struct Search(Arc<search::Search>);

#[pymethods]
impl Search {
    #[new]
    fn new(text: &str, is_regexp: bool) -> PyResult<Self> {
        let search = search::Search::new(text, is_regexp).map_err(PyValueError::new_err)?;
        Ok(Self(Arc::new(search)))
    }
}

/// Which samples are wanted.
#[pyclass(frozen)]
pub struct Query(pub Filter);

#[pymethods]
impl Query {
    #[new]
    #[pyo3(signature = (
        begin, end, *, cpus, processes, threads, events, idle, search=None, only_matching=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    fn new(
        begin: i64,
        end: i64,
        cpus: Vec<i32>,
        processes: Vec<String>,
        threads: Vec<String>,
        events: Vec<String>,
        idle: bool,
        search: Option<PyRef<'_, Search>>,
        only_matching: bool,
    ) -> Self {
        let search = search.map(|search| Arc::clone(&search.0));
        Self(Filter { begin, end, cpus, processes, threads, events, idle, search, only_matching })
    }
}

/// Stacks of a window and how often each was seen.
#[pyclass]
#[derive(Default)]
pub struct Window(pub window::Window);

#[pymethods]
impl Window {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Add the samples of one profile; a window may span several.
    fn add(&mut self, py: Python<'_>, profile: &Profile, query: &Query, split: &str) -> PyResult<()> {
        let split = split_of(split)?;
        py.detach(|| self.0.add(&profile.0, &query.0, split)).map_err(parquet_error)
    }

    /// `(counted, idle, unknown)` samples.
    #[getter]
    fn totals(&self) -> (u64, u64, u64) {
        (self.0.samples, self.0.idle, self.0.unknown)
    }

    /// Stacks as `(labels, outermost first; count)`, in a stable order.
    fn folded(&self) -> Vec<(Vec<String>, u64)> {
        self.0.folded()
    }

    /// The tree of all stacks, beside a baseline's where there is one.
    #[pyo3(signature = (baseline, inverted))]
    fn tree(&self, py: Python<'_>, baseline: Option<PyRef<'_, Window>>, inverted: bool) -> TreeColumns {
        let other = baseline.as_ref().map(|window| &window.0);
        let tree = py.detach(|| flame::tree(&self.0, other, inverted));
        let side = |columns: &[[u64; 2]], side: usize| columns.iter().map(|pair| pair[side]).collect();
        (
            tree.parent,
            tree.label,
            side(&tree.total, 0),
            side(&tree.own, 0),
            side(&tree.total, 1),
            side(&tree.own, 1),
            label_rows(tree.labels),
        )
    }

    /// The same as bytes, for trees whose numbers Python need not see.
    #[pyo3(signature = (baseline, inverted))]
    fn tree_bytes<'py>(
        &self,
        py: Python<'py>,
        baseline: Option<PyRef<'_, Window>>,
        inverted: bool,
    ) -> TreeBytes<'py> {
        let other = baseline.as_ref().map(|window| &window.0);
        let tree = py.detach(|| flame::tree(&self.0, other, inverted));
        let numbers = |values: &[u32]| PyBytes::new(py, &little_endian(values.iter().copied()));
        let side = |pairs: &[[u64; 2]], side: usize| {
            let capped = pairs.iter().map(|pair| u32::try_from(pair[side]).unwrap_or(u32::MAX));
            PyBytes::new(py, &little_endian(capped))
        };
        (
            numbers(&tree.parent),
            numbers(&tree.label),
            side(&tree.total, 0),
            side(&tree.own, 0),
            other.map(|_| side(&tree.total, 1)),
            other.map(|_| side(&tree.own, 1)),
            label_rows(tree.labels),
        )
    }
}

/// What a word of Python means.
pub fn split_of(word: &str) -> PyResult<Split> {
    match word {
        "whole" => Ok(Split::Whole),
        "comm" => Ok(Split::Comm),
        "process" => Ok(Split::Process),
        "thread" => Ok(Split::Thread),
        "core" => Ok(Split::Core),
        _ => Err(PyValueError::new_err(format!("no such split: {word}"))),
    }
}

fn label_rows(labels: Vec<flame::Label>) -> Vec<LabelRow> {
    labels.into_iter().map(|label| (label.name, label.kind, label.module)).collect()
}

/// Numbers as the bytes that a page makes an array of.
fn little_endian(values: impl Iterator<Item = u32>) -> Vec<u8> {
    values.flat_map(u32::to_le_bytes).collect()
}
