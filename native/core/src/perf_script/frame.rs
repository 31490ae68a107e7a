//! A line of a stack: `address symbol+0xoffset (module)`.

use crate::profile::{Frame, FrameKind, FrameTable};

const SLOTS: usize = 1 << 16;
const LONGEST_KEY: usize = 1024;
const UNKNOWN: &[u8] = b"[unknown]";
const NOWHERE: &[u8] = b"[unknown] ([unknown])";

/// Where the upper half of the address space begins.
const KERNEL_HALF: u64 = 0xffff_8000_0000_0000;

/// Names in brackets that perf gives to what is not of the kernel.
const NOT_KERNEL: [&str; 8] =
    ["[vdso", "[vsyscall", "[vvar", "[heap", "[stack", "[anon", "[uprobes", "[unknown"];

/// The address of a stack line, and what follows it; None if it is no stack line.
pub fn split(line: &[u8]) -> Option<(u64, &[u8])> {
    let text = line.trim_ascii_start();
    let digits = text.iter().take(17).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let after = &text[digits..];
    if digits == 0 || digits > 16 || !matches!(after.first(), None | Some(b' ')) {
        return None;
    }
    let address = text[..digits].iter().fold(0, |value, &byte| value << 4 | u64::from(nibble(byte)));
    Some((address, after.trim_ascii()))
}

fn nibble(byte: u8) -> u8 {
    if byte.is_ascii_digit() { byte - b'0' } else { (byte | 0x20) - b'a' + 10 }
}

/// Frames, with a cache of fixed size before them: most lines were seen shortly before. Whatever the file
/// says, a clash costs one look-up more and no memory.
pub struct Frames {
    /// The frames.
    pub table: FrameTable,
    /// Bytes that their texts take, about.
    pub bytes: usize,
    slots: Vec<Slot>,
}

#[derive(Default, Clone)]
struct Slot {
    /// Symbol and module, without the offset that stood between them.
    text: Box<[u8]>,
    /// Bytes of it before the offset.
    symbol: usize,
    /// The address, where it matters: for what has no name.
    address: u64,
    frame: u32,
}

impl Slot {
    fn is(&self, symbol: &[u8], module: &[u8], address: u64) -> bool {
        self.address == address
            && self.symbol == symbol.len()
            && self.text.len() == symbol.len() + module.len()
            && self.text[..symbol.len()] == *symbol
            && self.text[symbol.len()..] == *module
    }
}

/// What a stack line stands for.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Found {
    /// A frame, by number.
    Frame(u32),
    /// A function that was inlined into the next one outwards: the same line has to be asked for again
    /// with that one's frame.
    Inlined,
}

impl Default for Frames {
    fn default() -> Self {
        Self { table: FrameTable::default(), bytes: 0, slots: vec![Slot::default(); SLOTS] }
    }
}

impl Frames {
    /// The frame of a stack line that `split` took apart.
    pub fn find(&mut self, address: u64, text: &[u8]) -> Found {
        if text.ends_with(b" (inlined)") {
            return Found::Inlined;
        }
        if !text.ends_with(b")") || text.len() > LONGEST_KEY {
            return Found::Frame(self.intern(&parse(address, text)));
        }
        // One function has many offsets: they are left out, so that all its lines share a slot.
        let (symbol, module) = around_offset(text);
        let key = if text.starts_with(UNKNOWN) && text != NOWHERE { address } else { 0 };
        let place = slot_of(symbol, module, key);
        if self.slots[place].is(symbol, module, key) {
            return Found::Frame(self.slots[place].frame);
        }
        let frame = self.intern(&parse(address, text));
        let text = [symbol, module].concat().into();
        self.slots[place] = Slot { text, symbol: symbol.len(), address: key, frame };
        Found::Frame(frame)
    }

    /// A function that was inlined into `outer`.
    pub fn inlined(&mut self, text: &[u8], outer: Option<u32>) -> u32 {
        let symbol = text.strip_suffix(b" (inlined)").unwrap_or(text);
        let mut frame = match outer {
            Some(outer) => self.table.rows[outer as usize].clone(),
            None => unnamed("", 0, FrameKind::User),
        };
        frame.name = name_of(without_offset(symbol));
        frame.offset = 0;
        self.intern(&frame)
    }

