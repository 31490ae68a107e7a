//! Our reader against the `linux-perf-data` crate, sample by sample, on captures made here and now.
//!
//! Where perf is missing or may not record, the test says so and checks nothing.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use linux_perf_data::linux_perf_event_reader::{EventRecord, RecordType};
use linux_perf_data::{PerfFile, PerfFileReader, PerfFileRecord, PerfRecordIter};
use necroscope_core::perf_data::{self, Capture, is_marker};

/// `PERF_RECORD_LOST_SAMPLES`, which the crate leaves raw.
const LOST_SAMPLES: RecordType = RecordType(13);

/// Time, core, process, thread, event, callchain.
type Row = (u64, u32, u32, u32, usize, Vec<u64>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Facts {
    samples: Vec<Row>,
    executable_mappings: usize,
    comms: Vec<(u32, u32, String, bool)>,
    forks: Vec<(u64, u32, u32)>,
    lost_records: u64,
    lost_samples: u64,
    throttles: u64,
    clock: Option<(u32, u64, u64)>,
    names: Vec<String>,
}

impl Facts {
    /// In an order that does not depend on how a reader sorts: the crate's is by rounds.
    fn sorted(mut self) -> Self {
        self.samples.sort();
        self.comms.sort();
        self.forks.sort();
        self
    }
}

fn ours(capture: &Capture) -> Facts {
    let samples = &capture.samples;
    let row = |i: usize| {
        let chain = capture.stacks.get(samples.stack[i]).to_vec();
        let event = usize::from(samples.event[i]);
        (samples.time[i], samples.cpu[i], samples.pid[i], samples.tid[i], event, chain)
    };
    let clock = capture.clock.map(|clock| (clock.clock_id, clock.wall_ns, clock.clock_ns));
    Facts {
        samples: (0..samples.len()).map(row).collect(),
        executable_mappings: capture.mappings.len(),
        comms: capture.comms.iter().map(|c| (c.pid, c.tid, c.name.clone(), c.exec)).collect(),
        forks: capture.forks.iter().map(|f| (f.time, f.pid, f.tid)).collect(),
        lost_records: capture.lost_records,
        lost_samples: capture.lost_samples,
        throttles: capture.throttles,
        clock,
        names: capture.attrs.iter().map(|attr| attr.name.clone()).collect(),
    }
    .sorted()
}

fn theirs(path: &Path) -> Facts {
    let mut head = [0_u8; 16];
    File::open(path).unwrap().read_exact(&mut head).unwrap();
    let reader = BufReader::new(File::open(path).unwrap());
    if head[8] == 16 {
        let PerfFileReader { perf_file, record_iter } = PerfFileReader::parse_pipe(reader).unwrap();
        walk(perf_file, record_iter)
    } else {
        let PerfFileReader { perf_file, record_iter } = PerfFileReader::parse_file(reader).unwrap();
        walk(perf_file, record_iter)
    }
}

fn walk<R: Read>(mut file: PerfFile, mut records: PerfRecordIter<R>) -> Facts {
    let mut facts = Facts::default();
    while let Some(record) = records.next_record(&mut file).unwrap() {
        let PerfFileRecord::EventRecord { attr_index, record } = record else { continue };
        match record.parse().unwrap() {
            EventRecord::Sample(sample) => {
                let chain =
                    sample.callchain.map(|chain| (0..chain.len()).map(move |i| chain.get(i).unwrap()));
                // Without -g ours is the address behind the marker of its mode.
                let lone = || vec![0, sample.ip.unwrap()];
                facts.samples.push((
                    sample.timestamp.unwrap(),
                    sample.cpu.unwrap_or(u32::MAX),
                    sample.pid.unwrap() as u32,
                    sample.tid.unwrap() as u32,
                    attr_index,
                    chain.map_or_else(lone, Iterator::collect),
                ));
            }
            EventRecord::Comm(comm) => {
                let name = String::from_utf8_lossy(&comm.name.as_slice()).into_owned();
                facts.comms.push((comm.pid as u32, comm.tid as u32, name, comm.is_execve));
            }
            EventRecord::Fork(fork) => facts.forks.push((fork.timestamp, fork.pid as u32, fork.tid as u32)),
            EventRecord::Mmap(map) => facts.executable_mappings += usize::from(map.is_executable),
            EventRecord::Mmap2(map) => facts.executable_mappings += usize::from(map.protection & 4 != 0),
            EventRecord::Lost(lost) => facts.lost_records += lost.count,
            EventRecord::Throttle(_) => facts.throttles += 1,
            EventRecord::Raw(raw) if raw.record_type == LOST_SAMPLES => {
                let mut data = raw.data;
                let mut bytes = [0; 8];
                data.read_exact(&mut bytes).unwrap();
                facts.lost_samples += u64::from_le_bytes(bytes);
            }
            _ => {}
        }
    }
    let clock = file.clock_data().unwrap();
    facts.clock = clock.map(|clock| (clock.clockid, clock.wall_clock_ns, clock.clockid_time_ns));
    let names = file.event_attributes().iter().map(|attr| attr.name().unwrap_or_default().to_string());
    facts.names = names.collect();
    facts.sorted()
}

/// Compare, and say where they first differ rather than print both.
fn assert_same(what: &str, ours: &Facts, theirs: &Facts) {
    let pairs = ours.samples.iter().zip(&theirs.samples).enumerate();
    for (index, (mine, other)) in pairs {
        assert_eq!(mine, other, "{what}: sample {index}");
    }
    assert_eq!(ours.samples.len(), theirs.samples.len(), "{what}: number of samples");
    assert_eq!(ours, theirs, "{what}");
    let counts = (ours.samples.len(), ours.executable_mappings, ours.comms.len(), ours.forks.len());
    let lost = (ours.lost_records, ours.lost_samples, ours.throttles);
    println!("{what}: the same (samples, mappings, comms, forks) = {counts:?}, lost and throttled {lost:?}");
}

/// Same file through both, which must agree; ours is returned.
fn compare(what: &str, path: &Path) -> Capture {
    let capture = perf_data::read(path).unwrap();
    assert_eq!(capture.gaps, Vec::<String>::new(), "{what}");
    assert_same(what, &ours(&capture), &theirs(path));
    capture
}

/// A folder for captures, removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("necroscope-oracle-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program that is stopped when it goes out of scope.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Forks, execs and system calls, so that there is something to record.
fn load() -> Running {
    let script = "while :; do find /usr/share -maxdepth 3 >/dev/null; dd if=/dev/zero of=/dev/null bs=64k count=99 2>/dev/null; done";
    Running(Command::new("sh").args(["-c", script]).spawn().unwrap())
}

/// perf's arguments before the program it runs; -F is small enough for every machine's limit. Without -B
/// perf 6.1 aborts at the end of a capture on a machine that has a build id of more than 20 bytes.
fn perf(arguments: &str) -> Command {
    let mut command = Command::new("perf");
    command.args(["record", "-q", "-B", "-F", "499"]).args(arguments.split_whitespace());
    command
}

/// Run perf; again where it aborts, as perf 6.1 was seen to do here now and then.
fn run(command: impl Fn() -> Command) -> Output {
    let mut tries = (0..5).map(|_| command().output().unwrap());
    tries.find(|done| done.status.code().is_some()).expect("perf aborts five times in a row")
}

fn record(path: &Path, arguments: &str, seconds: &str) {
    let done = run(|| {
        let mut command = perf(arguments);
        command.arg("-o").arg(path).args(["--", "sleep", seconds]);
        command
    });
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "perf record {arguments}: {} {said}", done.status);
}

