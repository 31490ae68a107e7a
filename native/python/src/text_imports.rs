//! Importing profiles that are text, and telling the kinds of profiles apart.

use std::path::{Path, PathBuf};

use necroscope_core::profile::{IdleRule, Profile};
use necroscope_core::seal::seal;
use necroscope_core::sniff::{self, Format};
use necroscope_core::{folded, perf_script};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::profiles::{describe, parquet_error, read_error};

fn seal_into(profile: &Profile, rule: &IdleRule, folder: &Path) -> PyResult<()> {
    seal(profile, &profile.idle(rule), folder).map_err(parquet_error)
}

/// Read the text of `perf script` and write it as a sealed profile into a folder.
#[pyfunction]
#[pyo3(signature = (path, folder, *, idle, interrupt))]
pub fn import_perf_script<'py>(
    py: Python<'py>,
    path: PathBuf,
    folder: PathBuf,
    idle: Vec<String>,
    interrupt: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let (profile, text) = py.detach(|| perf_script::import(&path)).map_err(read_error)?;
    py.detach(|| seal_into(&profile, &IdleRule { idle, interrupt }, &folder))?;
    let facts = describe(py, &profile)?;
    let (header, origin) = (&text.header, &text.header.origin);
    // The text does not say how many samples were lost: not known is not none.
    facts.set_item("lost_samples", py.None())?;
    facts.set_item("lost_records", text.lost_records)?;
    facts.set_item("throttles", py.None())?;
    facts.set_item("gaps", &text.gaps)?;
    facts.set_item("clock", header.clock.map(|clock| (clock.clock_id, clock.wall_ns, clock.clock_ns)))?;
    let lines: Vec<_> = text.lines.iter().map(|line| (line.time, line.cpu, &line.text)).collect();
    facts.set_item("lines", lines)?;
    facts.set_item("hostname", &origin.hostname)?;
    facts.set_item("release", &origin.release)?;
    facts.set_item("perf_version", &origin.version)?;
    facts.set_item("cores_online", origin.cores_online)?;
    facts.set_item("command", &origin.command)?;
    let captured_on = (!header.captured_on.is_empty()).then_some(&header.captured_on);
    facts.set_item("captured_on", captured_on)?;
    Ok(facts)
}

/// Read folded stacks and write them as a sealed profile into a folder.
#[pyfunction]
#[pyo3(signature = (path, folder, *, idle, interrupt))]
pub fn import_folded<'py>(
    py: Python<'py>,
    path: PathBuf,
    folder: PathBuf,
    idle: Vec<String>,
    interrupt: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let (profile, gaps) = py.detach(|| folded::import(&path)).map_err(read_error)?;
    py.detach(|| seal_into(&profile, &IdleRule { idle, interrupt }, &folder))?;
    let facts = describe(py, &profile)?;
    facts.set_item("gaps", gaps)?;
    Ok(facts)
}

/// `perf.data`, `perf-script`, `folded` or None.
#[pyfunction]
pub fn sniff_profile(py: Python<'_>, path: PathBuf) -> PyResult<Option<&'static str>> {
    Ok(py.detach(|| sniff::sniff(&path))?.map(Format::word))
}
