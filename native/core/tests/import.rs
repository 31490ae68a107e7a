//! A part of a capture, or one without samples: imported, sealed, opened and asked.

use std::fs;
use std::path::{Path, PathBuf};

use necroscope_core::flame::tree;
use necroscope_core::heatmap;
use necroscope_core::import::import;
use necroscope_core::perf_data::{self, Capture, Clip};
use necroscope_core::profile::{IdleRule, Profile};
use necroscope_core::seal::seal;
use necroscope_core::sealed::Sealed;
use necroscope_core::symbols::Sources;
use necroscope_core::window::{Filter, Split, Window};

const CAPTURES: [&str; 3] = ["file.data", "compressed.data", "stream.data"];
const SPLITS: [Split; 5] = [Split::Whole, Split::Comm, Split::Process, Split::Thread, Split::Core];

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("necroscope-import-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn import(&self, path: &Path, clip: Clip) -> (Profile, Capture, Sealed) {
        let sources = Sources { kallsyms: None, root: Some(self.0.clone()) };
        let (profile, capture) = import(path, &sources, clip).unwrap();
        let number = fs::read_dir(&self.0).unwrap().count();
        let sealed = self.0.join(format!("sealed-{number}"));
        fs::create_dir(&sealed).unwrap();
        seal(&profile, &profile.idle(&IdleRule::default()), &sealed).unwrap();
        (profile, capture, Sealed::open(&sealed).unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn filter(begin: i64, end: i64) -> Filter {
    Filter { begin, end, idle: true, ..Filter::default() }
}

fn folded(sealed: &Sealed, filter: &Filter, split: Split) -> Vec<(Vec<String>, u64)> {
    let mut window = Window::default();
    window.add(sealed, filter, split).unwrap();
    window.folded()
}

fn assert_nothing(sealed: &Sealed) {
    assert_eq!(sealed.span().unwrap(), None);
    let filter = filter(0, 3_000_000_000);
    for split in SPLITS {
        let mut window = Window::default();
        window.add(sealed, &filter, split).unwrap();
        assert_eq!((window.samples, window.idle, window.unknown), (0, 0, 0));
        assert!(window.folded().is_empty());
        assert_eq!(tree(&window, Some(&window), false).total, [[0, 0]]);
    }
    let map = heatmap::subsecond(sealed, &filter, 50).unwrap();
    assert_eq!((map.columns, map.rows, map.cells.iter().sum::<u32>()), (3, 50, 0));
    let map = heatmap::cores(sealed, &filter, 1_000_000_000).unwrap();
    assert_eq!((map.rows, map.cells.len()), (0, 0));
}

#[test]
fn a_part_has_the_stacks_that_a_window_of_the_whole_has() {
    let (all, part) = (Folder::new("all"), Folder::new("part"));
    for name in CAPTURES {
        let (profile, capture, whole) = all.import(&data(name), Clip::default());
        let time = &profile.samples.time;
        let (begin, end) = (time[time.len() / 4], time[time.len() / 2]);
        let clip = Clip { begin: Some(begin), end: Some(end) };
        let (clipped, rest, sealed) = part.import(&data(name), clip);
        let expected = time.iter().filter(|&&time| begin <= time && time < end).count();
        assert_eq!(clipped.samples.time.len(), expected, "{name}");
        assert_eq!(rest.mappings.len(), capture.mappings.len());
        assert_eq!(rest.comms.len(), capture.comms.len());
        assert!(rest.forks.len() == capture.forks.len() && rest.attrs.len() == capture.attrs.len());
        let (first, last) = sealed.span().unwrap().unwrap();
        assert!(first == begin && last < end, "{name}");
        for split in SPLITS {
            let anything = folded(&sealed, &filter(i64::MIN, i64::MAX), split);
            assert_eq!(anything, folded(&whole, &filter(begin, end), split), "{name}");
        }
    }
}

#[test]
fn nothing_is_left_of_a_capture() {
    let folder = Folder::new("nothing");
    for name in CAPTURES {
        let (profile, capture, sealed) = folder.import(&data(name), Clip { begin: None, end: Some(0) });
        assert!(profile.samples.per_core().is_empty() && capture.samples.span().is_none());
        assert!(!sealed.events.is_empty());
        assert_nothing(&sealed);
    }
}

#[test]
fn a_capture_without_samples() {
    let folder = Folder::new("empty");
    let mut bytes = fs::read(data("file.data")).unwrap();
    let begin = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    bytes.truncate(begin);
    let path = folder.0.join("perf.data");
    fs::write(&path, bytes).unwrap();
    let (_, capture, sealed) = folder.import(&path, Clip::default());
    assert!(!capture.gaps.is_empty() && capture.samples.span().is_none());
    assert_nothing(&sealed);
}

#[test]
fn the_span_of_files_that_perf_did_not_finish() {
    let folder = Folder::new("span");
    let span = |path: &Path| perf_data::read(path).unwrap().samples.span();
    let whole = span(&data("file.data"));
    let (profile, ..) = folder.import(&data("file.data"), Clip::default());
    let time = &profile.samples.time;
    assert_eq!(whole, Some((time[0] as u64, time[time.len() - 1] as u64)));

    let mut bytes = fs::read(data("file.data")).unwrap();
    let end =
        (40..56).step_by(8).map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).sum::<u64>();
    let path = folder.0.join("perf.data");
    bytes.truncate(end as usize); // what perf writes at the end is not there yet
    bytes[48..56].fill(0);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(span(&path), whole, "data size 0");
    bytes[..104].fill(0);
    fs::write(&path, &bytes).unwrap();
    assert!(perf_data::read(&path).is_err(), "no closed segment beside it");
    fs::copy(data("file.data"), folder.0.join("perf.data.2026010112000000")).unwrap();
    assert_eq!(span(&path), whole, "no head");
}
