//! A sealed profile opened again, and the samples of a window in it.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;

use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::schema::parser::parse_message_type;

use crate::names::{Names, Stacks};
use crate::plain_file;
use crate::profile::{FrameKind, Samples, Task};
use crate::seal::{EVENTS, FRAMES, MAX_GROUP_SAMPLES, SAMPLES, STACKS, TASKS};

/// A file is missing, damaged, or not of this format.
pub type Error = ParquetError;
type Result<T> = std::result::Result<T, ParquetError>;

/// The most that a kernel can be built for.
const MOST_CORES: usize = 8192;
/// Room made before reading, in values; more is made as values come.
pub(crate) const MOST_AT_ONCE: usize = 1 << 20;
/// Of one row group of a table. A few bytes can stand for any number of equal values; ours have a tenth of this.
const MAX_VALUES: i64 = 16 << 20;
/// Of one row group of samples, which are columns of smaller numbers.
const MAX_SAMPLED_VALUES: i64 = MAX_GROUP_SAMPLES as i64 * 5;
/// Of all texts of a column, for the same reason.
pub(crate) const MAX_TEXT_BYTES: usize = 128 << 20;

/// A folder that `seal` wrote. Small tables are read when it is opened, the others when they are asked for.
pub struct Sealed {
    folder: PathBuf,
    /// Names of events.
    pub events: Vec<String>,
    /// Threads.
    pub tasks: Vec<Task>,
    /// Of every stack, whether its core had nothing to do.
    pub idle: Vec<bool>,
    names: OnceLock<Names>,
}

/// Which columns of the samples are wanted beside time and stack; the others stay empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct Columns {
    /// The time is not wanted: it is read only where a row group lies in the window in part.
    pub untimed: bool,
    /// The core.
    pub cpu: bool,
    /// The task.
    pub task: bool,
    /// The event.
    pub event: bool,
}

impl Sealed {
    /// Open a folder.
    pub fn open(folder: &Path) -> Result<Self> {
        guarded(|| {
            let tables = Tables { folder };
            let [events] = tables.strings("events.parquet", EVENTS, [1])?;
            let (tasks, idle) = (tables.tasks()?, tables.idle()?);
            Ok(Self { folder: folder.to_path_buf(), events, tasks, idle, names: OnceLock::new() })
        })
    }

    /// The functions and stacks, which are read once.
    pub fn names(&self) -> Result<&Names> {
        if let Some(names) = self.names.get() {
            return Ok(names);
        }
        let names = guarded(|| {
            let tables = Tables { folder: &self.folder };
            let mut names = tables.frames()?;
            names.stacks = tables.stacks(names.frames(), self.idle.len())?;
            Ok(names)
        })?;
        Ok(self.names.get_or_init(|| names))
    }

