//! Columns of whole numbers of a table, in room that is used again: for tables that are read by the hundred.

use std::fs::File;
use std::path::Path;

use parquet::basic::Type as Physical;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::Int64Type;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescPtr;

use crate::plain_file;
use crate::sealed::{MOST_AT_ONCE, guarded, table};
use crate::table::TableError;

/// In place of a whole number that is missing.
pub const MISSING: i64 = i64::MIN;

/// Columns of one length.
#[derive(Debug, Default)]
pub struct Integers {
    columns: Vec<Vec<i64>>,
    definition: Vec<i16>,
}

impl Integers {
    /// These columns. None: one is shorter than another.
    pub fn of(columns: Vec<Vec<i64>>) -> Option<Self> {
        let is_table = columns.windows(2).all(|pair| pair[0].len() == pair[1].len());
        is_table.then_some(Self { columns, definition: Vec::new() })
    }

    /// The values of each column.
    pub fn values(&self) -> &[Vec<i64>] {
        &self.columns
    }

    /// Read columns of a table, in the order of `names`, in the place of others.
    pub fn read(&mut self, path: &Path, names: &[&str]) -> Result<(), TableError> {
        self.columns.resize(names.len(), Vec::new());
        self.columns.iter_mut().for_each(Vec::clear);
        let file = plain_file::open(path).map_err(TableError::Io)?;
        Ok(guarded(|| self.read_columns(&table(file)?, names))?)
    }

    fn read_columns(
        &mut self,
        reader: &SerializedFileReader<File>,
        names: &[&str],
    ) -> Result<(), ParquetError> {
        let columns = reader.metadata().file_metadata().schema_descr().columns();
        for (name, values) in names.iter().zip(&mut self.columns) {
            let is_it = |column: &&ColumnDescPtr| {
                let is_flat = column.max_def_level() == 1 && column.max_rep_level() == 0;
                column.name() == *name && column.physical_type() == Physical::INT64 && is_flat
            };
            let number = columns.iter().position(|column| is_it(&column));
            let missing = || ParquetError::General(format!("the column {name} is missing"));
            take_integers(reader, number.ok_or_else(missing)?, &mut self.definition, values)?;
        }
        Ok(())
    }
}

fn take_integers(
    reader: &SerializedFileReader<File>,
    number: usize,
    definition: &mut Vec<i16>,
    values: &mut Vec<i64>,
) -> Result<(), ParquetError> {
    for index in 0..reader.num_row_groups() {
        let group = reader.get_row_group(index)?;
        let mut left = usize::try_from(group.metadata().num_rows())?;
        let mut column = get_typed_column_reader::<Int64Type>(group.get_column_reader(number)?);
        while left > 0 {
            definition.clear();
            let before = values.len();
            let most = left.min(MOST_AT_ONCE); // what a damaged file says is not believed
            let (records, _, _) = column.read_records(most, Some(definition), None, values)?;
            if records == 0 {
                return Err(ParquetError::General(format!("{left} rows are missing")));
            }
            left -= records;
            if values.len() - before < definition.len() {
                let mut present = values.split_off(before).into_iter();
                let value = |&level: &i16| if level == 1 { present.next() } else { None };
                values.extend(definition.iter().map(value).map(|value| value.unwrap_or(MISSING)));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{self, Values};

    #[test]
    fn columns_come_in_the_order_asked_for_and_in_the_place_of_others() {
        let path = std::env::temp_dir().join(format!("necroscope-integers-{}.parquet", std::process::id()));
        let ints = |name: &str, values: &[Option<i64>]| (name.to_string(), Values::Int(values.to_vec()));
        let floats = ("c".to_string(), Values::Float(vec![None; 3]));
        let columns = [ints("a", &[Some(1), None, Some(3)]), ints("b", &[Some(4), Some(5), Some(6)]), floats];
        table::write(&path, &columns).unwrap();
        let mut integers = Integers::default();
        for _ in 0..2 {
            integers.read(&path, &["b", "a"]).unwrap();
            assert_eq!(integers.values(), [[4, 5, 6], [1, MISSING, 3]]);
        }
        for other in ["c", "d"] {
            let error = integers.read(&path, &["a", other]).unwrap_err();
            assert!(error.to_string().contains(&format!("the column {other} is missing")), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(integers.read(&path, &["a"]), Err(TableError::Io(_))));
    }

    #[test]
    fn columns_have_one_length() {
        assert!(Integers::of(vec![vec![1], vec![]]).is_none());
        assert!(Integers::of(vec![vec![1], vec![2]]).is_some());
    }
}
