//! Captures and sealed profiles that are cut, mutated, or something else altogether: never a panic, a hang
//! or memory from a size that nobody checked; what is whole is read, and what is missing is said.
//!
//! `NECROSCOPE_FUZZ_SECONDS=600 cargo test -p necroscope-core --test damage -- --ignored` looks longer.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use necroscope_core::flame::tree;
use necroscope_core::import::import;
use necroscope_core::perf_data::{self, Capture, Clip, ReadError};
use necroscope_core::profile::IdleRule;
use necroscope_core::seal::seal;
use necroscope_core::sealed::Sealed;
use necroscope_core::symbols::Sources;
use necroscope_core::window::{Filter, Split, Window};

const CAPTURES: [&str; 3] = ["file.data", "compressed.data", "stream.data"];
/// What one damaged capture of 70 kB may take; honest ones take a few milliseconds.
const LONGEST: Duration = Duration::from_secs(5);
/// What the whole test process may take at its peak, with all tests at once.
const MOST_MEMORY_KB: u64 = 1 << 20;

fn data(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// xorshift64*: the same numbers on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Numbers that are at the edge of something.
const EDGES: [u64; 12] =
    [0, 1, 7, 8, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 63, u64::MAX - 7, u64::MAX];

/// One to four changes: bits, runs of bytes, numbers of 2, 4 or 8 bytes, bytes taken out or put in.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        // Heads of files are small and decide most: every third change goes there.
        let near = if random.below(3) == 0 { bytes.len().min(256) } else { bytes.len() };
        let at = random.below(near);
        let room = bytes.len() - at;
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => {
                let value = random.next() as u8;
                let length = random.below(64).min(room);
                bytes[at..at + length].fill(value);
            }
            2 | 3 => {
                let width = [2, 4, 8][random.below(3)].min(room);
                let number = EDGES[random.below(EDGES.len())].to_le_bytes();
                let at = at - (at % 8).min(at); // most numbers stand at multiples of eight
                bytes[at..at + width].copy_from_slice(&number[..width]);
            }
            4 => drop(bytes.drain(at..at + random.below(64).min(room))),
            _ => {
                let more: Vec<u8> = (0..random.below(32)).map(|_| random.next() as u8).collect();
                bytes.splice(at..at, more);
            }
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("necroscope-damage-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, bytes: &[u8]) -> PathBuf {
        let path = self.0.join("perf.data");
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Remove what was sealed before: no file is written in the place of another.
    fn remove_sealed(&self) {
        for entry in fs::read_dir(&self.0).unwrap().flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "parquet") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Read bytes as a capture, in bounded time.
fn read(folder: &Folder, bytes: &[u8]) -> Result<Capture, ReadError> {
    let begin = Instant::now();
    let result = perf_data::read(&folder.write(bytes));
    assert!(begin.elapsed() < LONGEST, "took {:?}", begin.elapsed());
    result
}

/// All that can be asked of a capture: read, resolve, name, seal, open, window, tree.
fn whole_way(folder: &Folder, bytes: &[u8]) {
    let begin = Instant::now();
    let path = folder.write(bytes);
    let sources = Sources { kallsyms: None, root: Some(folder.0.clone()) };
    folder.remove_sealed();
    if let Ok((profile, _)) = import(&path, &sources, Clip::default()) {
        let idle = profile.idle(&IdleRule::default());
        seal(&profile, &idle, &folder.0).unwrap();
        let sealed = Sealed::open(&folder.0).unwrap();
        let seen = look(&sealed).unwrap();
        assert_eq!(seen, profile.samples.time.len() as u64);
    }
    assert!(begin.elapsed() < LONGEST, "took {:?}", begin.elapsed());
}

/// Count all samples of a sealed profile through windows and trees of every split.
fn look(sealed: &Sealed) -> Result<u64, necroscope_core::sealed::Error> {
    sealed.span()?;
    let filter = Filter { begin: i64::MIN, end: i64::MAX, idle: true, ..Filter::default() };
    let mut seen = 0;
    for split in [Split::Whole, Split::Comm, Split::Process, Split::Thread, Split::Core] {
        let mut window = Window::default();
        window.add(sealed, &filter, split)?;
        let flame = tree(&window, Some(&window), split == Split::Core);
        assert_eq!(flame.total[0], [window.samples; 2]);
        window.folded();
        seen = window.samples;
    }
    Ok(seen)
}

fn peak_memory_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Where records end in a file without compression, from the beginning of its data.
fn record_ends(bytes: &[u8], begin: usize) -> Vec<(usize, u32)> {
    let (mut ends, mut at) = (Vec::new(), begin);
    while let Some(head) = bytes.get(at..at + 8) {
        let size = usize::from(u16::from_le_bytes([head[6], head[7]]));
        if size < 8 || at + size > bytes.len() {
            break;
        }
        at += size;
        ends.push((at, u32::from_le_bytes([head[0], head[1], head[2], head[3]])));
    }
    ends
}

#[test]
fn whole_files_have_no_gaps() {
    let folder = Folder::new("whole");
    for name in CAPTURES {
        let capture = read(&folder, &data(name)).unwrap();
        assert_eq!(capture.gaps, Vec::<String>::new(), "{name}");
        assert!(capture.samples.len() > 40, "{name}");
        whole_way(&folder, &data(name));
    }
}

#[test]
fn a_cut_file_gives_all_whole_records() {
    const SAMPLE: u32 = 9;
    let folder = Folder::new("cut");
    let mut random = Random(0x5eed);
    for name in CAPTURES {
        let bytes = data(name);
        let all = read(&folder, &bytes).unwrap();
        let begin = if name == "stream.data" {
            16
        } else {
            u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize
        };
        let ends = record_ends(&bytes, begin);
        let mut cuts: Vec<usize> = (0..200).map(|_| random.below(bytes.len())).collect();
        cuts.extend([0, 1, 8, 15, 16, 103, 104, begin, bytes.len() - 1]);
        if name == "file.data" {
            let size = u64::from_le_bytes(bytes[48..56].try_into().unwrap()) as usize;
            cuts.extend([begin + size, begin + size + 1]); // all data, no or half a feature
        }
        for cut in cuts {
            let capture = match read(&folder, &bytes[..cut]) {
                Ok(capture) => capture,
                Err(ReadError::Format(what)) => {
                    assert!(cut < begin.max(1024), "{name} cut at {cut}: {what}");
                    assert!(
                        what.contains("cut off") || what.contains("empty") || cut < 8,
                        "{name} {cut}: {what}"
                    );
                    continue;
                }
                Err(error) => panic!("{name} cut at {cut}: {error}"),
            };
            let at_an_end = name == "stream.data" && ends.iter().any(|(end, _)| *end == cut);
            assert!(
                !capture.gaps.is_empty() || at_an_end,
                "{name} cut at {cut}: nothing is said to be missing"
            );
            let count = capture.samples.len();
            assert_eq!(capture.samples.time, all.samples.time[..count], "{name} cut at {cut}");
            if name != "compressed.data" {
                let data_end = ends.iter().take_while(|(end, _)| *end <= cut);
                let whole = data_end.filter(|(_, kind)| *kind == SAMPLE).count();
                assert_eq!(count, whole.min(all.samples.len()), "{name} cut at {cut}");
            }
        }
    }
}

#[test]
fn ten_thousand_mutated_files() {
    let folder = Folder::new("mutated");
    let mut random = Random(0xdead_beef);
    let originals = CAPTURES.map(data);
    let (mut read_well, begin) = (0, Instant::now());
    for round in 0..10_000 {
        let mut bytes = originals[round % originals.len()].clone();
        mutate(&mut bytes, &mut random);
        match read(&folder, &bytes) {
            Ok(_) => read_well += 1,
            Err(ReadError::Format(_)) => {}
            Err(error) => panic!("round {round}: {error}"),
        }
        if round % 20 == 0 {
            whole_way(&folder, &bytes);
        }
    }
    let memory = peak_memory_kb();
    println!("{read_well} of 10000 gave something; {:?}; peak memory {memory} kB", begin.elapsed());
    assert!(read_well > 5_000);
    assert!(memory < MOST_MEMORY_KB, "{memory} kB");
}

/// A sealed profile of which one file is damaged is an error, or gives other values; never a panic.
fn damage_sealed(folder: &Folder, originals: &[(PathBuf, Vec<u8>)], random: &mut Random) -> bool {
    let (path, whole) = &originals[random.below(originals.len())];
    let mut bytes = whole.clone();
    // The footer, at the end, says where everything is.
    let tail = bytes.len().saturating_sub(2048);
    if random.below(3) == 0 {
        let mut end = bytes.split_off(tail);
        mutate(&mut end, random);
        bytes.extend(end);
    } else if random.below(8) == 0 {
        bytes.truncate(random.below(whole.len()));
    } else {
        mutate(&mut bytes, random);
    }
    fs::write(path, &bytes).unwrap();
    let begin = Instant::now();
    let failed = Sealed::open(&folder.0).and_then(|sealed| look(&sealed)).is_err();
    assert!(begin.elapsed() < LONGEST, "{} took {:?}", path.display(), begin.elapsed());
    fs::write(path, whole).unwrap();
    failed
}

fn sealed_files(folder: &Folder) -> Vec<(PathBuf, Vec<u8>)> {
    whole_way(folder, &data("file.data"));
    let names = ["samples", "stacks", "frames", "tasks", "events"];
    let paths = names.map(|name| folder.0.join(format!("{name}.parquet")));
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn mutated_sealed_profiles() {
    let folder = Folder::new("sealed");
    let originals = sealed_files(&folder);
    let mut random = Random(0xfeed);
    let begin = Instant::now();
    let failed = (0..2_000).filter(|_| damage_sealed(&folder, &originals, &mut random)).count();
    println!("{failed} of 2000 were errors; {:?}; peak memory {} kB", begin.elapsed(), peak_memory_kb());
    assert!(failed > 1_000);
    assert!(peak_memory_kb() < MOST_MEMORY_KB);
    for (path, whole) in &originals {
        fs::remove_file(path).unwrap();
        assert!(Sealed::open(&folder.0).and_then(|sealed| look(&sealed)).is_err());
        fs::write(path, whole).unwrap();
    }
}

#[test]
fn other_things_are_named() {
    let folder = Folder::new("other");
    let says = |bytes: &[u8], words: &str| match read(&folder, bytes) {
        Err(ReadError::Format(what)) => assert!(what.contains(words), "{what}"),
        Err(error) => panic!("{words}: {error}"),
        Ok(_) => panic!("{words}: read"),
    };
    says(b"", "empty");
    says(b"this is a text file, and not a short one: perf script writes such", "not a perf.data");
    says(b"2ELIFREP\0\0\0\0\0\0\0\x68", "big-endian");
    says(&[0; 4096], "zeros");
    says(b"PERFILE2", "cut off");
    says(b"PERFILE2\x10\0\0\0\0\0\0\0", "cut off");
    let folder_error = perf_data::read(&folder.0).unwrap_err().to_string();
    assert!(folder_error.contains("folder"), "{folder_error}");
    assert!(matches!(perf_data::read(&folder.0.join("missing")), Err(ReadError::Io(_))));
}

#[test]
fn heads_that_lie() {
    let folder = Folder::new("lies");
    let whole = data("file.data");
    // Size of an attr, offset and size of the attrs, of the data, of the event types; then the features.
    for place in (8..104).step_by(8) {
        for value in EDGES.into_iter().chain([16, 17, 104, 4096, 1 << 32, (1 << 63) - 1]) {
            let mut bytes = whole.clone();
            bytes[place..place + 8].copy_from_slice(&value.to_le_bytes());
            match read(&folder, &bytes) {
                Ok(_) | Err(ReadError::Format(_)) => {}
                Err(error) => panic!("{value:#x} at {place}: {error}"),
            }
        }
    }
    // Thousands of events that all claim the same large table of ids.
    let mut bytes = whole[..104].to_vec();
    let attr_bytes = 64_u64;
    let table = 4000 * (attr_bytes + 16);
    let mut put = |place: usize, value: u64| bytes[place..place + 8].copy_from_slice(&value.to_le_bytes());
    put(16, attr_bytes + 16);
    put(24, 104);
    put(32, table);
    put(40, 104 + table);
    put(48, 8 << 20);
    for _ in 0..4000 {
        bytes.extend([0; 64]);
        bytes.extend((104 + table).to_le_bytes());
        bytes.extend((8_u64 << 20).to_le_bytes());
    }
    let numbers: Vec<u8> = (0..1_u64 << 20).flat_map(|number| (number << 8).to_le_bytes()).collect();
    bytes.extend(numbers);
    assert!(read(&folder, &bytes).is_ok_and(|capture| !capture.gaps.is_empty()));
}

#[test]
fn a_compressed_block_that_swells() {
    // 64 KiB of zstd may hold gigabytes of zeros: every block is bounded, and said to be unreadable.
    let folder = Folder::new("swells");
    let bomb = zstd::bulk::compress(&vec![0_u8; 512 << 20], 1).unwrap();
    let mut bytes = data("stream.data");
    bytes.extend(81_u32.to_le_bytes());
    bytes.extend(0_u16.to_le_bytes());
    bytes.extend((bomb.len() as u16 + 8).to_le_bytes());
    assert!(bomb.len() < 65_000, "{}", bomb.len());
    bytes.extend(bomb);
    let capture = read(&folder, &bytes).unwrap();
    assert!(capture.gaps.iter().any(|gap| gap.contains("compressed")), "{:?}", capture.gaps);
}

#[test]
#[ignore = "as long as NECROSCOPE_FUZZ_SECONDS says"]
fn fuzz_longer() {
    let seconds =
        std::env::var("NECROSCOPE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let (folder, sealed) = (Folder::new("fuzz"), Folder::new("fuzz-sealed"));
    let (captures, tables) = (CAPTURES.map(data), sealed_files(&sealed));
    let (begin, mut rounds) = (Instant::now(), 0_u64);
    let seed =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64 | 1;
    println!("seed {seed}");
    let mut random = Random(seed);
    while begin.elapsed() < Duration::from_secs(seconds) {
        let mut bytes = captures[random.below(captures.len())].clone();
        (0..=random.below(4)).for_each(|_| mutate(&mut bytes, &mut random));
        whole_way(&folder, &bytes);
        damage_sealed(&sealed, &tables, &mut random);
        rounds += 1;
    }
    println!("{rounds} rounds; peak memory {} kB", peak_memory_kb());
}
