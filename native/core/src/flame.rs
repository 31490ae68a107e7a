//! Stacks merged into a tree: a flame graph, or the difference of two.

use std::cmp::Reverse;
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
        let (starts, children) = self.sorted_children();
        let mut tree = Tree { labels: self.labels, ..Tree::default() };
        let mut pending = vec![(0_u32, 0_u32)];
        while let Some((old, parent)) = pending.pop() {
            let new = tree.parent.len() as u32;
            let node = &self.nodes[old as usize];
            tree.parent.push(parent);
            tree.label.push(node.label);
            tree.total.push(node.total);
            tree.own.push(node.own);
            let below = starts[old as usize]..starts[old as usize + 1];
            pending.extend(children[below].iter().map(|&child| (child, new)));
        }
        tree
    }

    /// The children of all nodes, the last label first since they are popped from the end; and where those
    /// of each node begin.
    fn sorted_children(&self) -> (Vec<usize>, Vec<u32>) {
        let mut labels: Vec<usize> = (0..self.labels.len()).collect();
        labels.sort_unstable_by_key(|&label| &self.labels[label]);
        let mut ranks = vec![0_u32; labels.len()]; // numbers are compared much faster than texts
        labels.iter().enumerate().for_each(|(rank, &label)| ranks[label] = rank as u32);
        let key = |node: &Node| (node.parent, Reverse(ranks[node.label as usize]));
        let mut children: Vec<u32> = (1..self.nodes.len() as u32).collect();
        children.sort_unstable_by_key(|&child| key(&self.nodes[child as usize]));
        let mut starts = vec![0; self.nodes.len() + 1];
        self.nodes.iter().skip(1).for_each(|node| starts[node.parent as usize + 1] += 1);
        (1..starts.len()).for_each(|node| starts[node] += starts[node - 1]);
        (starts, children)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Frame, FrameKind};

    fn window(stacks: &[(&str, u64)]) -> Window {
        let mut window = Window::default();
        for (names, count) in stacks {
            let frame = |name: &str| Frame {
                name: name.into(),
                module: String::new(),
                offset: 0,
                kind: FrameKind::User,
            };
            let stack: Vec<u32> = names.split(';').map(|name| window.frames.intern(&frame(name))).collect();
            window.stacks.intern(&stack);
            window.counts.push(*count);
        }
        window
    }

    #[test]
    fn children_stand_in_the_order_of_their_labels() {
        let here = window(&[("b;z", 1), ("b", 2), ("a;y", 3), ("b;c;d", 4)]);
        let there = window(&[("a;x", 5), ("b;c", 6)]);
        let tree = tree(&here, Some(&there), false);
        let names: Vec<&str> =
            tree.label.iter().map(|&label| tree.labels[label as usize].name.as_str()).collect();
        assert_eq!(names, ["all", "a", "x", "y", "b", "c", "d", "z"]);
        assert_eq!(tree.parent, [0, 0, 1, 1, 0, 4, 5, 4]);
        assert_eq!(tree.total, [[10, 11], [3, 5], [0, 5], [3, 0], [7, 6], [4, 6], [4, 0], [1, 0]]);
        assert_eq!(tree.own, [[0, 0], [0, 0], [0, 5], [3, 0], [2, 0], [0, 6], [4, 0], [1, 0]]);
    }

    #[test]
    fn inverted_the_innermost_is_at_the_root() {
        let tree = tree(&window(&[("a;b", 1), ("c;b", 2)]), None, true);
        assert_eq!(tree.parent, [0, 0, 1, 1]);
        assert_eq!(tree.total, [[3, 0], [3, 0], [1, 0], [2, 0]]);
    }
}
