//! Raw stacks, each kept once.

/// `PERF_CONTEXT_HV`, `_USER_DEFERRED`, `_GUEST_KERNEL` and `_GUEST_USER`
const OTHERS: [u64; 4] = [-32_i64 as u64, -640_i64 as u64, -2176_i64 as u64, -2560_i64 as u64];

/// `PERF_CONTEXT_KERNEL`
pub const KERNEL: u64 = -128_i64 as u64;
/// `PERF_CONTEXT_GUEST`
pub const GUEST: u64 = -2048_i64 as u64;
/// `PERF_CONTEXT_USER`
pub const USER: u64 = -512_i64 as u64;

/// Whether a value in a callchain is a marker that says what kind of addresses follow.
///
/// A frame-pointer walk gone astray reads other values of that range as well (-1 above all). perf then drops
/// the whole stack; to us they are frames that lead nowhere.
pub fn is_marker(value: u64) -> bool {
    matches!(value, KERNEL | USER | GUEST) || OTHERS.contains(&value)
}

/// All different stacks, leaf first and with their markers, as the kernel wrote them.
#[derive(Debug)]
pub struct RawStacks {
    values: Vec<u64>,
    ends: Vec<u32>,
    /// Open addressing: stack number + 1, or 0.
    slots: Vec<u32>,
}

impl Default for RawStacks {
    fn default() -> Self {
        Self { values: Vec::new(), ends: Vec::new(), slots: vec![0; 1 << 12] }
    }
}

impl RawStacks {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One stack.
    pub fn get(&self, number: u32) -> &[u64] {
        let index = number as usize;
        let begin = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.values[begin..self.ends[index] as usize]
    }

    /// The number of a stack given as little-endian bytes; new stacks are kept.
    pub fn intern(&mut self, bytes: &[u8]) -> u32 {
        let words =
            || bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        let mask = self.slots.len() - 1;
        let mut slot = hash(words()) as usize & mask;
        loop {
            match self.slots[slot] {
                0 => break,
                found if words().eq(self.get(found - 1).iter().copied()) => return found - 1,
                _ => slot = (slot + 1) & mask,
            }
        }
        self.values.extend(words());
        self.ends.push(self.values.len() as u32);
        let number = self.ends.len() as u32;
        self.slots[slot] = number;
        if self.ends.len() * 2 > self.slots.len() {
            self.grow();
        }
        number - 1
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 4;
        let mut slots = vec![0_u32; size];
        for number in 0..self.ends.len() as u32 {
            let mut slot = hash(self.get(number).iter().copied()) as usize & (size - 1);
            while slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            slots[slot] = number + 1;
        }
        self.slots = slots;
    }
}

/// A quick hash of words: multiply and rotate, as rustc's own does.
fn hash(words: impl Iterator<Item = u64>) -> u64 {
    let mixed =
        words.fold(0_u64, |state, word| (state.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95));
    mixed ^ (mixed >> 29)
}
