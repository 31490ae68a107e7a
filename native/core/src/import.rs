//! perf.data to profile: read, resolve, symbolise, and keep every stack of names once.

use std::path::Path;

use crate::kallsyms::Kallsyms;
use crate::perf_data::{self, Capture, Clip, ReadError};
use crate::profile::{FrameTable, Profile, Samples, StackTable, Task};
use crate::resolve::{Resolved, resolve};
use crate::symbols::{Frames, Mapped, Sources, is_of_this_boot, symbolise};

/// Read a range of time of a perf.data file into a profile; the capture's other facts come along.
pub fn import(path: &Path, sources: &Sources, clip: Clip) -> Result<(Profile, Capture), ReadError> {
    let mut capture = perf_data::read(path)?;
    capture.clip(clip);
    let mut kallsyms = sources.kallsyms.as_deref().map(Kallsyms::read).transpose().unwrap_or_default();
    let is_known = sources.kallsyms.is_some();
    kallsyms = kallsyms.filter(|kallsyms| is_of_this_boot(kallsyms, &capture));
    if is_known && kallsyms.is_none() {
        capture.gaps.push("the kernel symbols are of another boot: kernel functions have no names".into());
    }
    let resolved = resolve(&capture);
    if resolved.left_out > 0 {
        let what = "mappings of forked processes are left out: some functions have no names";
        capture.gaps.push(format!("{} {what}", resolved.left_out));
    }
    let mapped = Mapped::of(&capture);
    let named = symbolise(&resolved.places, &mapped, kallsyms.as_ref(), sources.root.as_deref());
    let profile = build(&capture, &resolved, &named);
    Ok((profile, capture))
}

fn build(capture: &Capture, resolved: &Resolved, named: &Frames<'_>) -> Profile {
    let mut frames = FrameTable::default();
    let frame_of_place: Vec<u32> = named.iter().map(|frame| frames.intern_ref(frame)).collect();
    let mut stacks = StackTable::default();
    let mut row = Vec::new();
    let stack_of: Vec<i32> = resolved
        .stacks
        .iter()
        .map(|places| {
            row.clear();
            row.extend(places.iter().map(|&place| frame_of_place[place as usize]));
            stacks.intern(&row) as i32
        })
        .collect();
    let column = |values: &[u32]| resolved.order.iter().map(|&i| values[i as usize] as i32).collect();
    let source = &capture.samples;
    let samples = Samples {
        time: resolved.order.iter().map(|&i| source.time[i as usize] as i64).collect(),
        cpu: column(&source.cpu),
        task: resolved.task.iter().map(|&task| task as i32).collect(),
        event: resolved.order.iter().map(|&i| i32::from(source.event[i as usize])).collect(),
        stack: resolved.stack.iter().map(|&stack| stack_of[stack as usize]).collect(),
    };
    let tasks = resolved.tasks.iter().map(|task| Task {
        pid: task.pid,
        tid: task.tid,
        comm: task.comm.to_string(),
        process: task.process.to_string(),
    });
    Profile {
        samples,
        events: capture.attrs.iter().map(|attr| attr.name.clone()).collect(),
        tasks: tasks.collect(),
        frames: frames.rows,
        stacks,
    }
}
