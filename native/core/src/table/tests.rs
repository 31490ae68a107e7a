use super::*;
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