/// Whether perf can record all cores with stacks here; prints why not.
fn can_record(folder: &Folder) -> bool {
    if let Err(error) = Command::new("perf").arg("--version").output() {
        println!("skipped: perf does not start here ({error})");
        return false;
    }
    let tried = run(|| {
        let mut command = perf("-a -g -o");
        command.arg(folder.file("try.data")).args(["--", "true"]);
        command
    });
    if !tried.status.success() {
        let said = String::from_utf8_lossy(&tried.stderr);
        println!("skipped: perf record -a -g is not permitted here ({} {said})", tried.status);
    }
    tried.status.success()
}

/// One capture at a time: each has the cores, and what it records, to itself.
static TURN: Mutex<()> = Mutex::new(());

macro_rules! folder_or_skip {
    ($name:literal) => {{
        let folder = Folder::new($name);
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        if !can_record(&folder) {
            return;
        }
        (folder, turn)
    }};
}

#[test]
fn all_cores_with_stacks() {
    let (folder, _turn) = folder_or_skip!("all");
    let _load = load();
    for (name, arguments) in [
        ("plain", "-a -g"),
        ("clock", "-a -g -k CLOCK_MONOTONIC"),
        ("build ids", "-a -g --buildid-mmap"),
        ("compressed", "-a -g -z"),
        ("overwritten", "-a -g -m 1 -c 20000"), // so small a buffer that records are lost
    ] {
        let path = folder.file(name);
        if name == "overwritten" {
            let done = run(|| {
                let mut command = Command::new("perf");
                command.args(["record", "-q", "-B"]).args(arguments.split(' ')).arg("-o").arg(&path);
                command.args(["--", "sleep", "0.5"]);
                command
            });
            assert!(done.status.success());
        } else {
            record(&path, arguments, "1");
        }
        let capture = compare(name, &path);
        assert!(capture.samples.len() > 100, "{name}: {} samples", capture.samples.len());
        assert!(capture.origin.cores_online > 0 && !capture.origin.release.is_empty(), "{name}");
        assert_eq!(capture.clock.is_some(), name == "clock");
        let with_id = |capture: &Capture| capture.objects.iter().filter(|o| !o.build_id.is_empty()).count();
        assert_eq!(with_id(&capture) > 0, name == "build ids", "{name}: with -B, only in the mappings");
    }
}

