//! The readings in the journal of an open segment, made into the tables of a sealed one.
//!
//! A moment is `["moment",[time,{source:tables},{source:cost}]]`, a table is an array of rows, a row is an array of
//! cells. A source that gave nothing has `{"absence":...,"detail":...}` in place of its tables.

use std::collections::BTreeMap;
use std::mem::take;
use std::path::Path;

use crate::json::Json;
use crate::table::{self, Column, TableError, Values};

const MAX_NAME_BYTES: usize = 100;

/// What a moment has of a source.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// Rows, which are in the tables now.
    Rows,
    /// A reason why there are none.
    Absence {
        /// The kind of it.
        kind: String,
        /// The details.
        detail: String,
    },
    /// Rows that are not as the layout has them, and how they differ.
    Misfit(String),
}

/// A moment without its rows.
#[derive(Debug, PartialEq, Eq)]
pub struct Moment {
    /// When it was, on the clock of the segment.
    pub time_ns: i64,
    /// The sources that we know, in the order of the journal.
    pub readings: Vec<(String, Found)>,
    /// What reading each source cost, in nanoseconds.
    pub costs: Vec<(String, i64)>,
}

/// The rows of all sources.
#[derive(Debug, Default)]
pub struct CounterTables {
    sources: BTreeMap<String, Source>,
}

#[derive(Debug)]
struct Source {
    is_many: bool,
    is_there: bool,
    tables: Vec<Rows>,
}

/// The rows of a table, in the order of the journal.
#[derive(Debug)]
struct Rows {
    name: String,
    times: Vec<Option<i64>>,
    places: Vec<u32>, // in their reading
    columns: Vec<Column>,
}

impl CounterTables {
    /// Tables without rows, as a journal says that they look:
    /// `["layout",[[source,whether it has many values,[[table,[[column,kind]]]]]]]`. None: it does not.
    /// A source with a column of a kind that only a newer version knows is left out.
    pub fn parse(layout: &[u8]) -> Option<Self> {
        let mut json = Json::new(layout);
        let mut tables = Self::default();
        json.expect(b'[')?;
        json.text()?;
        json.expect(b',')?;
        json.items(|json| {
            json.expect(b'[')?;
            let id = json.text()?.into_owned();
            json.expect(b',')?;
            let mut source = Source { is_many: json.boolean()?, is_there: false, tables: Vec::new() };
            let mut is_known = true;
            json.expect(b',')?;
            json.items(|json| Rows::parse(json, &mut is_known).map(|rows| source.tables.push(rows)))?;
            if is_known {
                tables.sources.insert(id, source);
            }
            json.expect(b']')
        })?;
        Some(tables)
    }

    /// Take the rows of a moment. None: it is not one.
    pub fn add(&mut self, moment: &[u8]) -> Option<Moment> {
        let mut json = Json::new(moment);
        json.expect(b'[')?;
        json.text()?;
        json.expect(b',')?;
        json.expect(b'[')?;
        let (time_ns, mut readings, mut costs) = (json.integer()?, Vec::new(), Vec::new());
        json.expect(b',')?;
        json.members(|json, id| {
            let Some(source) = self.sources.get_mut(&*id) else { return json.skip() };
            readings.push((id.into_owned(), source.add(json, time_ns)?));
            Some(())
        })?;
        json.expect(b',')?;
        json.members(|json, id| json.integer().map(|cost| costs.push((id.into_owned(), cost))))?;
        Some(Moment { time_ns, readings, costs })
    }

    /// Write a file for every table of the sources that gave rows. Afterwards there are none.
    pub fn write(&mut self, folder: &Path) -> Result<(), TableError> {
        let tables = take(&mut self.sources).into_values().filter(|source| source.is_there);
        tables.flat_map(|source| source.tables).try_for_each(|rows| rows.write(folder))
    }
}

impl Source {
    fn add(&mut self, json: &mut Json<'_>, time_ns: i64) -> Option<Found> {
        if json.peek()? == b'{' {
            return absence(json);
        }
        let begin = *json;
        let before: Vec<usize> = self.tables.iter().map(|rows| rows.times.len()).collect();
        let mut misfit = None;
        if self.add_rows(json, time_ns, &mut misfit).is_some() {
            self.is_there = true;
            return Some(Found::Rows);
        }
        self.tables.iter_mut().zip(before).for_each(|(rows, count)| rows.truncate(count));
        *json = begin;
        json.skip()?;
        Some(Found::Misfit(misfit.unwrap_or_else(|| "rows of other tables or columns than recorded".into())))
    }

