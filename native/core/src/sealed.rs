//! A sealed profile opened again, and the samples of a window in it.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::statistics::Statistics;

use crate::profile::{Frame, FrameKind, Samples, Task};

/// A file is missing, damaged, or not of this format.
pub type Error = ParquetError;
type Result<T> = std::result::Result<T, ParquetError>;
/// Frames of a stack, outermost first.
pub type Stack = Box<[u32]>;

/// A folder that `seal` wrote. Tables are small and read when it is opened; samples when asked for.
pub struct Sealed {
    folder: PathBuf,
    /// Names of events.
    pub events: Vec<String>,
    /// Threads.
    pub tasks: Vec<Task>,
    /// Functions.
    pub frames: Vec<Frame>,
    /// Stacks of frames, outermost first.
    pub stacks: Vec<Stack>,
    /// Of every stack, whether its core had nothing to do.
    pub idle: Vec<bool>,
}

impl Sealed {
    /// Open a folder.
    pub fn open(folder: &Path) -> Result<Self> {
        let tables = Tables { folder };
        let frames = tables.frames()?;
        let (stacks, idle) = tables.stacks(frames.len())?;
        let [events] = &tables.strings("events.parquet", [1])?[..] else {
            return Err(damaged("events.parquet"));
        };
        Ok(Self {
            folder: folder.to_path_buf(),
            events: events.clone(),
            tasks: tables.tasks()?,
            frames,
            stacks,
            idle,
        })
    }

    /// The samples with `begin <= time < end`, in the order of time. Only the row groups they are in are read.
    pub fn samples(&self, begin: i64, end: i64) -> Result<Samples> {
        let path = self.folder.join("samples.parquet");
        let reader = SerializedFileReader::new(File::open(&path)?)?;
        let mut found = Samples::default();
        for index in 0..reader.num_row_groups() {
            let group = reader.get_row_group(index)?;
            if !overlaps(group.metadata().column(0).statistics(), begin, end) {
                continue;
            }
            let time: Vec<i64> = column::<Int64Type>(&*group, 0)?;
            let first = time.partition_point(|&time| time < begin);
            let last = time.partition_point(|&time| time < end);
            let take = |into: &mut Vec<i32>, number: usize, bound: usize| -> Result<()> {
                let values = column::<Int32Type>(&*group, number)?;
                let values = values.get(first..last).ok_or_else(|| damaged("samples.parquet"))?;
                if values.iter().any(|&value| bound > 0 && value as usize >= bound) {
                    return Err(damaged("samples.parquet"));
                }
                into.extend_from_slice(values);
                Ok(())
            };
            take(&mut found.cpu, 1, 0)?;
            take(&mut found.task, 2, self.tasks.len())?;
            take(&mut found.event, 3, self.events.len())?;
            take(&mut found.stack, 4, self.stacks.len())?;
            found.time.extend_from_slice(&time[first..last]);
        }
        Ok(found)
    }

    /// The times of the first and the last sample.
    pub fn span(&self) -> Result<Option<(i64, i64)>> {
        let reader = SerializedFileReader::new(File::open(self.folder.join("samples.parquet"))?)?;
        let metadata = reader.metadata();
        let bounds = metadata.row_groups().iter().filter_map(|group| bounds(group.column(0).statistics()));
        Ok(bounds.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1))))
    }
}

fn bounds(statistics: Option<&Statistics>) -> Option<(i64, i64)> {
    match statistics? {
        Statistics::Int64(values) => Some((*values.min_opt()?, *values.max_opt()?)),
        _ => None,
    }
}

fn overlaps(statistics: Option<&Statistics>, begin: i64, end: i64) -> bool {
    bounds(statistics).is_none_or(|(first, last)| first < end && last >= begin)
}

fn damaged(file: &str) -> ParquetError {
    ParquetError::General(format!("{file} does not hold what its neighbours refer to"))
}

/// All values of one column of one row group.
fn column<T: DataType>(group: &dyn RowGroupReader, number: usize) -> Result<Vec<T::T>> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(number)?);
    let mut values = Vec::with_capacity(rows);
    while values.len() < rows {
        let before = values.len();
        reader.read_records(rows - before, None, None, &mut values)?;
        if values.len() == before {
            return Err(damaged("a column"));
        }
    }
    Ok(values)
}

/// The small tables, each a file of one row group.
struct Tables<'a> {
    folder: &'a Path,
}

impl Tables<'_> {
    fn open(&self, name: &str) -> Result<SerializedFileReader<File>> {
        SerializedFileReader::new(File::open(self.folder.join(name))?)
    }

    fn strings<const N: usize>(&self, name: &str, columns: [usize; N]) -> Result<Vec<Vec<String>>> {
        let reader = self.open(name)?;
        let group = reader.get_row_group(0)?;
        let text = |value: &ByteArray| String::from_utf8_lossy(value.data()).into_owned();
        columns
            .iter()
            .map(|&number| Ok(column::<ByteArrayType>(&*group, number)?.iter().map(text).collect()))
            .collect()
    }

    fn frames(&self) -> Result<Vec<Frame>> {
        let texts = self.strings("frames.parquet", [1, 2, 4])?;
        let reader = self.open("frames.parquet")?;
        let offsets: Vec<i64> = column::<Int64Type>(&*reader.get_row_group(0)?, 3)?;
        let frames = (0..offsets.len()).map(|row| Frame {
            name: texts[0][row].clone(),
            module: texts[1][row].clone(),
            offset: offsets[row] as u64,
            kind: FrameKind::of_word(&texts[2][row]),
        });
        Ok(frames.collect())
    }

    fn tasks(&self) -> Result<Vec<Task>> {
        let names = self.strings("tasks.parquet", [3, 4])?;
        let reader = self.open("tasks.parquet")?;
        let group = reader.get_row_group(0)?;
        let (pids, tids) = (column::<Int32Type>(&*group, 1)?, column::<Int32Type>(&*group, 2)?);
        let tasks = (0..pids.len()).map(|row| Task {
            pid: pids[row] as u32,
            tid: tids[row] as u32,
            comm: names[0][row].clone(),
            process: names[1][row].clone(),
        });
        Ok(tasks.collect())
    }

    fn stacks(&self, frames: usize) -> Result<(Vec<Stack>, Vec<bool>)> {
        let reader = self.open("stacks.parquet")?;
        let group = reader.get_row_group(0)?;
        let idle = column::<BoolType>(&*group, 1)?;
        let mut lists = get_typed_column_reader::<Int32Type>(group.get_column_reader(2)?);
        let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
        while lists
            .read_records(usize::MAX >> 1, Some(&mut definition), Some(&mut repetition), &mut values)?
            .0
            > 0
        {}
        if values.iter().any(|&frame| frame as usize >= frames) {
            return Err(damaged("stacks.parquet"));
        }
        let mut values = values.into_iter();
        let mut stacks: Vec<Vec<u32>> = Vec::with_capacity(idle.len());
        for (&defined, &repeated) in definition.iter().zip(&repetition) {
            if repeated == 0 {
                stacks.push(Vec::new());
            }
            if defined == 1 {
                let frame = values.next().ok_or_else(|| damaged("stacks.parquet"))?;
                stacks.last_mut().ok_or_else(|| damaged("stacks.parquet"))?.push(frame as u32);
            }
        }
        if stacks.len() != idle.len() {
            return Err(damaged("stacks.parquet"));
        }
        Ok((stacks.into_iter().map(Vec::into_boxed_slice).collect(), idle))
    }
}
