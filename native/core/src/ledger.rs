//! Which memory cgroups were removed and are not yet freed, and who made and removed them.
//!
//! A thread reads the kernel's cgroup tracepoints from an `instance` of our own, `line` parses them, `who`
//! looks at the process behind each at once, and `book` keeps the accounts, within bounds. `fold` makes
//! paths that differ in numbers and hashes only into one pattern.

mod book;
mod fold;
mod instance;
mod interned;
mod line;
mod who;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use book::Book;
pub use book::{Group, Leak, Snapshot, Wanted};
use instance::Instance;
use line::Record;
use who::Processes;
pub use who::Who;

/// Most that one read of the pipe gives is 8 KiB.
const BUFFER_BYTES: usize = 16 << 10;
/// A read that gives less than this has emptied the kernel's buffer.
const FULL_READ: usize = 2 << 10;
/// So often a second the thread wakes at once, which is how it finds who is about to end. At a higher
/// rate of events it lets them gather: a wake-up costs as much as ten events.
const WAKES_PER_SECOND: f64 = 100.0;
const GATHERING: Duration = Duration::from_millis(10);

/// The ledger: a thread that reads, and what it has read.
pub struct Ledger {
    desk: Arc<Mutex<Desk>>,
    bell: io::PipeWriter,
    thread: Option<JoinHandle<()>>,
    instance: Option<Instance>,
}

/// What the thread and who asks share.
struct Desk {
    pipe: File,
    hierarchy: u32,
    buffer: Vec<u8>,
    filled: usize,
    processes: Processes,
    book: Book,
    failure: Option<io::Error>,
}

impl Ledger {
    /// Trace from now on, in an instance below the tracefs mounted at `tracing`; `hierarchy` is the number
    /// of the one hierarchy that matters, `proc` where its processes are.
    pub fn open(tracing: &Path, proc: &Path, hierarchy: u32) -> io::Result<Self> {
        let instance = Instance::open(tracing, proc, hierarchy)?;
        let desk = Desk {
            pipe: instance.pipe()?,
            hierarchy,
            buffer: vec![0; BUFFER_BYTES],
            filled: 0,
            processes: Processes::new(proc),
            book: Book::default(),
            failure: None,
        };
        let watched = desk.pipe.try_clone()?;
        let desk = Arc::new(Mutex::new(desk));
        let (heard, bell) = io::pipe()?;
        let shared = Arc::clone(&desk);
        let thread = thread::Builder::new()
            .name("necroscope-ledg".into())
            .spawn(move || follow(&watched, &heard, &shared))?;
        Ok(Self { desk, bell, thread: Some(thread), instance: Some(instance) })
    }

    /// The accounts at `now_ns` of CLOCK_MONOTONIC.
    pub fn take(&self, now_ns: u64, wanted: &Wanted) -> io::Result<Snapshot> {
        let mut desk = lock(&self.desk);
        desk.drain();
        match &desk.failure {
            Some(failure) => Err(io::Error::new(failure.kind(), failure.to_string())),
            None => Ok(desk.book.take(now_ns, wanted)),
        }
    }

    /// Stop, and take the instance away. What comes later is not seen.
    pub fn close(&mut self) {
        if let Some(thread) = self.thread.take() {
            // The thread waits for this pipe as well. It cannot be full: nothing else is written to it.
            let _ = self.bell.write_all(b"!");
            let _ = thread.join();
        }
        if let Some(instance) = self.instance.take() {
            // The kernel removes no instance whose pipe is open: ours becomes one of nothing.
            let mut desk = lock(&self.desk);
            if let Ok(nothing) = File::open("/dev/null") {
                desk.pipe = nothing;
            }
            desk.failure = Some(io::Error::other("the ledger was closed"));
            instance.remove();
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.close();
    }
}

fn lock(desk: &Mutex<Desk>) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Read whenever something has happened, until the bell rings.
fn follow(pipe: &File, bell: &io::PipeReader, desk: &Mutex<Desk>) {
    let mut wakes_left = WAKES_PER_SECOND;
    let mut woken = Instant::now();
    loop {
        let mut watched = [PollFd::new(pipe, PollFlags::IN), PollFd::new(bell, PollFlags::IN)];
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        if !watched[1].revents().is_empty() {
            return;
        }
        let mut desk = lock(desk);
        desk.drain();
        if desk.failure.is_some() {
            return;
        }
        drop(desk);
        let now = Instant::now();
        wakes_left += (now - woken).as_secs_f64() * WAKES_PER_SECOND - 1.0;
        wakes_left = wakes_left.min(WAKES_PER_SECOND);
        woken = now;
        if wakes_left < 1.0 {
            thread::sleep(GATHERING);
        }
    }
}

impl Desk {
    /// Enter all that the kernel has by now.
    fn drain(&mut self) {
        while self.failure.is_none() {
            match self.pipe.read(&mut self.buffer[self.filled..]) {
                Ok(length) => {
                    self.enter(length);
                    if length < FULL_READ {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.failure = Some(error),
            }
        }
    }

    fn enter(&mut self, length: usize) {
        let end = self.filled + length;
        let mut done = 0;
        while let Some((record, used)) = line::next(&self.buffer[done..end]) {
            match record {
                Record::Lost(count) => self.book.lost(count),
                // An instance that somebody else prepared has those of all hierarchies.
                Record::Made(event) if event.root == self.hierarchy => {
                    let who = self.processes.behind(&event, &mut self.book.people);
                    self.book.made(&event, who);
                }
                Record::Removed(event) if event.root == self.hierarchy => {
                    let who = self.processes.behind(&event, &mut self.book.people);
                    self.book.removed(&event, who);
                }
                Record::Released(event) if event.root == self.hierarchy => self.book.released(&event),
                _ => {}
            }
            done += used;
        }
        if self.book.make_room() {
            self.processes.forget();
        }
        // What is left is the beginning of a line, unless it is none at all.
        self.filled = if end - done < self.buffer.len() / 2 { end - done } else { 0 };
        self.buffer.copy_within(done..done + self.filled, 0);
    }
}