#[test]
fn one_process_without_cores() {
    let (folder, _turn) = folder_or_skip!("one");
    let path = folder.file("perf.data");
    let script = "find /usr/share >/dev/null; exec dd if=/dev/zero of=/dev/null bs=1M count=3000";
    let done = run(|| {
        let mut command = perf("-g -o");
        command.arg(&path).args(["--", "sh", "-c", script]);
        command
    });
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let capture = compare("one process", &path);
    assert!(capture.samples.cpu.iter().all(|&cpu| cpu == u32::MAX), "perf records no core there");
    assert!(capture.comms.iter().any(|comm| comm.exec && comm.name == "dd"));
}

#[test]
fn without_stacks() {
    let (folder, _turn) = folder_or_skip!("flat");
    let _load = load();
    let path = folder.file("perf.data");
    record(&path, "-a", "1");
    let capture = perf_data::read(&path).unwrap();
    let mut mine = ours(&capture);
    for row in &mut mine.samples {
        assert!(is_marker(row.5[0]) && row.5.len() == 2, "{row:?}");
        // An address of the kernel's half cannot be a program's; the marker comes from the record's flags.
        assert_eq!(row.5[0] == perf_data::KERNEL, row.5[1] >> 63 == 1, "{row:?}");
        row.5[0] = 0;
    }
    assert_same("without stacks", &mine.sorted(), &theirs(&path));
}

/// Writes a line to the kernel log; false where that is not permitted.
fn log(text: &str) -> bool {
    let written =
        File::options().write(true).open("/dev/kmsg").and_then(|mut file| file.write_all(text.as_bytes()));
    written.is_ok()
}

#[test]
fn two_events_and_a_log_line() {
    let (folder, _turn) = folder_or_skip!("events");
    let _load = load();
    for (name, extra) in [("file", ""), ("pipe", ""), ("compressed", "-z"), ("killed", "")] {
        let path = folder.file(name);
        let mut command = perf(&format!("-a -g -e cpu-clock -e printk:console {extra}"));
        if name == "pipe" {
            command.args(["-o", "-"]).stdout(File::create(&path).unwrap());
        } else {
            command.arg("-o").arg(&path);
        }
        let mut child = Running(command.args(["--", "sleep", "2"]).spawn().unwrap());
        let text = format!("necroscope oracle {name} {}", std::process::id());
        // perf takes its time to begin, and the kernel takes few lines a second from a program.
        for _ in 0..4 {
            sleep(Duration::from_millis(450));
            if !log(&format!("<1>{text}")) {
                println!("skipped: /dev/kmsg is not writable");
                return;
            }
        }
        if name == "killed" {
            sleep(Duration::from_millis(1500)); // perf writes its buffers when it has woken up
            drop(child);
        } else {
            assert!(child.0.wait().unwrap().success(), "{name}: the tracepoint could not be recorded");
        }
        let capture = match name {
            "killed" => perf_data::read(&path).unwrap(),
            // The crate takes the tracing data that follows its record in a stream for records.
            "pipe" => perf_data::read(&path).unwrap(),
            _ => compare(name, &path),
        };
        let lines: Vec<&str> = capture.lines.iter().map(|line| line.text.as_str()).collect();
        assert!(lines.iter().any(|line| line.contains(&text)), "{name}: {lines:?} {:?}", capture.gaps);
        let names: Vec<&str> = capture.attrs.iter().map(|attr| attr.name.as_str()).collect();
        assert!(names[0].starts_with("cpu-clock"), "{name}: {names:?}");
        assert!(capture.samples.event.contains(&0) && capture.samples.event.contains(&1), "{name}");
    }
}

