//! A profile as Parquet files that any tool can read: docs/format.md has the columns.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use crate::plain_file;
use crate::profile::{Frame, Profile, Samples, Task};

/// Samples of one row group span at most this long, so that a window reads little more than itself.
pub const ROW_GROUP_NS: i64 = 5_000_000_000;
/// And are no more than this: 20 kHz on 96 CPUs.
pub(crate) const MAX_GROUP_SAMPLES: usize = 10 << 20;

pub(crate) const ZSTD_LEVEL: i32 = 3; // 9 takes twice the time for 0.2 % less

pub(crate) const SAMPLES: &str =
    "message samples { required int64 time; required int32 cpu; required int32 task;
  required int32 event; required int32 stack; }";
pub(crate) const STACKS: &str = "message stacks { required int32 stack; required boolean idle;
  required group frames (LIST) { repeated group list { required int32 element; } } }";
pub(crate) const FRAMES: &str = "message frames { required int32 frame; required binary name (STRING);
  required binary module (STRING); required int64 offset; required binary kind (STRING); }";
pub(crate) const TASKS: &str = "message tasks { required int32 task; required int32 pid; required int32 tid;
  required binary comm (STRING); required binary process (STRING); }";
pub(crate) const EVENTS: &str = "message events { required int32 event; required binary name (STRING); }";

type Result<T> = std::result::Result<T, ParquetError>;
pub(crate) type Group<'a> = SerializedRowGroupWriter<'a, File>;

/// Write a profile into a folder: samples, stacks, frames, tasks and events.
///
/// `idle` says of every stack whether its core had nothing to do.
pub fn seal(profile: &Profile, idle: &[bool], folder: &Path) -> Result<()> {
    write_samples(&profile.samples, &folder.join("samples.parquet"))?;
    write_stacks(profile, idle, &folder.join("stacks.parquet"))?;
    write_frames(&profile.frames, &folder.join("frames.parquet"))?;
    write_tasks(&profile.tasks, &folder.join("tasks.parquet"))?;
    table(&folder.join("events.parquet"), EVENTS, |group| {
        numbers(group, profile.events.len())?;
        strings(group, profile.events.iter().map(String::as_str))
    })
}

fn write_samples(samples: &Samples, path: &Path) -> Result<()> {
    let mut writer = open(path, SAMPLES)?;
    let mut begin = 0;
    while begin < samples.time.len() {
        let limit = samples.time[begin].saturating_add(ROW_GROUP_NS);
        let rows = samples.time[begin..].partition_point(|&time| time < limit);
        let end = begin + rows.clamp(1, MAX_GROUP_SAMPLES);
        let mut group = writer.next_row_group()?;
        column::<Int64Type>(&mut group, &samples.time[begin..end])?;
        for values in [&samples.cpu, &samples.task, &samples.event, &samples.stack] {
            column::<Int32Type>(&mut group, &values[begin..end])?;
        }
        group.close()?;
        begin = end;
    }
    writer.close()?;
    Ok(())
}

fn write_stacks(profile: &Profile, idle: &[bool], path: &Path) -> Result<()> {
    let rows = profile.stacks.rows();
    table(path, STACKS, |group| {
        numbers(group, rows.len())?;
        column::<BoolType>(group, idle)?;
        let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            values.extend(row.iter().map(|&frame| frame as i32));
            // An empty list is one entry that is not defined.
            definition.extend(std::iter::repeat_n(i16::from(!row.is_empty()), row.len().max(1)));
            repetition.extend((0..row.len().max(1)).map(|index| i16::from(index > 0)));
        }
        leveled::<Int32Type>(group, &values, Some(&definition), Some(&repetition))
    })
}

fn write_frames(frames: &[Frame], path: &Path) -> Result<()> {
    table(path, FRAMES, |group| {
        numbers(group, frames.len())?;
        strings(group, frames.iter().map(|frame| frame.name.as_str()))?;
        strings(group, frames.iter().map(|frame| frame.module.as_str()))?;
        let offsets: Vec<i64> = frames.iter().map(|frame| frame.offset as i64).collect();
        column::<Int64Type>(group, &offsets)?;
        strings(group, frames.iter().map(|frame| frame.kind.word()))
    })
}

fn write_tasks(tasks: &[Task], path: &Path) -> Result<()> {
    table(path, TASKS, |group| {
        numbers(group, tasks.len())?;
        column::<Int32Type>(group, &tasks.iter().map(|task| task.pid as i32).collect::<Vec<_>>())?;
        column::<Int32Type>(group, &tasks.iter().map(|task| task.tid as i32).collect::<Vec<_>>())?;
        strings(group, tasks.iter().map(|task| task.comm.as_str()))?;
        strings(group, tasks.iter().map(|task| task.process.as_str()))
    })
}

/// A file of one row group.
fn table(path: &Path, schema: &str, fill: impl FnOnce(&mut Group<'_>) -> Result<()>) -> Result<()> {
    let mut writer = open(path, schema)?;
    let mut group = writer.next_row_group()?;
    fill(&mut group)?;
    group.close()?;
    writer.close()?;
    Ok(())
}

fn open(path: &Path, schema: &str) -> Result<SerializedFileWriter<File>> {
    // Times only grow: differences take far less room than a dictionary.
    let time = ColumnPath::from("time");
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_column_dictionary_enabled(time.clone(), false)
        .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED)
        .build();
    SerializedFileWriter::new(
        plain_file::create(path)?,
        Arc::new(parse_message_type(schema)?),
        Arc::new(properties),
    )
}

fn numbers(group: &mut Group<'_>, count: usize) -> Result<()> {
    column::<Int32Type>(group, &(0..count as i32).collect::<Vec<_>>())
}

fn strings<'s>(group: &mut Group<'_>, texts: impl Iterator<Item = &'s str>) -> Result<()> {
    column::<ByteArrayType>(group, &texts.map(ByteArray::from).collect::<Vec<_>>())
}

fn column<T: DataType>(group: &mut Group<'_>, values: &[T::T]) -> Result<()> {
    leveled::<T>(group, values, None, None)
}

pub(crate) fn leveled<T: DataType>(
    group: &mut Group<'_>,
    values: &[T::T],
    definition: Option<&[i16]>,
    repetition: Option<&[i16]>,
) -> Result<()> {
    let mut writer = group.next_column()?.ok_or_else(|| ParquetError::General("no column left".into()))?;
    writer.typed::<T>().write_batch(values, definition, repetition)?;
    writer.close()
}
