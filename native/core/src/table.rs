//! Tables of named columns as Parquet files, for recorded counters. Every value may be missing.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use crate::plain_file;
use crate::seal::{Group, ZSTD_LEVEL, leveled};
use crate::sealed::{MAX_TEXT_BYTES, MOST_AT_ONCE, guarded, table};

/// The values of one column, all of one kind; None is missing.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Int(Vec<Option<i64>>),
    /// Other numbers.
    Float(Vec<Option<f64>>),
    /// UTF-8.
    Text(Vec<Option<String>>),
    /// Yes or no.
    Bool(Vec<Option<bool>>),
}

impl Values {
    /// How many there are, the missing ones among them.
    pub fn len(&self) -> usize {
        match self {
            Self::Int(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::Bool(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// No values of a kind: `int`, `float`, `text` or `bool`.
    pub fn of_kind(kind: &str) -> Option<Self> {
        match kind {
            "int" => Some(Self::Int(Vec::new())),
            "float" => Some(Self::Float(Vec::new())),
            "text" => Some(Self::Text(Vec::new())),
            "bool" => Some(Self::Bool(Vec::new())),
            _ => None,
        }
    }

    /// Keep the first of them.
    pub(crate) fn truncate(&mut self, count: usize) {
        match self {
            Self::Int(values) => values.truncate(count),
            Self::Float(values) => values.truncate(count),
            Self::Text(values) => values.truncate(count),
            Self::Bool(values) => values.truncate(count),
        }
    }

    /// Put them into another order: the numbers of the rows.
    pub(crate) fn reorder(&mut self, order: &[u32]) {
        fn reordered<T>(values: &mut [Option<T>], order: &[u32]) -> Vec<Option<T>> {
            order.iter().map(|&row| values[row as usize].take()).collect()
        }
        match self {
            Self::Int(values) => *values = reordered(values, order),
            Self::Float(values) => *values = reordered(values, order),
            Self::Text(values) => *values = reordered(values, order),
            Self::Bool(values) => *values = reordered(values, order),
        }
    }

    fn physical(&self) -> Physical {
        match self {
            Self::Int(_) => Physical::INT64,
            Self::Float(_) => Physical::DOUBLE,
            Self::Text(_) => Physical::BYTE_ARRAY,
            Self::Bool(_) => Physical::BOOLEAN,
        }
    }
}

/// A column: its name and its values.
pub type Column = (String, Values);

/// Why a table was not written or read.
#[derive(Debug)]
pub enum TableError {
    /// The operating system would not.
    Io(io::Error),
    /// The columns make no table: no fault of the file.
    Shape(String),
    /// The file is damaged, or not one of our tables.
    Format(String),
}

impl fmt::Display for TableError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(formatter, "{error}"),
            Self::Shape(what) | Self::Format(what) => write!(formatter, "{what}"),
        }
    }
}

impl std::error::Error for TableError {}

impl From<ParquetError> for TableError {
    fn from(error: ParquetError) -> Self {
        match error {
            // The parquet crate boxes io errors, whose number the caller wants (a full disk).
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(error) => Self::Io(*error),
                Err(other) => Self::Format(other.to_string()),
            },
            other => Self::Format(other.to_string()),
        }
    }
}

/// Write columns of the same length into a file of one row group.
pub fn write(path: &Path, columns: &[Column]) -> Result<(), TableError> {
    check_shape(columns)?;
    let file = plain_file::create(path).map_err(TableError::Io)?;
    Ok(write_columns(file, columns)?)
}

/// Read a table, or those of its columns that are in `names`, in the order of the file.
pub fn read(path: &Path, names: Option<&[String]>) -> Result<Vec<Column>, TableError> {
    let file = plain_file::open(path).map_err(TableError::Io)?;
    Ok(guarded(|| read_columns(&table(file)?, names))?)
}

fn check_shape(columns: &[Column]) -> Result<(), TableError> {
    let Some(((first, values), rest)) = columns.split_first() else {
        return Err(TableError::Shape("a table without columns".into()));
    };
    for (index, (name, others)) in rest.iter().enumerate() {
        if others.len() != values.len() {
            let (rows, wanted) = (others.len(), values.len());
            return Err(TableError::Shape(format!("column {name} has {rows} rows, {first} has {wanted}")));
        }
        if columns[..=index].iter().any(|(earlier, _)| earlier == name) {
            return Err(TableError::Shape(format!("two columns are named {name}")));
        }
    }
    Ok(())
}

