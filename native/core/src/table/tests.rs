use super::*;
use parquet::file::metadata::{ParquetMetaDataBuilder, ParquetMetaDataWriter};
use std::fs;
use std::path::PathBuf;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("necroscope-table-{}-{name}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn columns() -> Vec<Column> {
    vec![
        ("time".into(), Values::Int(vec![Some(i64::MIN), None, Some(i64::MAX)])),
        ("a.b c".into(), Values::Float(vec![Some(0.5), Some(-0.0), None])),
        ("comm".into(), Values::Text(vec![None, Some("größe".into()), Some(String::new())])),
        ("online".into(), Values::Bool(vec![Some(true), None, Some(false)])),
        ("absent".into(), Values::Int(vec![None; 3])),
    ]
}

/// The number of the operating system's error.
fn number(result: Result<(), TableError>) -> Option<i32> {
    match result {
        Err(TableError::Io(error)) => error.raw_os_error(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_written_is_read() {
    let scratch = Scratch::new("whole");
    write(&scratch.0, &columns()).unwrap();
    assert_eq!(read(&scratch.0, None).unwrap(), columns());
    let names = ["comm", "a.b c", "no such"].map(String::from);
    assert_eq!(read(&scratch.0, Some(&names)).unwrap(), columns()[1..3]);
    let empty = [("time".to_string(), Values::Int(Vec::new()))];
    assert_eq!(number(write(&scratch.0, &empty)), Some(17), "EEXIST: nothing is written over");
    fs::remove_file(&scratch.0).unwrap();
    write(&scratch.0, &empty).unwrap();
    assert_eq!(read(&scratch.0, None).unwrap(), empty);
}

#[test]
fn columns_that_make_no_table() {
    let says = |columns: &[Column], words: &str| match write(Path::new("/proc/none"), columns) {
        Err(TableError::Shape(what)) => assert!(what.contains(words), "{what}"),
        other => panic!("{other:?}"),
    };
    says(&[], "without columns");
    let column = |name: &str, rows: usize| (name.to_string(), Values::Bool(vec![None; rows]));
    says(&[column("a", 1), column("b", 2)], "column b has 2 rows, a has 1");
    says(&[column("a", 1), column("b", 1), column("b", 1)], "two columns are named b");
}

#[test]
fn io_errors_keep_their_number() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    assert_eq!(number(write_columns(full, &columns()).map_err(TableError::from)), Some(28)); // ENOSPC
    assert_eq!(number(write(Path::new("/nowhere/table"), &columns())), Some(2)); // ENOENT
    assert_eq!(number(read(Path::new("/nowhere/table"), None).map(drop)), Some(2));
    assert_eq!(number(read(Path::new("/tmp"), None).map(drop)), Some(21)); // EISDIR
}

#[test]
fn damage_is_an_error_and_not_a_panic() {
    let scratch = Scratch::new("damaged");
    write(&scratch.0, &columns()).unwrap();
    let bytes = fs::read(&scratch.0).unwrap();
    for cut in 0..bytes.len() {
        fs::write(&scratch.0, &bytes[..cut]).unwrap();
        assert!(matches!(read(&scratch.0, None), Err(TableError::Format(_))), "cut at {cut}");
    }
    for place in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[place] ^= 0xff;
        fs::write(&scratch.0, &bytes).unwrap();
        let _ = read(&scratch.0, None);
    }
}

/// A file in which so many row groups are named, each of which has the same place.
fn with_row_groups(path: &Path, columns: &[Column], times: usize) {
    write(path, columns).unwrap();
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata();
    let groups = (0..times).map(|_| metadata.row_group(0).clone()).collect();
    let repeated =
        ParquetMetaDataBuilder::new(metadata.file_metadata().clone()).set_row_groups(groups).build();
    let mut bytes = fs::read(path).unwrap();
    let length = bytes.len();
    let footer = u32::from_le_bytes(bytes[length - 8..length - 4].try_into().unwrap()) as usize;
    bytes.truncate(length - 8 - footer);
    ParquetMetaDataWriter::new(&mut bytes, &repeated).finish().unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_small_file_that_stands_for_more_than_memory_can_hold() {
    let scratch = Scratch::new("bomb");
    let equal = |rows: usize| [("time".to_string(), Values::Int(vec![None; rows]))];
    write(&scratch.0, &equal(17 << 20)).unwrap();
    assert!(fs::metadata(&scratch.0).unwrap().len() < 1 << 20);
    let error = read(&scratch.0, None).unwrap_err().to_string();
    assert_eq!(error, "Parquet error: a row group of 17825792 values");
    fs::remove_file(&scratch.0).unwrap();
    with_row_groups(&scratch.0, &equal(1000), 1);
    assert_eq!(read(&scratch.0, None).unwrap(), equal(1000));
    fs::remove_file(&scratch.0).unwrap();
    with_row_groups(&scratch.0, &equal(1000), 2);
    let error = read(&scratch.0, None).unwrap_err().to_string();
    assert_eq!(error, "Parquet error: cut off or damaged");
    fs::remove_file(&scratch.0).unwrap();
    let text = [("comm".to_string(), Values::Text(vec![Some("x".repeat(1 << 20)); 200]))];
    write(&scratch.0, &text).unwrap();
    let error = read(&scratch.0, None).unwrap_err().to_string();
    assert_eq!(error, "Parquet error: column comm has more text than we write");
}
