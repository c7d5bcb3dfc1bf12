//! How much memory this machine lets a broker have.

use std::fs;

/// The part of the memory that messages may take unless said otherwise, in percent: what is left is
/// for connections, headers, the journal's buffers, and the system's cache of the journal.
const SHARE_PERCENT: u64 = 40;

/// When the machine does not say how much memory it has.
const UNKNOWN_BYTES: u64 = 1024 * 1024 * 1024;

/// Octets of messages that are kept in memory unless said otherwise: a share of the machine's
/// memory, or of what its control group may have.
pub fn default_limit() -> u64 {
    let total = fs::read_to_string("/proc/meminfo").ok();
    let total = total.as_deref().and_then(total_of);
    let group = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let group = group.iter().find_map(|path| {
        let text = fs::read_to_string(path).ok()?;
        text.trim().parse().ok()
    });
    let most = total.into_iter().chain(group).min();
    most.unwrap_or(UNKNOWN_BYTES) / 100 * SHARE_PERCENT
}

/// `MemTotal` of `/proc/meminfo`, in octets.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Octets of this process's heap, as the system counts them; None where it does not say.
pub fn heap_bytes() -> Option<u64> {
    heap_of(&fs::read_to_string("/proc/self/maps").ok()?)
}

/// The length of the region called `[heap]` in `/proc/self/maps`.
fn heap_of(maps: &str) -> Option<u64> {
    let line = maps.lines().find(|line| line.ends_with(" [heap]"))?;
    let (from, to) = line.split_whitespace().next()?.split_once('-')?;
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    number(to)?.checked_sub(number(from)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heap_is_the_region_of_that_name() {
        let text = "55d0-55e0 r-xp 00000000 fd:01 17   ferrymq\n\
                    7000-9000 rw-p 00000000 00:00 0    [heap]\n\
                    f000-ffff rw-p 00000000 00:00 0    [stack]\n";
        assert_eq!(heap_of(text), Some(0x2000));
        assert_eq!(heap_of("7000-9000 rw-p 00000000 00:00 0\n"), None);
        assert_eq!(heap_of("9000-7000 rw-p 00000000 00:00 0 [heap]\n"), None);
    }

    #[test]
    fn the_total_is_read_from_meminfo() {
        let text = "MemTotal:       24689764 kB\nMemFree:        1 kB\n";
        assert_eq!(total_of(text), Some(24_689_764 * 1024));
        assert_eq!(total_of("MemFree: 1 kB\n"), None);
        assert_eq!(total_of("MemTotal: much\n"), None);
    }
}
