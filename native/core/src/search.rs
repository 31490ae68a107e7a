//! Text that is looked for in the names of functions, processes and threads.

use regex::bytes::{Regex, RegexBuilder};

use crate::sealed::{Error, Sealed};

/// Patterns come from a page: a larger one is refused, so that none can take long over many names.
const MOST_PATTERN_BYTES: usize = 1 << 16;
const MOST_CACHE_BYTES: usize = 1 << 20;
const MOST_NESTED: u32 = 50;

/// A text, or a regular expression.
#[derive(Debug, Clone)]
pub struct Search(Regex);

impl Search {
    /// A text in upper or lower case, or a regular expression. Of what lies beyond ASCII, each letter is
    /// itself alone. Err: it is no expression, or too large; the message says where.
    pub fn new(text: &str, is_regexp: bool) -> Result<Self, String> {
        let pattern = if is_regexp { text.to_string() } else { regex::escape(text) };
        RegexBuilder::new(&pattern)
            .case_insensitive(!is_regexp)
            .unicode(false)
            .size_limit(MOST_PATTERN_BYTES)
            .dfa_size_limit(MOST_CACHE_BYTES)
            .nest_limit(MOST_NESTED)
            .build()
            .map(Self)
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => "the expression is too large".to_string(),
                other => other.to_string(),
            })
    }

    /// Whether it is in a name.
    pub fn is_in(&self, name: &str) -> bool {
        self.0.is_match(name.as_bytes())
    }
}

/// Where a search has matches in one profile: every name is looked at once, however many samples have it.
#[derive(Debug)]
pub struct Matches {
    tasks: Vec<bool>,
    stacks: Vec<bool>,
}

impl Matches {
    /// Search the names of a profile.
    pub fn of(search: &Search, sealed: &Sealed) -> Result<Self, Error> {
        let names = sealed.names()?;
        let frames: Vec<bool> =
            (0..names.frames() as u32).map(|frame| search.is_in(&names.frame(frame).label())).collect();
        let stacks = names.stacks.iter().map(|stack| stack.iter().any(|&frame| frames[frame as usize]));
        let tasks = sealed.tasks.iter().map(|task| search.is_in(&task.comm) || search.is_in(&task.process));
        Ok(Self { tasks: tasks.collect(), stacks: stacks.collect() })
    }

    /// Whether a sample's process, thread or any of its functions matches.
    pub fn sample(&self, task: i32, stack: i32) -> bool {
        self.tasks[task as usize] || self.stacks[stack as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_in(text: &str, is_regexp: bool, name: &str) -> bool {
        Search::new(text, is_regexp).unwrap().is_in(name)
    }

    #[test]
    fn a_text_is_itself_in_upper_or_lower_case() {
        assert!(is_in("LRU_", false, "mem_cgroup_lru_add"));
        assert!(!is_in("lru.add", false, "lru_add"));
        assert!(is_in("a.b(", false, "call a.B(int)"));
        assert!(is_in("größe", false, "die größe"), "what is not ASCII is found as it is");
        assert!(is_in("", false, "anything"));
    }

    #[test]
    fn an_expression_is_anywhere_in_a_name() {
        assert!(is_in("^mem_.*_add$", true, "mem_cgroup_lru_add"));
        assert!(!is_in("^cgroup", true, "mem_cgroup"));
        assert!(!is_in("LRU", true, "lru_add"), "(?i) asks for both");
        assert!(is_in(r"(?i)LRU|\bdd\b", true, "lru_add"));
    }

    #[test]
    fn a_bad_expression_says_where() {
        let error = Search::new("a(b", true).unwrap_err();
        assert!(error.contains("unclosed group"), "{error}");
    }

    #[test]
    fn a_large_expression_is_refused() {
        assert_eq!(Search::new("(a{1000}){1000}", true).unwrap_err(), "the expression is too large");
        assert!(Search::new(&"(".repeat(100), true).is_err());
        assert!(Search::new(&("(".repeat(100) + &")".repeat(100)), true).is_err());
    }
}
