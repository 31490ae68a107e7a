//! The tasks of a text, each once.

use std::collections::HashMap;

use super::head::Head;
use crate::profile::Task;

/// Tasks, each once.
#[derive(Default)]
pub struct Tasks {
    rows: Vec<Task>,
    by_text: HashMap<Box<[u8]>, u32>,
    by_value: HashMap<Task, u32>,
    /// Samples that do not say their process.
    pub without_process: u64,
}

impl Tasks {
    /// The number of a sample's task, and the bytes that it took to keep it.
    pub fn find(&mut self, head: &Head<'_>) -> (u32, usize) {
        self.without_process += u64::from(head.pid.is_none());
        if let Some(&number) = self.by_text.get(head.who) {
            return (number, 0);
        }
        let comm = String::from_utf8_lossy(head.comm).into_owned();
        let task = Task { pid: head.pid.unwrap_or(head.tid), tid: head.tid, process: comm.clone(), comm };
        // The same task may be written with other blanks.
        let number = *self.by_value.entry(task.clone()).or_insert_with(|| {
            self.rows.push(task);
            self.rows.len() as u32 - 1
        });
        self.by_text.insert(head.who.into(), number);
        (number, 2 * size_of::<Task>() + head.who.len() * 5)
    }

    /// The tasks, each with the name of its main thread where that was sampled.
    pub fn finish(mut self) -> Vec<Task> {
        let main = self.rows.iter().filter(|task| task.pid == task.tid);
        let names: HashMap<u32, String> = main.map(|task| (task.pid, task.comm.clone())).collect();
        for task in self.rows.iter_mut().filter(|task| task.pid != task.tid) {
            if let Some(name) = names.get(&task.pid) {
                task.process.clone_from(name);
            }
        }
        self.rows
    }
}
