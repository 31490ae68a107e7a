//! Stacks of many profiles as one window: each thread merges some, and what they found is put together.
//!
//! The result is in an order of its own, so that it is the same however the work was divided.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::profile::Frame;
use crate::sealed::{Error, Sealed};
use crate::window::{Filter, Split, Window};

/// One profile, and which of its samples are wanted.
pub struct Part {
    /// Where it is.
    pub folder: PathBuf,
    /// On the clock of its capture.
    pub filter: Filter,
}

/// Merge profiles with some threads. Those that cannot be read are left out as a whole, by their place.
pub fn merge(parts: &[Part], split: Split, threads: usize) -> (Window, Vec<(usize, Error)>) {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let work = || {
        let mut window = Window::default();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(place) else { return window };
            if let Err(error) = add(&mut window, part, split) {
                failed.lock().unwrap_or_else(|held| held.into_inner()).push((place, error));
            }
        }
    };
    let windows = thread::scope(|scope| {
        let workers: Vec<_> = (1..threads.min(parts.len())).map(|_| scope.spawn(work)).collect();
        let mut windows = vec![work()];
        // Damage becomes an error where files are read; what panics all the same is ours to mend.
        windows.extend(workers.into_iter().map(|worker| worker.join().expect("a thread that merges")));
        windows
    });
    let mut failed = failed.into_inner().unwrap_or_else(|held| held.into_inner());
    failed.sort_unstable_by_key(|(place, _)| *place);
    (put_together(&windows), failed)
}

fn add(window: &mut Window, part: &Part, split: Split) -> Result<(), Error> {
    window.add_in_one_thread(&Sealed::open(&part.folder)?, &part.filter, split)
}

/// Several windows as one, its frames and stacks in the order of their names.
pub fn put_together(windows: &[Window]) -> Window {
    let mut sum = Window::default();
    for window in windows {
        let numbers = sum.frames.intern_all(window.frames.rows.iter().map(Frame::as_ref));
        let (mut frames, mut ends) = (Vec::new(), Vec::with_capacity(window.counts.len()));
        for stack in window.stacks.rows() {
            frames.extend(stack.iter().map(|&frame| numbers[frame as usize]));
            ends.push(frames.len());
        }
        sum.count_all(&frames, &ends, &window.counts);
        sum.samples += window.samples;
        sum.idle += window.idle;
        sum.unknown += window.unknown;
    }
    in_order(sum)
}

fn in_order(window: Window) -> Window {
    let frames = &window.frames.rows;
    let key = |number: u32| {
        let Frame { name, module, offset, kind } = &frames[number as usize];
        (name, module, offset, kind.word())
    };
    let mut order: Vec<u32> = (0..frames.len() as u32).collect();
    order.sort_unstable_by_key(|&number| key(number));
    let mut ranks = vec![0_u32; frames.len()];
    order.iter().enumerate().for_each(|(rank, &frame)| ranks[frame as usize] = rank as u32);
    let renamed = |stack: &[u32]| stack.iter().map(|&frame| ranks[frame as usize]).collect::<Box<[u32]>>();
    let mut rows: Vec<(Box<[u32]>, u64)> =
        window.stacks.rows().iter().map(|stack| renamed(stack)).zip(window.counts).collect();
    rows.sort_unstable();
    let mut sorted = Window::default();
    (sorted.samples, sorted.idle, sorted.unknown) = (window.samples, window.idle, window.unknown);
    order.iter().for_each(|&frame| {
        sorted.frames.intern(&frames[frame as usize]);
    });
    rows.iter().for_each(|(stack, count)| sorted.count(stack, *count));
    sorted
}
