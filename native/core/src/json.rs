//! JSON that we wrote ourselves, read from beginning to end without making objects of it.
//!
//! Everything returns None at what is not JSON, or not what was asked for.

use std::borrow::Cow;

/// What is left of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Json<'a> {
    rest: &'a [u8],
}

impl<'a> Json<'a> {
    /// Begin at the start of a text.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// The next byte that is no space; it is not stepped over.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some((b' ' | b'\t' | b'\n' | b'\r', rest)) = self.rest.split_first() {
            self.rest = rest;
        }
        self.rest.first().copied()
    }

    /// Step over one byte.
    pub(crate) fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.rest = &self.rest[1..])
    }

    /// Read the elements of an array.
    pub(crate) fn items(&mut self, mut read: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        if self.peek()? == b']' {
            return self.expect(b']');
        }
        loop {
            read(self)?;
            if self.expect(b',').is_none() {
                return self.expect(b']');
            }
        }
    }

    /// Read the members of an object, each after its name.
    pub(crate) fn members(
        &mut self,
        mut read: impl FnMut(&mut Self, Cow<'a, str>) -> Option<()>,
    ) -> Option<()> {
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            return self.expect(b'}');
        }
        loop {
            let name = self.text()?;
            self.expect(b':')?;
            read(self, name)?;
            if self.expect(b',').is_none() {
                return self.expect(b'}');
            }
        }
    }

    /// Read a value that may be `null`.
    pub(crate) fn or_null<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.peek()? == b'n' {
            return (self.word() == b"null").then_some(None);
        }
        read(self).map(Some)
    }

    /// A whole number. Kernel counters are unsigned: what is beyond 64 bits is the largest there is, or the smallest.
    pub(crate) fn integer(&mut self) -> Option<i64> {
        let is_negative = self.peek()? == b'-';
        let digits = &self.rest[usize::from(is_negative)..];
        let length = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
        let (digits, rest) = digits.split_at(length);
        if digits.is_empty() || matches!(rest.first(), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        self.rest = rest;
        let number = digits.iter().fold(0_i64, |number, digit| {
            number.saturating_mul(10).saturating_sub(i64::from(digit - b'0')) // the smallest has no positive
        });
        Some(if is_negative { number } else { number.saturating_neg() })
    }

    /// Any number, as Python writes it: also `NaN` and `-Infinity`.
    pub(crate) fn float(&mut self) -> Option<f64> {
        self.peek()?;
        str::from_utf8(self.word()).ok()?.parse().ok()
    }

    /// Yes or no.
    pub(crate) fn boolean(&mut self) -> Option<bool> {
        self.peek()?;
        match self.word() {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// A text. A name of the kernel need not be UTF-8: what is not is replaced.
    pub(crate) fn text(&mut self) -> Option<Cow<'a, str>> {
        self.expect(b'"')?;
        let mut text = self.plain()?;
        loop {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            if byte == b'"' {
                return Some(text);
            }
            let escaped = self.escaped()?;
            let more = self.plain()?;
            let owned = text.to_mut();
            owned.push(escaped);
            owned.push_str(&more);
        }
    }

    /// Step over a value, however deep it is.
    pub(crate) fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            let byte = self.peek()?;
            match byte {
                b'"' => drop(self.text()?),
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.checked_sub(1)?,
                b',' | b':' if depth > 0 => {}
                _ if self.word().is_empty() => return None,
                _ => {}
            }
            if matches!(byte, b'[' | b'{' | b']' | b'}' | b',' | b':') {
                self.expect(byte)?;
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Letters of a text up to its end or the next backslash.
    fn plain(&mut self) -> Option<Cow<'a, str>> {
        let end = self.rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        let (plain, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(String::from_utf8_lossy(plain))
    }

    /// The letter behind a backslash.
    fn escaped(&mut self) -> Option<char> {
        let (&kind, rest) = self.rest.split_first()?;
        self.rest = rest;
        match kind {
            b'"' | b'\\' | b'/' => Some(char::from(kind)),
            b'b' => Some('\u{8}'),
            b'f' => Some('\u{c}'),
            b'n' => Some('\n'),
            b'r' => Some('\r'),
            b't' => Some('\t'),
            b'u' => self.unicode(),
            _ => None,
        }
    }

    /// The letter of four digits, or of two times four; half of such a pair alone is replaced.
    fn unicode(&mut self) -> Option<char> {
        let first = self.hexadecimal()?;
        if (0xd800..0xdc00).contains(&first) && self.rest.starts_with(b"\\u") {
            let mut ahead = Self { rest: &self.rest[2..] };
            if let Some(second @ 0xdc00..=0xdfff) = ahead.hexadecimal() {
                self.rest = ahead.rest;
                return char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00));
            }
        }
        Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        digits.iter().try_fold(0, |number, &digit| Some(number << 4 | char::from(digit).to_digit(16)?))
    }

    /// A number, or a word such as `true`; empty if there is neither.
    fn word(&mut self) -> &'a [u8] {
        let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let end = self.rest.iter().position(|byte| !is_of_word(byte)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_python_writes_them() {
        let mut json = Json::new(br#" [ -12, 0, 18446744073709551615, -99999999999999999999, null, 5 ]"#);
        let mut numbers = Vec::new();
        json.items(|json| json.or_null(Json::integer).map(|number| numbers.push(number))).unwrap();
        assert_eq!(numbers, [Some(-12), Some(0), Some(i64::MAX), Some(i64::MIN), None, Some(5)]);
        assert_eq!(json.peek(), None);
        for (text, number) in [("0.5", 0.5), ("3", 3.0), ("1e-07", 1e-7), ("-Infinity", f64::NEG_INFINITY)] {
            assert_eq!(Json::new(text.as_bytes()).float(), Some(number));
        }
        assert!(Json::new(b"NaN").float().unwrap().is_nan());
        assert_eq!([Json::new(b"true").boolean(), Json::new(b"false").boolean()], [Some(true), Some(false)]);
    }

    #[test]
    fn texts_have_their_escapes_and_lose_what_is_no_letter() {
        for (text, expected) in [
            (&br#""""#[..], ""),
            (br#""eth0-Tx-Rx-5""#, "eth0-Tx-Rx-5"),
            (br#""a\"\\\/\b\f\n\r\tb\u00e4""#, "a\"\\/\u{8}\u{c}\n\r\tb\u{e4}"),
            (br#""\ud83d\ude00 \udcff \ud83dx \ud83d\u0041""#, "\u{1f600} \u{fffd} \u{fffd}x \u{fffd}A"),
            ("\"größe\"".as_bytes(), "größe"),
            (b"\"a\xffb\"", "a\u{fffd}b"),
        ] {
            assert_eq!(Json::new(text).text().as_deref(), Some(expected));
        }
    }

    #[test]
    fn members_come_with_their_names_and_any_value_can_be_left_out() {
        let mut json = Json::new(br#"{"a":[{"b":"]}"},[],1.5e3,null],"c":7,"d":{}}"#);
        let mut names = Vec::new();
        json.members(|json, name| {
            names.push(name.into_owned());
            json.skip()
        })
        .unwrap();
        assert_eq!((names.join(","), json.peek()), ("a,c,d".to_string(), None));
        let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
        assert!(Json::new(&deep).skip().is_some());
        assert!(Json::new(&deep[..150_000]).skip().is_none());
    }

    #[test]
    fn what_is_not_json_is_refused_wherever_it_is_cut() {
        let whole = br#"{"a":[1,"b\u00e4\n",null,true,[[]]],"c":{}}"#;
        assert!(Json::new(whole).skip().is_some());
        for length in 0..whole.len() {
            assert!(Json::new(&whole[..length]).skip().is_none(), "{length}");
        }
        for text in ["", ",", ":", "]", "}", "\"\\x\"", "\"\\u00g0\"", "?"] {
            assert!(Json::new(text.as_bytes()).skip().is_none(), "{text}");
        }
        for text in ["", "-", "1.5", "1e3", "\"1\"", "true"] {
            assert_eq!(Json::new(text.as_bytes()).integer(), None, "{text}");
        }
        for text in ["[1", "[1,]", "[,1]", "[1 2]", "1"] {
            assert!(Json::new(text.as_bytes()).items(|json| json.integer().map(drop)).is_none(), "{text}");
        }
        assert!(Json::new(b"nil").or_null(Json::integer).is_none());
    }
}