    fn intern(&mut self, frame: &Frame) -> u32 {
        let before = self.table.rows.len();
        let number = self.table.intern(frame);
        if self.table.rows.len() > before {
            // Kept as a row and as a key.
            self.bytes += 2 * (size_of::<Frame>() + frame.name.len() + frame.module.len());
        }
        number
    }
}

/// What is before and after `+0x12` where the last parenthesis opens behind it; else all, and nothing.
fn around_offset(text: &[u8]) -> (&[u8], &[u8]) {
    let open = text.iter().rposition(|&byte| byte == b'(').unwrap_or(0);
    let before = text[..open].strip_suffix(b" ").and_then(split_offset);
    before.map_or((text, &[]), |(symbol, _)| (symbol, &text[open..]))
}

fn slot_of(symbol: &[u8], module: &[u8], address: u64) -> usize {
    const FACTOR: u64 = 0x517c_c1b7_2722_0a95;
    let mix =
        |hash: u64, word: [u8; 8]| (hash.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
    let mut hash = address ^ symbol.len() as u64;
    for part in [symbol, module] {
        let (words, rest) = part.as_chunks::<8>();
        hash = words.iter().fold(hash, |hash, &word| mix(hash, word));
        // The last bytes once more is quicker than filling up a word.
        let last = part.last_chunk::<8>().copied().unwrap_or_else(|| filled(rest));
        hash = mix(hash, last);
    }
    (hash >> 48) as usize % SLOTS
}

fn filled(bytes: &[u8]) -> [u8; 8] {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    word
}

/// A frame by the text of its line.
fn parse(address: u64, text: &[u8]) -> Frame {
    if text.is_empty() || text == UNKNOWN {
        return unnamed("", 0, FrameKind::Unknown);
    }
    let Some((symbol, module)) = split_module(text) else {
        // perf found a name, so the address is a real one, and its half tells whose.
        let kind = if address >= KERNEL_HALF { FrameKind::Kernel } else { FrameKind::User };
        return Frame { name: name_of(without_offset(text)), ..unnamed("", 0, kind) };
    };
    let (module, offset) = match split_offset(module) {
        Some((module, offset)) => (module, offset),
        None => (module, address),
    };
    let (module, kind) = module_of(&String::from_utf8_lossy(module));
    match (symbol == UNKNOWN || symbol.is_empty(), module.as_str()) {
        (true, "") => unnamed("", 0, FrameKind::Unknown),
        (true, module) => unnamed(module, offset, kind),
        // As the importer of perf.data has it: the name of a perf map says no more than the process.
        (false, _) if kind == FrameKind::Jit => {
            Frame { name: name_of(without_offset(symbol)), ..unnamed("[jit]", 0, kind) }
        }
        (false, module) => Frame { name: name_of(without_offset(symbol)), ..unnamed(module, 0, kind) },
    }
}

fn unnamed(module: &str, offset: u64, kind: FrameKind) -> Frame {
    Frame { name: String::new(), module: module.to_string(), offset, kind }
}

fn name_of(symbol: &[u8]) -> String {
    String::from_utf8_lossy(symbol).into_owned()
}

/// The symbol, and what is in the last parentheses. Both may hold spaces and parentheses.
fn split_module(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = text.strip_suffix(b")")?;
    let at = |open: usize| (&text[..open.saturating_sub(1)], &inside[open + 1..]);
    if text.starts_with(b"[unknown] (") {
        return Some(at(UNKNOWN.len() + 1));
    }
    if let Some(open) = after_offset(inside) {
        return Some(at(open));
    }
    let mut depth = 1;
    for (place, &byte) in inside.iter().enumerate().rev() {
        depth += i32::from(byte == b')') - i32::from(byte == b'(');
        if depth == 0 {
            // `foo(int)` with no module behind it has no space before it.
            let begins = place == 0 || inside[place - 1] == b' ';
            return begins.then(|| at(place));
        }
    }
    // A path with a lone parenthesis.
    let open = inside.windows(2).rposition(|pair| pair == b" (")? + 1;
    Some(at(open))
}

/// Where a parenthesis opens right after `+0x12 `.
fn after_offset(inside: &[u8]) -> Option<usize> {
    let mut end = inside.len();
    while let Some(open) = inside[..end].windows(2).rposition(|pair| pair == b" (") {
        if split_offset(&inside[..open]).is_some() {
            return Some(open + 1);
        }
        end = open + 1;
    }
    None
}

/// What is before `+0x12` at the end, and the number.
fn split_offset(text: &[u8]) -> Option<(&[u8], u64)> {
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let before = text[..text.len() - digits].strip_suffix(b"+0x")?;
    if digits == 0 || digits > 16 {
        return None;
    }
    let offset = text[text.len() - digits..].iter().fold(0, |value, &b| value << 4 | u64::from(nibble(b)));
    Some((before, offset))
}

fn without_offset(symbol: &[u8]) -> &[u8] {
    split_offset(symbol).map_or(symbol, |(name, _)| name)
}

/// A module under the name that all importers use, and what kind of code is in it.
pub fn module_of(module: &str) -> (String, FrameKind) {
    let file = module.strip_suffix(" (deleted)").unwrap_or(module).rsplit('/').next().unwrap_or(module);
    if module == "[unknown]" {
        return (String::new(), FrameKind::User);
    }
    let kernel = module == "[kernel]" || module.starts_with("[kernel.");
    if kernel || file == "vmlinux" || file.starts_with("vmlinux-") {
        return ("[kernel]".to_string(), FrameKind::Kernel);
    }
    // perf names modules by their files when it reads symbols from them.
    if let Some((stem, ending)) = file.rsplit_once(".ko")
        && matches!(ending, "" | ".gz" | ".xz" | ".zst" | ".debug")
    {
        return (format!("[{}]", stem.replace('-', "_")), FrameKind::Kernel);
    }
    let bracketed = module.starts_with('[') && !NOT_KERNEL.iter().any(|name| module.starts_with(name));
    if bracketed || module.starts_with("bpf_prog_") {
        return (module.to_string(), FrameKind::Kernel);
    }
    let jit = file.strip_prefix("perf-").and_then(|name| name.strip_suffix(".map"));
    let jit = jit.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()));
    (module.to_string(), if jit { FrameKind::Jit } else { FrameKind::User })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(line: &str) -> (String, String, u64, FrameKind) {
        let (address, text) = split(line.as_bytes()).unwrap_or_else(|| panic!("no frame: {line}"));
        let frame = parse(address, text);
        (frame.name, frame.module, frame.offset, frame.kind)
    }

    fn named(name: &str, module: &str, kind: FrameKind) -> (String, String, u64, FrameKind) {
        (name.to_string(), module.to_string(), 0, kind)
    }

    #[test]
    fn kernel_modules_and_programs() {
        use FrameKind::{Jit, Kernel, User};
        for (line, expected) in [
            ("\tffffffff81000000 do_idle+0x12 ([kernel.kallsyms])", named("do_idle", "[kernel]", Kernel)),
            (
                "\tffffffff81000000 do_idle (/usr/lib/debug/boot/vmlinux-6.1)",
                named("do_idle", "[kernel]", Kernel),
            ),
            ("\tffffffffc0000000 ena_poll+0x1 ([ena])", named("ena_poll", "[ena]", Kernel)),
            (
                "\tffffffffc0000000 x ([guest.kernel.kallsyms.12])",
                named("x", "[guest.kernel.kallsyms.12]", Kernel),
            ),
            (
                "\tffffffffc0000000 x+0x1 (/lib/modules/6.1/kernel/net/nf-x.ko.xz)",
                named("x", "[nf_x]", Kernel),
            ),
            (
                "\tffffffffc0000000 bpf_prog_1_a+0x1 (bpf_prog_1_a)",
                named("bpf_prog_1_a", "bpf_prog_1_a", Kernel),
            ),
            ("\t7ffc00000000 __vdso_gettimeofday+0x1 ([vdso])", named("__vdso_gettimeofday", "[vdso]", User)),
            ("\t7ffc0000 x ([stack])", named("x", "[stack]", User)),
            ("\t7ffc0000 x ([anon:glibc: malloc])", named("x", "[anon:glibc: malloc]", User)),
            ("\t5555 main+0x1f (/usr/bin/a)", named("main", "/usr/bin/a", User)),
            ("\t5555 py::f:/a.py (/tmp/perf-12.map)", named("py::f:/a.py", "[jit]", Jit)),
            ("\t5555 x (/tmp/perf-a.map)", named("x", "/tmp/perf-a.map", User)),
        ] {
            assert_eq!(frame(line), expected, "{line}");
        }
    }

    #[test]
    fn names_and_paths_with_spaces_and_parentheses() {
        use FrameKind::User;
        for (line, name, module) in [
            (
                "\t1 foo(int, char (*)(int)) const+0x5 (/usr/lib/x.so)",
                "foo(int, char (*)(int)) const",
                "/usr/lib/x.so",
            ),
            ("\t1 foo(int) (/usr/lib/x.so)", "foo(int)", "/usr/lib/x.so"),
            ("\t1 (anonymous namespace)::f() (/a b/c (1).so)", "(anonymous namespace)::f()", "/a b/c (1).so"),
            ("\t1 operator() (a)+0x1 (/x y/z)", "operator() (a)", "/x y/z"),
            ("\t1 f (/tmp/x (deleted))", "f", "/tmp/x (deleted)"),
            ("\t1 f+0x1 (/tmp/x (deleted))", "f", "/tmp/x (deleted)"),
            ("\t1 f (/tmp/a)b)", "f", "/tmp/a)b"),
            ("\t1 f(int)", "f(int)", ""),
            ("\t1 f+0x12", "f", ""),
            ("\t1 a+0xzz (/x)", "a+0xzz", "/x"),
            ("\t1 f+0x1 (/usr/lib/x.so+0x1234)", "f", "/usr/lib/x.so"),
        ] {
            assert_eq!(frame(line), named(name, module, User), "{line}");
        }
    }

    #[test]
    fn what_has_no_name_keeps_module_and_address() {
        let nowhere = named("", "", FrameKind::Unknown);
        assert_eq!(frame("\t74656e5f6168706c [unknown] ([unknown])"), nowhere);
        assert_eq!(frame("\t1234"), nowhere);
        assert_eq!(frame("\t1234 [unknown]"), nowhere);
        let program = frame("\t            b81b [unknown] (/usr/bin/a (deleted))");
        assert_eq!(program, (String::new(), "/usr/bin/a (deleted)".into(), 0xb81b, FrameKind::User));
        let kernel = frame("\tffffffff81000001 [unknown] ([kernel.kallsyms])");
        assert_eq!(kernel, (String::new(), "[kernel]".into(), 0xffff_ffff_8100_0001, FrameKind::Kernel));
        assert_eq!(
            frame("\t9 [unknown] (/x.so+0x77)"),
            (String::new(), "/x.so".into(), 0x77, FrameKind::User)
        );
    }

    #[test]
    fn without_a_module_the_half_of_the_address_tells_the_kernel() {
        assert_eq!(frame("\tffffffff81000001 do_idle"), named("do_idle", "", FrameKind::Kernel));
        assert_eq!(frame("\t401000 main"), named("main", "", FrameKind::User));
    }

    #[test]
    fn other_lines_are_no_frames() {
        for line in ["", "\t", "\tfoo.c:12", "\t12345678901234567 x (y)", "  zz"] {
            assert!(split(line.as_bytes()).is_none(), "{line}");
        }
    }

    #[test]
    fn a_clash_in_the_cache_gives_no_wrong_frame() {
        let mut frames = Frames::default();
        let mut check = |round: usize| {
            for index in 0..200_000_usize {
                let text = format!("f{index}+0x{round} (/x)");
                let Found::Frame(frame) = frames.find(1, text.as_bytes()) else { panic!("not inlined") };
                assert_eq!(frame as usize, index, "round {round}");
            }
        };
        check(0);
        check(1);
    }
}
