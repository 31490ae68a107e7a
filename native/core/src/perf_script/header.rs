//! The lines that `perf script --header` puts first: `# hostname : vm`.

use super::head::{decimal, nanoseconds};
use crate::perf_data::{ClockData, Origin};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// What the header says of the machine and its clock.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The machine.
    pub origin: Origin,
    /// When the perf.data file was last written, as `2026-11-15T17:17:52`: local time of the machine that
    /// ran `perf script`, whose zone is not said. Empty where unknown.
    pub captured_on: String,
    /// The clock, where the header ties it to the time of day.
    pub clock: Option<ClockData>,
    clock_id: Option<u32>,
}

impl Header {
    /// Take in one line that begins with `#`.
    pub fn read(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let Some((key, value)) = text.trim_start_matches('#').split_once(':') else { return };
        let value = value.trim();
        match key.trim() {
            "hostname" => self.origin.hostname = value.to_string(),
            "os release" => self.origin.release = value.to_string(),
            "perf version" => self.origin.version = value.to_string(),
            "nrcpus online" => self.origin.cores_online = value.parse().unwrap_or(0),
            "nrcpus avail" => self.origin.cores_available = value.parse().unwrap_or(0),
            "cmdline" => self.origin.command = value.split_whitespace().map(str::to_string).collect(),
            "captured on" => self.captured_on = parse_ctime(value).unwrap_or_default(),
            "clockid" => self.clock_id = parse_clock_id(value),
            "reference time" => self.clock = self.parse_reference(value),
            _ => {}
        }
    }

    /// `2026-11-15 17:21:11.373721 = 1794763271.373721 (TOD) = 6372.351229525 (monotonic)`
    fn parse_reference(&self, value: &str) -> Option<ClockData> {
        let mut parts = value.split(" = ").skip(1);
        let mut part = || nanoseconds(parts.next()?.split(' ').next()?.as_bytes()).map(i64::cast_unsigned);
        Some(ClockData { wall_ns: part()?, clock_ns: part()?, clock_id: self.clock_id? })
    }
}

/// `monotonic (1)`
fn parse_clock_id(value: &str) -> Option<u32> {
    let digits = value.rsplit_once('(')?.1.strip_suffix(')')?;
    decimal(digits.as_bytes())?.try_into().ok()
}

/// `Sun Nov 15 17:17:52 2026`
fn parse_ctime(value: &str) -> Option<String> {
    let words: Vec<&str> = value.split_whitespace().collect();
    let [_, month, day, clock, year] = words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let day: u8 = day.parse().ok()?;
    let year: u16 = year.parse().ok()?;
    let fields: Vec<u8> = clock.split(':').map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = fields[..] else { return None };
    Some(format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_time_and_clock() {
        let mut header = Header::default();
        for line in [
            "# ========",
            "# captured on    : Sun Nov  1 07:17:52 2026",
            "# hostname : vm",
            "# os release : 6.18.44-fc-v490",
            "# perf version : 6.1.187",
            "# nrcpus online : 2",
            "# cmdline : /usr/bin/perf record -a ",
            "# clockid frequency: 1000 MHz",
            "# clockid: monotonic (1)",
            "# reference time: 2026-11-15 17:21:11.373721 = 1794763271.373721 (TOD) = 6372.351229525 (monotonic)",
        ] {
            header.read(line.as_bytes());
        }
        assert_eq!(header.captured_on, "2026-11-01T07:17:52");
        assert_eq!(header.origin.hostname, "vm");
        assert_eq!(header.origin.release, "6.18.44-fc-v490");
        assert_eq!((header.origin.cores_online, header.origin.command.len()), (2, 3));
        let clock =
            ClockData { clock_id: 1, wall_ns: 1_794_763_271_373_721_000, clock_ns: 6_372_351_229_525 };
        assert_eq!(header.clock, Some(clock));
    }

    #[test]
    fn nonsense_is_left_out() {
        let mut header = Header::default();
        for line in [
            "#",
            "# captured on : yesterday",
            "# clockid: x",
            "# reference time: a = b = c",
            "# nrcpus online : -",
        ] {
            header.read(line.as_bytes());
        }
        assert_eq!(header, Header::default());
    }
}