fn write_columns(file: File, columns: &[Column]) -> Result<(), ParquetError> {
    let mut properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?));
    let mut fields = Vec::with_capacity(columns.len());
    for (name, values) in columns {
        let physical = values.physical();
        if physical == Physical::INT64 {
            // Counters and times grow slowly: differences take far less room than a dictionary.
            let path = ColumnPath::new(vec![name.clone()]);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        let text = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(text);
        fields.push(Arc::new(field.build()?));
    }
    let schema = Type::group_type_builder("table").with_fields(fields).build()?;
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))?;
    let mut group = writer.next_row_group()?;
    for (_, values) in columns {
        match values {
            Values::Int(values) => put::<Int64Type, _>(&mut group, values, |&value| value)?,
            Values::Float(values) => put::<DoubleType, _>(&mut group, values, |&value| value)?,
            Values::Text(values) => {
                put::<ByteArrayType, _>(&mut group, values, |text| ByteArray::from(text.as_str()))?;
            }
            Values::Bool(values) => put::<BoolType, _>(&mut group, values, |&value| value)?,
        }
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

fn put<T: DataType, V>(
    group: &mut Group<'_>,
    values: &[Option<V>],
    convert: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let present: Vec<T::T> = values.iter().flatten().map(convert).collect();
    let definition: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    leveled::<T>(group, &present, Some(&definition), None)
}

fn read_columns(
    reader: &SerializedFileReader<File>,
    names: Option<&[String]>,
) -> Result<Vec<Column>, ParquetError> {
    let schema = reader.metadata().file_metadata().schema_descr();
    let mut columns = Vec::new();
    for (number, column) in schema.columns().iter().enumerate() {
        let name = column.path().string();
        if names.is_some_and(|names| !names.contains(&name)) {
            continue;
        }
        let physical = column.physical_type();
        let flat = column.max_def_level() == 1 && column.max_rep_level() == 0;
        let values = match physical {
            Physical::INT64 if flat => Values::Int(take::<Int64Type, _>(reader, number, |value| value)?),
            Physical::DOUBLE if flat => Values::Float(take::<DoubleType, _>(reader, number, |value| value)?),
            Physical::BYTE_ARRAY if flat => {
                let left = Cell::new(MAX_TEXT_BYTES);
                let text = |value: ByteArray| {
                    left.set(left.get().saturating_sub(value.len()));
                    let is_within = left.get() > 0;
                    if is_within { String::from_utf8_lossy(value.data()).into_owned() } else { String::new() }
                };
                let texts = take::<ByteArrayType, _>(reader, number, text)?;
                if left.get() == 0 {
                    return Err(ParquetError::General(format!("column {name} has more text than we write")));
                }
                Values::Text(texts)
            }
            Physical::BOOLEAN if flat => Values::Bool(take::<BoolType, _>(reader, number, |value| value)?),
            _ => return Err(ParquetError::General(format!("column {name} is not of a kind that we write"))),
        };
        columns.push((name, values));
    }
    Ok(columns)
}

fn take<T: DataType, V>(
    reader: &SerializedFileReader<File>,
    number: usize,
    convert: impl Fn(T::T) -> V,
) -> Result<Vec<Option<V>>, ParquetError> {
    let mut all = Vec::new();
    for index in 0..reader.num_row_groups() {
        let group = reader.get_row_group(index)?;
        let mut left = usize::try_from(group.metadata().num_rows())?;
        let mut column = get_typed_column_reader::<T>(group.get_column_reader(number)?);
        let (mut definition, mut values) = (Vec::new(), Vec::new());
        while left > 0 {
            definition.clear();
            let most = left.min(MOST_AT_ONCE); // what a damaged file says is not believed
            let (records, _, _) = column.read_records(most, Some(&mut definition), None, &mut values)?;
            if records == 0 {
                return Err(ParquetError::General(format!("{left} rows are missing")));
            }
            left -= records;
            let mut present = values.drain(..);
            let value = |&level: &i16| if level == 1 { present.next().map(&convert) } else { None };
            all.extend(definition.iter().map(value));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