    fn add_rows(&mut self, json: &mut Json<'_>, time_ns: i64, misfit: &mut Option<String>) -> Option<()> {
        let mut counts = Vec::with_capacity(self.tables.len());
        let mut tables = self.tables.iter_mut();
        json.items(|json| tables.next()?.add(json, time_ns, misfit).map(|count| counts.push(count)))?;
        (tables.next().is_none() && (self.is_many || counts.first() == Some(&1))).then_some(())
    }
}

fn absence(json: &mut Json<'_>) -> Option<Found> {
    let (mut kind, mut detail) = (None, None);
    json.members(|json, name| match &*name {
        "absence" => json.text().map(|text| kind = Some(text.into_owned())),
        "detail" => json.text().map(|text| detail = Some(text.into_owned())),
        _ => json.skip(),
    })?;
    Some(Found::Absence { kind: kind?, detail: detail? })
}

impl Rows {
    fn parse(json: &mut Json<'_>, is_known: &mut bool) -> Option<Self> {
        json.expect(b'[')?;
        let name = json.text()?.into_owned();
        json.expect(b',')?;
        let mut columns = Vec::new();
        json.items(|json| {
            json.expect(b'[')?;
            let column = json.text()?.into_owned();
            json.expect(b',')?;
            match Values::of_kind(&json.text()?) {
                Some(values) => columns.push((column, values)),
                None => *is_known = false,
            }
            json.expect(b']')
        })?;
        json.expect(b']')?;
        is_file_name(&name).then_some(Self { name, times: Vec::new(), places: Vec::new(), columns })
    }

    /// Add the rows of one reading; how many there are. `misfit` names a column with a value of another kind.
    fn add(&mut self, json: &mut Json<'_>, time_ns: i64, misfit: &mut Option<String>) -> Option<u32> {
        let mut count = 0;
        json.items(|json| {
            let mut columns = self.columns.iter_mut();
            json.items(|json| {
                let (column, values) = columns.next()?;
                let added = add_cell(json, values);
                if added.is_none() {
                    *misfit =
                        Some(format!("table {}, column {column}: a value of the wrong type", self.name));
                }
                added
            })?;
            if columns.next().is_some() {
                return None;
            }
            self.times.push(Some(time_ns));
            self.places.push(count);
            count += 1;
            Some(())
        })?;
        Some(count)
    }

    fn truncate(&mut self, count: usize) {
        self.times.truncate(count);
        self.places.truncate(count);
        self.columns.iter_mut().for_each(|(_, values)| values.truncate(count));
    }

    /// By place in the reading, then by time: the counters of one CPU follow each other, and their differences take
    /// hardly any room.
    fn write(mut self, folder: &Path) -> Result<(), TableError> {
        let mut order: Vec<u32> = (0..self.places.len() as u32).collect();
        order.sort_by_key(|&row| self.places[row as usize]);
        let mut columns = vec![("time".to_string(), Values::Int(take(&mut self.times)))];
        columns.append(&mut self.columns);
        columns.iter_mut().for_each(|(_, values)| values.reorder(&order));
        table::write(&folder.join(format!("{}.parquet", self.name)), &columns)
    }
}

/// Whether a table may have this name: its file must not be elsewhere.
fn is_file_name(name: &str) -> bool {
    let is_usual = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    name.bytes().all(is_usual) && !name.starts_with('.') && (1..=MAX_NAME_BYTES).contains(&name.len())
}

