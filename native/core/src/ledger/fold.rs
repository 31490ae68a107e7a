//! Paths that differ in numbers and hashes only, made into one pattern.

const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
const SHORTEST_HASH: usize = 8;

/// Write the pattern of a path: `#` for every number, UUID and hash, which are written to `parts`, each
/// with a zero behind it. `unfold` is the way back.
///
/// The name of a service keeps its numbers (`php7.4-fpm.service`), but not those of an instance after
/// `@`, nor those of `systemd-run` (`run-u17.service`).
pub fn fold(path: &[u8], pattern: &mut Vec<u8>, parts: &mut Vec<u8>) {
    pattern.clear();
    parts.clear();
    for (place, segment) in path.split(|&byte| byte == b'/').enumerate() {
        if place > 0 {
            pattern.push(b'/');
        }
        let is_named = segment.ends_with(b".service") && !segment.starts_with(b"run-");
        let name = segment.iter().position(|&byte| byte == b'@').unwrap_or(segment.len());
        fold_segment(segment, if is_named { name } else { 0 }, pattern, parts);
    }
}

/// Digits before `numbers_from` are kept.
fn fold_segment(segment: &[u8], numbers_from: usize, pattern: &mut Vec<u8>, parts: &mut Vec<u8>) {
    let mut at = 0;
    while at < segment.len() {
        let run = hex_run(&segment[at..]);
        // `pod8a1f...` begins with a hexadecimal digit that is none of its UUID.
        let lead = run.saturating_sub(UUID_GROUPS[0]);
        let digits = segment[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let length = if let Some(length) = uuid(&segment[at + lead..]) {
            pattern.extend(&segment[at..at + lead]);
            at += lead;
            length
        } else if run >= SHORTEST_HASH && segment[at..at + run].iter().any(u8::is_ascii_digit) {
            run
        } else if digits > 0 && at >= numbers_from {
            digits
        } else if segment[at] == b'#' {
            1
        } else {
            // Past the whole run, or its rest would be looked at again and be taken for a number.
            let kept = if at >= numbers_from { 1 } else { run.max(1) };
            pattern.extend(&segment[at..at + kept]);
            at += kept;
            continue;
        };
        pattern.push(b'#');
        parts.extend(&segment[at..at + length]);
        parts.push(0);
        at += length;
    }
}

fn hex_run(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count()
}

/// The length of the UUID at the beginning; systemd writes it with underscores.
fn uuid(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    for (group, &length) in UUID_GROUPS.iter().enumerate() {
        if group > 0 {
            (matches!(text.get(at), Some(b'-' | b'_'))).then_some(())?;
            at += 1;
        }
        (hex_run(&text[at..]) == length).then_some(())?;
        at += length;
    }
    Some(at)
}

/// The path that was folded.
pub fn unfold(pattern: &[u8], parts: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(pattern.len() + parts.len());
    let mut parts = parts.split(|&byte| byte == 0);
    for &byte in pattern {
        match byte {
            b'#' => path.extend(parts.next().filter(|part| !part.is_empty()).unwrap_or(b"#")),
            _ => path.push(byte),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_uuids_and_hashes() {
        let hash = "0b5c".repeat(16);
        for (path, pattern) in [
            ("/", "/"),
            ("/system.slice/ecs.service", "/system.slice/ecs.service"),
            ("/lab-17/1023", "/lab-#/#"),
            (&format!("/docker/{hash}"), "/docker/#"),
            (
                &format!(
                    "/kubepods.slice/kubepods-pod8a1f0c2e_0001_4000_8000_00000000000d.slice/cri-{hash}.scope"
                ),
                "/kubepods.slice/kubepods-pod#.slice/cri-#.scope",
            ),
            ("/kubepods/pod12345678-0001-4000-8000-00000000000d/a", "/kubepods/pod#/a"),
            ("/system.slice/php7.4-fpm.service/2", "/system.slice/php7.4-fpm.service/#"),
            (
                "/user.slice/user-1000.slice/user@1000.service/app",
                "/user.slice/user-#.slice/user@#.service/app",
            ),
            ("/system.slice/run-u17.service", "/system.slice/run-u#.service"),
            ("/system.slice/run-r0b5c0b5c0b5c.service", "/system.slice/run-r#.service"),
            ("/facade/decade/deadbeef", "/facade/decade/deadbeef"),
            ("/a#b", "/a#b"),
            ("/init.scope", "/init.scope"),
        ] {
            let (mut folded, mut parts) = (Vec::new(), Vec::new());
            fold(path.as_bytes(), &mut folded, &mut parts);
            assert_eq!(String::from_utf8_lossy(&folded), pattern);
            assert_eq!(String::from_utf8_lossy(&unfold(&folded, &parts)), path);
        }
    }

    #[test]
    fn without_its_parts_a_path_is_its_pattern() {
        assert_eq!(unfold(b"/a-#/#", b""), b"/a-#/#");
    }
}
