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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_meminfo() {
        let text = "MemTotal:       24689764 kB\nMemFree:        1 kB\n";
        assert_eq!(total_of(text), Some(24_689_764 * 1024));
        assert_eq!(total_of("MemFree: 1 kB\n"), None);
        assert_eq!(total_of("MemTotal: much\n"), None);
    }
}
