//! Profiles of generated hosts for benchmarks: what 96 cores do in 120 s, 99 times a second.
//!
//!     cargo run --release --example fleet_segments FOLDER COUNT [FIRST]
//!
//! Makes FOLDER/0 to FOLDER/COUNT-1. All hosts run the same 20,000 stacks of 20 frames in the mean, a few of
//! them most of the time; each has its own numbers for stacks and functions, and its own draw.

use std::env;
use std::fs;
use std::path::Path;

use necroscope_core::profile::{Frame, FrameKind, Profile, Samples, Task};
use necroscope_core::seal::seal;

const CORES: i64 = 96;
const HERTZ: i64 = 99;
const SECONDS: i64 = 120;
const STACKS: usize = 20_000;
const NAMES: u64 = 30_000;
const TASKS: u64 = 600;
const COMMS: u64 = 40;

/// SplitMix64: small, and the same everywhere.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % bound
    }

    fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for place in (1..count).rev() {
            order.swap(place, self.below(place as u64 + 1) as usize);
        }
        order
    }
}

fn frame(number: u64) -> Frame {
    let (kind, module) = match number % 3 {
        0 => (FrameKind::Kernel, "[kernel]".to_string()),
        1 => (FrameKind::User, "/usr/bin/server".to_string()),
        _ => (FrameKind::User, format!("/usr/lib/x86_64-linux-gnu/lib{}.so.1", number % 40)),
    };
    Frame { name: format!("subsystem{}_do_some_work_{number}", number % 97), module, offset: 0, kind }
}

/// The stacks that all hosts share: near the root few functions, further in many.
fn stacks() -> Vec<Vec<u64>> {
    let mut draw = Draw(1);
    (0..STACKS)
        .map(|_| (0..10 + draw.below(21)).map(|level| draw.below((4 << level.min(20)).min(NAMES))).collect())
        .collect()
}

/// Which stack a draw of 0 to 2^20 means: the n-th is seen as often as 1/n.
fn often() -> Vec<u32> {
    let weights: Vec<f64> = (0..STACKS).map(|rank| 1.0 / (rank as f64 + 1.0)).collect();
    let sum: f64 = weights.iter().sum();
    let (mut rank, mut until) = (0, weights[0] / sum);
    (0..1 << 20)
        .map(|place| {
            while f64::from(place) / f64::from(1 << 20) > until && rank + 1 < STACKS {
                rank += 1;
                until += weights[rank] / sum;
            }
            rank as u32
        })
        .collect()
}

fn host(stacks: &[Vec<u64>], often: &[u32], number: u64) -> Profile {
    let mut draw = Draw(1000 + number);
    let mut profile = Profile { events: vec!["cpu-clock".into()], ..Profile::default() };
    let names = draw.shuffled(NAMES as usize); // place -> name
    let mut place_of = vec![0_u32; names.len()];
    names.iter().enumerate().for_each(|(place, &name)| place_of[name] = place as u32);
    profile.frames = names.iter().map(|&name| frame(name as u64)).collect();
    let mut number_of = vec![0; stacks.len()];
    for stack in draw.shuffled(stacks.len()) {
        let frames: Vec<u32> = stacks[stack].iter().map(|&name| place_of[name as usize]).collect();
        number_of[stack] = profile.stacks.intern(&frames) as i32;
    }
    profile.tasks = (0..TASKS)
        .map(|task| {
            let comm = format!("worker-{}", task % COMMS);
            Task { pid: 1000 + task as u32, tid: 1000 + task as u32, process: comm.clone(), comm }
        })
        .collect();
    let samples: &mut Samples = &mut profile.samples;
    for tick in 0..HERTZ * SECONDS {
        for core in 0..CORES {
            samples.time.push(tick * 1_000_000_000 / HERTZ + core);
            samples.cpu.push(core as i32);
            samples.task.push(draw.below(TASKS) as i32);
            samples.event.push(0);
            samples.stack.push(number_of[often[draw.below(1 << 20) as usize] as usize]);
        }
    }
    profile
}

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let count: u64 = words[1].parse().expect("COUNT");
    let first: u64 = words.get(2).map_or(0, |word| word.parse().expect("FIRST"));
    let (stacks, often) = (stacks(), often());
    for number in first..first + count {
        let folder = Path::new(&words[0]).join(number.to_string());
        fs::create_dir_all(&folder).expect("a folder");
        let profile = host(&stacks, &often, number);
        let idle = vec![false; profile.stacks.rows().len()];
        seal(&profile, &idle, &folder).expect("a sealed profile");
    }
}
