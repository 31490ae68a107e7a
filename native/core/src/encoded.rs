//! A window as bytes, to be sent from the machine that counted to the one that puts together.
//!
//! A mark, then, compressed: samples, idle, unknown; frames; stacks, each with its count. Numbers are in groups
//! of seven bits. It is not a file format: both ends are of the same version.

use std::io::Read;

use crate::profile::{Frame, FrameKind};
use crate::seal::ZSTD_LEVEL;
use crate::window::Window;

const MARK: &[u8; 4] = b"nws1";
/// What some bytes may become: more is not believed.
const MOST_BYTES: u64 = 4 << 30;

/// The bytes of a window.
pub fn encode(window: &Window) -> Vec<u8> {
    let mut bytes = Vec::new();
    [window.samples, window.idle, window.unknown].iter().for_each(|&total| put(&mut bytes, total));
    put(&mut bytes, window.frames.rows.len() as u64);
    for frame in &window.frames.rows {
        put_text(&mut bytes, &frame.name);
        put_text(&mut bytes, &frame.module);
        put(&mut bytes, frame.offset);
        put_text(&mut bytes, frame.kind.word());
    }
    put(&mut bytes, window.counts.len() as u64);
    for (stack, &count) in window.stacks.rows().iter().zip(&window.counts) {
        put(&mut bytes, count);
        put(&mut bytes, stack.len() as u64);
        stack.iter().for_each(|&frame| put(&mut bytes, u64::from(frame)));
    }
    let mut whole = MARK.to_vec();
    whole.extend(zstd::bulk::compress(&bytes, ZSTD_LEVEL).unwrap_or_default()); // memory cannot fail to be written
    whole
}

/// The window of some bytes; None: they are not of one.
pub fn decode(whole: &[u8]) -> Option<Window> {
    let compressed = whole.strip_prefix(MARK)?;
    let mut bytes = Vec::new();
    zstd::Decoder::new(compressed).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    let mut rest = bytes.as_slice();
    let mut window = Window::default();
    (window.samples, window.idle, window.unknown) = (take(&mut rest)?, take(&mut rest)?, take(&mut rest)?);
    for _ in 0..take(&mut rest)? {
        let (name, module, offset) = (take_text(&mut rest)?, take_text(&mut rest)?, take(&mut rest)?);
        let kind = FrameKind::of_word(&take_text(&mut rest)?);
        window.frames.intern(&Frame { name, module, offset, kind });
    }
    let mut stack = Vec::new();
    for _ in 0..take(&mut rest)? {
        let count = take(&mut rest)?;
        stack.clear();
        for _ in 0..take(&mut rest)? {
            let frame = u32::try_from(take(&mut rest)?).ok()?;
            window.frames.rows.get(frame as usize)?;
            stack.push(frame);
        }
        window.count(&stack, count);
    }
    rest.is_empty().then_some(window)
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(take(rest)?).ok()?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merged::put_together;

    fn window(stacks: &[(&str, u64)]) -> Window {
        let mut window = Window::default();
        for (names, count) in stacks {
            let frame = |name: &str| Frame {
                name: name.into(),
                module: format!("/lib/{name}.so"),
                offset: 0,
                kind: FrameKind::User,
            };
            let stack: Vec<u32> = names.split(';').map(|name| window.frames.intern(&frame(name))).collect();
            window.count(&stack, *count);
            window.samples += count;
        }
        window
    }

    #[test]
    fn a_window_comes_back() {
        let before = window(&[("b;z", 1), ("b", 200), ("ä;y", 1 << 60)]);
        let after = decode(&encode(&before)).unwrap();
        assert_eq!(before.folded(), after.folded());
        assert_eq!(before.samples, after.samples);
        assert_eq!(before.frames.rows, after.frames.rows);
    }

    #[test]
    fn damage_is_nothing() {
        let whole = encode(&window(&[("b;z", 1), ("b", 200)]));
        for length in 0..whole.len() {
            assert!(decode(&whole[..length]).is_none(), "{length}");
        }
        assert!(decode(b"other").is_none());
    }

    #[test]
    fn the_order_of_parts_does_not_matter() {
        let parts =
            || [window(&[("b;z", 1), ("a;y", 3)]), window(&[("a;y", 5), ("c", 1)]), Window::default()];
        let [one, two, three] = parts();
        let there = encode(&put_together(&[one, two, three]));
        let [one, two, three] = parts();
        let back = encode(&put_together(&[put_together(&[three, two]), one]));
        assert_eq!(there, back);
        let folded = decode(&there).unwrap().folded();
        let named: Vec<(String, u64)> = folded.into_iter().map(|(names, n)| (names.join(";"), n)).collect();
        assert_eq!(named, [("a;y".into(), 8), ("b;z".into(), 1), ("c".into(), 1)]);
    }
}