#[test]
fn a_stream() {
    let (folder, _turn) = folder_or_skip!("pipe");
    let _load = load();
    let path = folder.file("stream.data");
    let mut command = perf("-a -g -o -");
    command.stdout(File::create(&path).unwrap()).args(["--", "sleep", "1"]);
    assert!(command.status().unwrap().success());
    let capture = compare("stream", &path);
    assert!(!capture.origin.hostname.is_empty() && capture.samples.len() > 100);
}

#[test]
fn segments_and_the_open_one() {
    let (folder, _turn) = folder_or_skip!("segments");
    let _load = load();
    let open = folder.file("seg.data");
    let mut command = perf("-a -g --buildid-mmap --switch-output=1s -o");
    let mut child = Running(command.arg(&open).args(["--", "sleep", "3.7"]).spawn().unwrap());
    let closed = || {
        let names = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<PathBuf> =
            names.filter(|path| path.to_string_lossy().contains("seg.data.")).collect();
        names.sort();
        names
    };
    let begin = Instant::now();
    while closed().len() < 2 && begin.elapsed() < Duration::from_secs(10) {
        sleep(Duration::from_millis(50));
    }
    sleep(Duration::from_millis(700));
    let live = perf_data::read(&open).unwrap();
    assert!(live.samples.len() > 10, "the open segment: {} samples", live.samples.len());
    assert!(live.gaps[0].contains("did not finish"), "{:?}", live.gaps);
    assert!(live.attrs[0].name.starts_with("cpu-clock"), "its head is taken from a closed one");
    child.0.wait().unwrap();
    let segments: Vec<Capture> = closed().iter().map(|path| compare("segment", path)).collect();
    assert!(segments.len() >= 3);
    // What the open one held must be the beginning of what it became.
    let became: HashMap<Row, ()> =
        segments.iter().flat_map(|capture| ours(capture).samples).map(|row| (row, ())).collect();
    for row in ours(&live).samples {
        assert!(became.contains_key(&row), "{row:?}");
    }
    for pair in segments.windows(2) {
        let last = pair[0].samples.time.iter().max().unwrap();
        let first = pair[1].samples.time.iter().min().unwrap();
        assert!(first + 50_000_000 > *last, "segments overlap or are out of order");
    }
}

#[test]
fn a_killed_perf() {
    let (folder, _turn) = folder_or_skip!("killed");
    let _load = load();
    let path = folder.file("killed.data");
    let child = Running(perf("-a -g -m 8 -o").arg(&path).args(["--", "sleep", "9"]).spawn().unwrap());
    sleep(Duration::from_millis(2500));
    drop(child);
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes[48..56], [0; 8], "the size of the data");
    let capture = perf_data::read(&path).unwrap();
    assert!(capture.gaps[0].contains("did not finish"), "{:?}", capture.gaps);
    // The crate will not open it; with the size written in and the map of features emptied it does.
    let mut mended = bytes;
    let begin = u64::from_le_bytes(mended[40..48].try_into().unwrap());
    let size = whole_records(&mended[begin as usize..]);
    mended[48..56].copy_from_slice(&size.to_le_bytes());
    mended[72..104].fill(0);
    mended.truncate((begin + size) as usize);
    let other = folder.file("mended.data");
    fs::write(&other, mended).unwrap();
    let mut mine = ours(&capture);
    mine.names.clear();
    let mut crate_facts = theirs(&other);
    crate_facts.names.clear();
    assert!(mine.samples.len() > 100);
    assert_same("killed", &mine, &crate_facts);
}

/// Bytes of the whole records at the beginning.
fn whole_records(data: &[u8]) -> u64 {
    let mut end = 0;
    while let Some(head) = data.get(end..end + 8) {
        let size = usize::from(u16::from_le_bytes([head[6], head[7]]));
        if size < 8 || end + size > data.len() {
            break;
        }
        end += size;
    }
    end as u64
}