    /// Give the samples with `begin <= time < end` to `add`, row group by row group.
    ///
    /// As many threads as there are cores read, each into a sum of its own that `new` makes; the sums
    /// come back in the order of time. Columns that are not wanted stay empty.
    pub fn fold<Sum: Send>(
        &self,
        (begin, end): (i64, i64),
        columns: Columns,
        new: impl Fn() -> Sum + Sync,
        add: impl Fn(&mut Sum, &Samples) + Sync,
    ) -> Result<Vec<Sum>> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        self.fold_with(threads, (begin, end), columns, new, add)
    }

    /// The same with so many threads.
    pub fn fold_with<Sum: Send>(
        &self,
        threads: usize,
        (begin, end): (i64, i64),
        columns: Columns,
        new: impl Fn() -> Sum + Sync,
        add: impl Fn(&mut Sum, &Samples) + Sync,
    ) -> Result<Vec<Sum>> {
        let path = self.folder.join("samples.parquet");
        let groups = guarded(|| {
            let reader = open(&path, SAMPLES)?;
            let row_groups = reader.metadata().row_groups().iter().enumerate();
            let wanted = row_groups.filter(|(_, group)| overlaps(group.column(0).statistics(), begin, end));
            Ok(wanted.map(|(index, _)| index).collect::<Vec<usize>>())
        })?;
        let work = |part: &[usize]| {
            guarded(|| {
                // A file of its own for each thread: they would move one another's place in a shared one.
                let reader = open(&path, SAMPLES)?;
                let mut sum = new();
                let mut samples = Samples::default();
                for &index in part {
                    self.read_group(&*reader.get_row_group(index)?, (begin, end), columns, &mut samples)?;
                    add(&mut sum, &samples);
                }
                Ok(sum)
            })
        };
        if threads == 1 {
            return Ok(vec![work(&groups)?]);
        }
        let share = groups.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            let work = &work;
            let workers: Vec<_> = groups.chunks(share).map(|part| scope.spawn(move || work(part))).collect();
            let lost = || Err(damaged("samples.parquet"));
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| lost())).collect()
        })
    }

    /// Read one row group into columns whose room is used again.
    fn read_group(
        &self,
        group: &dyn RowGroupReader,
        (begin, end): (i64, i64),
        columns: Columns,
        samples: &mut Samples,
    ) -> Result<()> {
        let (first, last) = if columns.untimed && within(group.metadata().column(0).statistics(), begin, end)
        {
            samples.time.clear();
            (0, usize::try_from(group.metadata().num_rows()).unwrap_or(0))
        } else {
            column_into::<Int64Type>(group, 0, &mut samples.time)?;
            if !samples.time.is_sorted() {
                return Err(damaged("samples.parquet"));
            }
            let first = samples.time.partition_point(|&time| time < begin);
            (first, samples.time.partition_point(|&time| time < end).max(first))
        };
        cut(&mut samples.time, first, last);
        let take = |values: &mut Vec<i32>, wanted: bool, number: usize, bound: usize| -> Result<()> {
            values.clear();
            if !wanted {
                return Ok(());
            }
            column_into::<Int32Type>(group, number, values)?;
            cut(values, first, last);
            let unknown_core = |value: i32| number == 1 && value == -1;
            if values.len() != last - first
                || values.iter().any(|&value| value as usize >= bound && !unknown_core(value))
            {
                return Err(damaged("samples.parquet"));
            }
            Ok(())
        };
        take(&mut samples.cpu, columns.cpu, 1, MOST_CORES)?;
        take(&mut samples.task, columns.task, 2, self.tasks.len())?;
        take(&mut samples.event, columns.event, 3, self.events.len())?;
        take(&mut samples.stack, true, 4, self.idle.len())
    }

    /// The times of the first and the last sample.
    pub fn span(&self) -> Result<Option<(i64, i64)>> {
        guarded(|| {
            let reader = open(&self.folder.join("samples.parquet"), SAMPLES)?;
            let groups = reader.metadata().row_groups().iter();
            let bounds = groups.filter_map(|group| bounds(group.column(0).statistics()));
            Ok(bounds.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1))))
        })
    }
}

/// The parquet crate is safe on damaged files but not free of panics (an index, an assertion): here, where
/// files come in, they become errors.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ParquetError::General("a damaged Parquet file".into())))
}

/// A Parquet file of ours: the columns that we wrote.
fn open(path: &Path, schema: &str) -> Result<SerializedFileReader<File>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file = plain_file::open(path)
        .map_err(|error| std::io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    let reader = if schema == SAMPLES { whole(file, MAX_SAMPLED_VALUES) } else { table(file) }
        .map_err(|error| ParquetError::General(format!("{name}: {error}")))?;
    if *reader.metadata().file_metadata().schema() != parse_message_type(schema)? {
        return Err(ParquetError::General(format!("{name} has other columns than ours")));
    }
    Ok(reader)
}

/// A Parquet file whose columns lie one after the other and before its end, in row groups that memory can hold.
fn whole(file: File, max_values: i64) -> Result<SerializedFileReader<File>> {
    let length = file.metadata()?.len();
    let reader = SerializedFileReader::new(file)?;
    let groups = reader.metadata().row_groups();
    let mut ranges: Vec<_> =
        groups.iter().flat_map(|group| group.columns()).map(ColumnChunkMetaData::byte_range).collect();
    ranges.sort_unstable();
    let mut before = 0;
    for (begin, size) in ranges {
        let end = begin.checked_add(size).filter(|&end| begin >= before && end <= length);
        before = end.ok_or_else(|| ParquetError::General("cut off or damaged".into()))?;
    }
    for group in groups {
        let values = group.columns().iter().map(|column| column.num_values().max(group.num_rows()));
        let total = values.fold(0, |sum: i64, number| sum.saturating_add(number));
        if total > max_values {
            return Err(ParquetError::General(format!("a row group of {total} values")));
        }
    }
    Ok(reader)
}

/// A table: at most one row group.
pub(crate) fn table(file: File) -> Result<SerializedFileReader<File>> {
    let reader = whole(file, MAX_VALUES)?;
    if reader.num_row_groups() > 1 {
        return Err(ParquetError::General("several row groups where we write one".into()));
    }
    Ok(reader)
}