fn add_cell(json: &mut Json<'_>, values: &mut Values) -> Option<()> {
    match values {
        Values::Int(values) => values.push(json.or_null(Json::integer)?),
        Values::Float(values) => values.push(json.or_null(Json::float)?),
        Values::Text(values) => values.push(json.or_null(|json| json.text().map(Into::into))?),
        Values::Bool(values) => values.push(json.or_null(Json::boolean)?),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    const LAYOUT: &[u8] = br#"["layout",[["cores",true,[["cores",[["core","int"],["busy","float"]]]]],
        ["nic",false,[["nic",[["count","int"]]],["nic.names",[["of","int"],["name","text"],["up","bool"]]]]]]]"#;

    fn tables() -> CounterTables {
        CounterTables::parse(LAYOUT).unwrap()
    }

    fn found(tables: &mut CounterTables, readings: &str) -> Vec<Found> {
        let moment = format!(r#"["moment",[5,{{{readings}}},{{}}]]"#);
        tables.add(moment.as_bytes()).unwrap().readings.into_iter().map(|(_, found)| found).collect()
    }

    #[test]
    fn rows_lie_by_their_place_and_then_by_time() {
        let mut tables = tables();
        for (time, busy) in [(1, "0.5"), (2, "null")] {
            let moment = format!(
                r#"["moment",[{time},{{"cores":[[[0,{busy}],[1,2]]],"other":[[7]],
                "nic":[[[3]],[[0,"a\u00e4",true],[0,null,null]]]}},{{"cores":9,"other":1}}]]"#
            );
            let moment = tables.add(moment.as_bytes()).unwrap();
            assert_eq!(moment.time_ns, time);
            assert_eq!(moment.readings, [("cores".into(), Found::Rows), ("nic".into(), Found::Rows)]);
            assert_eq!(moment.costs, [("cores".into(), 9), ("other".into(), 1)]);
        }
        let scratch = Scratch::new("counters");
        tables.write(&scratch.path("")).unwrap();
        let read = |name: &str| table::read(&scratch.path(name), None).unwrap();
        let ints = |name: &str, values: [i64; 4]| (name.to_string(), Values::Int(values.map(Some).to_vec()));
        let busy = ("busy".to_string(), Values::Float(vec![Some(0.5), None, Some(2.0), Some(2.0)]));
        assert_eq!(read("cores.parquet"), [ints("time", [1, 2, 1, 2]), ints("core", [0, 0, 1, 1]), busy]);
        let names = [Some("aä".to_string()), Some("aä".to_string()), None, None];
        assert_eq!(read("nic.names.parquet")[2], ("name".to_string(), Values::Text(names.to_vec())));
        assert_eq!(read("nic.parquet").len(), 2);
    }

    #[test]
    fn rows_of_other_columns_are_left_out_whole() {
        let mut tables = tables();
        let other = || [Found::Misfit("rows of other tables or columns than recorded".into())];
        for rows in [
            "[[[0]]]",           // too few cells
            "[[[0,1],[1,2,3]]]", // too many, not in the first row
            "[]",                // too few tables
            "[[[0,1]],[]]",      // too many
            "[[[0,1],7]]",       // not a row
            "3",                 // not a table
        ] {
            assert_eq!(found(&mut tables, &format!(r#""cores":{rows}"#)), other(), "{rows}");
        }
        assert_eq!(found(&mut tables, r#""nic":[[],[]]"#), other(), "one value is always there");
        for (rows, place) in [
            (r#""cores":[[[0,1],[1,"2"]]]"#, "cores, column busy"),
            (r#""nic":[[[1.5]],[]]"#, "nic, column count"),
            (r#""nic":[[[1]],[[true,"a",true]]]"#, "nic.names, column of"),
        ] {
            let misfit = Found::Misfit(format!("table {place}: a value of the wrong type"));
            assert_eq!(found(&mut tables, rows), [misfit]);
        }
        let kind = "NOT_PERMITTED".to_string();
        let absence = Found::Absence { kind, detail: "run as root".into() };
        let absent = r#""nic":{"absence":"NOT_PERMITTED","detail":"run as root"},"cores":[[[0,1]]]"#;
        assert_eq!(found(&mut tables, absent), [absence, Found::Rows]);
        assert_eq!(tables.sources["cores"].tables[0].columns[0].1, Values::Int(vec![Some(0)]));
        assert!(!tables.sources["nic"].is_there);
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        let whole = br#"["moment",[1,{"cores":[[[0,0.5]]],"nic":{"absence":"a","detail":"b"}},{"cores":9}]]"#;
        assert!(tables().add(whole).is_some());
        for length in 0..whole.len() - 2 {
            assert!(tables().add(&whole[..length]).is_none(), "{length}");
        }
        assert!(tables().add(br#"["moment",[1,{"nic":{"absence":"a"}},{}]]"#).is_none());
    }

    #[test]
    fn a_layout_is_whole_and_names_no_file_elsewhere() {
        for length in 0..LAYOUT.len() - 1 {
            assert!(CounterTables::parse(&LAYOUT[..length]).is_none(), "{length}");
        }
        let named = |name: &str| {
            let layout = format!(r#"["layout",[["cores",true,[["{name}",[["core","int"]]]]]]]"#);
            CounterTables::parse(layout.as_bytes()).is_some()
        };
        assert!(named("nic-counters.values_2"));
        for name in ["", ".", "..", "../cores", "/cores", ".cores", "cor es", "c\\u00f6res", &"a".repeat(101)]
        {
            assert!(!named(name), "{name}");
        }
    }

    #[test]
    fn a_source_with_a_column_of_a_newer_kind_is_left_out() {
        let layout =
            br#"["layout",[["a",true,[["a",[["b","int"],["c","map"]]]]],["d",true,[["d",[["e","int"]]]]]]]"#;
        let mut tables = CounterTables::parse(layout).unwrap();
        let readings = r#""a":[[[1,{"f":2}]]],"d":[[[3]]]"#;
        assert_eq!(found(&mut tables, readings), [Found::Rows]);
        assert_eq!(tables.sources["d"].tables[0].columns[0].1, Values::Int(vec![Some(3)]));
    }
}
