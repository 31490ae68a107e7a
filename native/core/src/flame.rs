//! Stacks merged into a tree: a flame graph, or the difference of two.

use std::collections::HashMap;

use crate::hash::FastMap;
use crate::window::Window;

/// A tree in columns, parents before their children, children in the order of their labels.
#[derive(Debug, Default)]
pub struct Tree {
    /// Index of the parent; the root is its own.
    pub parent: Vec<u32>,
    /// Label of each node, an index into `labels`.
    pub label: Vec<u32>,
    /// Samples in each node and below it: of the window, and of the baseline.
    pub total: Vec<[u64; 2]>,
    /// Samples that ended in each node.
    pub own: Vec<[u64; 2]>,
    /// What is written on a node: name, kind and module.
    pub labels: Vec<Label>,
}

/// What is written on a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    /// The function.
    pub name: String,
    /// Kernel, user, ...
    pub kind: &'static str,
    /// The file it is in.
    pub module: String,
}

/// Merge the stacks of a window, and of a baseline where there is one, into a tree.
///
/// `inverted` puts the innermost frame at the root: who calls it, instead of what it calls.
pub fn tree(window: &Window, baseline: Option<&Window>, inverted: bool) -> Tree {
    let mut builder = Builder::default();
    builder.add(window, 0, inverted);
    if let Some(baseline) = baseline {
        builder.add(baseline, 1, inverted);
    }
    builder.finish()
}

struct Node {
    parent: u32,
    label: u32,
    total: [u64; 2],
    own: [u64; 2],
}

struct Builder {
    nodes: Vec<Node>,
    children: FastMap<(u32, u32), u32>,
    labels: Vec<Label>,
    label_numbers: HashMap<Label, u32>,
}

impl Default for Builder {
    fn default() -> Self {
        let mut builder = Self {
            nodes: Vec::new(),
            children: FastMap::default(),
            labels: Vec::new(),
            label_numbers: HashMap::new(),
        };
        let all = Label { name: "all".into(), kind: "root", module: String::new() };
        let label = builder.label(all);
        builder.nodes.push(Node { parent: 0, label, total: [0; 2], own: [0; 2] });
        builder
    }
}

impl Builder {
    fn add(&mut self, window: &Window, side: usize, inverted: bool) {
        let labels: Vec<u32> = window
            .frames
            .rows
            .iter()
            .map(|frame| {
                self.label(Label {
                    name: frame.label(),
                    kind: frame.kind.word(),
                    module: frame.module.clone(),
                })
            })
            .collect();
        for (stack, &count) in window.stacks.rows().iter().zip(&window.counts) {
            let mut node = 0;
            self.nodes[0].total[side] += count;
            let mut step = |builder: &mut Self, frame: u32| {
                node = builder.child(node, labels[frame as usize]);
                builder.nodes[node as usize].total[side] += count;
            };
            if inverted {
                stack.iter().rev().for_each(|&frame| step(self, frame));
            } else {
                stack.iter().for_each(|&frame| step(self, frame));
            }
            self.nodes[node as usize].own[side] += count;
        }
    }

    fn label(&mut self, label: Label) -> u32 {
        if let Some(&number) = self.label_numbers.get(&label) {
            return number;
        }
        let number = self.labels.len() as u32;
        self.labels.push(label.clone());
        self.label_numbers.insert(label, number);
        number
    }

    fn child(&mut self, parent: u32, label: u32) -> u32 {
        let next = self.nodes.len() as u32;
        let node = *self.children.entry((parent, label)).or_insert(next);
        if node == next {
            self.nodes.push(Node { parent, label, total: [0; 2], own: [0; 2] });
        }
        node
    }

    fn finish(self) -> Tree {
        let mut below: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            below[node.parent as usize].push(index as u32);
        }
        let by_label = |node: &u32| &self.labels[self.nodes[*node as usize].label as usize];
        for children in &mut below {
            children.sort_by(|a, b| by_label(b).cmp(by_label(a))); // popped from the end
        }
        let mut tree = Tree { labels: self.labels.clone(), ..Tree::default() };
        let mut pending = vec![(0_u32, 0_u32)];
        while let Some((old, parent)) = pending.pop() {
            let new = tree.parent.len() as u32;
            let node = &self.nodes[old as usize];
            tree.parent.push(parent);
            tree.label.push(node.label);
            tree.total.push(node.total);
            tree.own.push(node.own);
            pending.extend(below[old as usize].iter().map(|&child| (child, new)));
        }
        tree
    }
}