/// The one row group of a small table.
fn only_group(reader: &SerializedFileReader<File>) -> Result<Box<dyn RowGroupReader + '_>> {
    match reader.num_row_groups() {
        1 => reader.get_row_group(0),
        _ => Err(damaged("a table")),
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

fn within(statistics: Option<&Statistics>, begin: i64, end: i64) -> bool {
    bounds(statistics).is_some_and(|(first, last)| begin <= first && last < end)
}

fn damaged(file: &str) -> ParquetError {
    ParquetError::General(format!("{file} does not hold what its neighbours refer to"))
}

/// Keep `first..last` of some values, or what there is of it.
fn cut<T>(values: &mut Vec<T>, first: usize, last: usize) {
    values.truncate(last);
    values.drain(..first.min(values.len()));
}

/// All values of one column of one row group.
fn column<T: DataType>(group: &dyn RowGroupReader, number: usize) -> Result<Vec<T::T>> {
    let mut values = Vec::new();
    column_into::<T>(group, number, &mut values)?;
    Ok(values)
}

/// The same, in the place of other values.
fn column_into<T: DataType>(group: &dyn RowGroupReader, number: usize, values: &mut Vec<T::T>) -> Result<()> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(number)?);
    values.clear();
    values.reserve(rows.min(MOST_AT_ONCE)); // what a damaged file says is not believed
    while values.len() < rows {
        let before = values.len();
        reader.read_records(rows - before, None, None, values)?;
        if values.len() == before {
            return Err(damaged("a column"));
        }
    }
    Ok(())
}

/// All texts of one column of one row group.
fn words(group: &dyn RowGroupReader, number: usize) -> Result<Vec<ByteArray>> {
    let words = column::<ByteArrayType>(group, number)?;
    if words.iter().map(ByteArray::len).sum::<usize>() > MAX_TEXT_BYTES {
        return Err(ParquetError::General("more text than we write".into()));
    }
    Ok(words)
}

/// The small tables, each a file of one row group.
struct Tables<'a> {
    folder: &'a Path,
}

impl Tables<'_> {
    fn strings<const N: usize>(
        &self,
        name: &str,
        schema: &str,
        columns: [usize; N],
    ) -> Result<[Vec<String>; N]> {
        let reader = open(&self.folder.join(name), schema)?;
        let group = only_group(&reader)?;
        let text = |value: &ByteArray| String::from_utf8_lossy(value.data()).into_owned();
        let mut texts = [const { Vec::new() }; N];
        for (into, &number) in texts.iter_mut().zip(&columns) {
            *into = words(&*group, number)?.iter().map(text).collect();
        }
        Ok(texts)
    }

    fn frames(&self) -> Result<Names> {
        let reader = open(&self.folder.join("frames.parquet"), FRAMES)?;
        let group = only_group(&reader)?;
        let mut names = Names { offsets: column::<Int64Type>(&*group, 3)?, ..Names::default() };
        words(&*group, 1)?.iter().for_each(|name| names.names.push(name.data()));
        words(&*group, 2)?.iter().for_each(|module| names.modules.push(module.data()));
        let kind = |word: &ByteArray| FrameKind::of_word(&String::from_utf8_lossy(word.data()));
        names.kinds = column::<ByteArrayType>(&*group, 4)?.iter().map(kind).collect();
        Ok(names)
    }

    fn tasks(&self) -> Result<Vec<Task>> {
        let [comms, processes] = self.strings("tasks.parquet", TASKS, [3, 4])?;
        let reader = open(&self.folder.join("tasks.parquet"), TASKS)?;
        let group = only_group(&reader)?;
        let (pids, tids) = (column::<Int32Type>(&*group, 1)?, column::<Int32Type>(&*group, 2)?);
        let rows = pids.into_iter().zip(tids).zip(comms).zip(processes);
        let tasks = rows.map(|(((pid, tid), comm), process)| Task {
            pid: pid as u32,
            tid: tid as u32,
            comm,
            process,
        });
        Ok(tasks.collect())
    }

    fn idle(&self) -> Result<Vec<bool>> {
        let reader = open(&self.folder.join("stacks.parquet"), STACKS)?;
        column::<BoolType>(&*only_group(&reader)?, 1)
    }

    fn stacks(&self, frames: usize, count: usize) -> Result<Stacks> {
        let reader = open(&self.folder.join("stacks.parquet"), STACKS)?;
        let group = only_group(&reader)?;
        let mut lists = get_typed_column_reader::<Int32Type>(group.get_column_reader(2)?);
        let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
        while lists.read_records(MOST_AT_ONCE, Some(&mut definition), Some(&mut repetition), &mut values)?.0
            > 0
        {
            if definition.len() as i64 > MAX_VALUES {
                return Err(damaged("stacks.parquet"));
            }
        }
        let is_known = values.iter().all(|&frame| (frame as usize) < frames);
        let stacks = Stacks::of_lists(values, &definition, &repetition).filter(|_| is_known);
        stacks.filter(|stacks| stacks.len() == count).ok_or_else(|| damaged("stacks.parquet"))
    }
}
