//! Connections that log in and then say nothing: they may be there for as long as they like, and cost little.

use super::attacker::Way;
use super::scene::{
    Attack, HOSTS, MESSAGES, Size, good_client, is_within, judge, memory, move_messages, start,
    warmed,
};
use crate::durable_support::Directory;

/// Octets of memory that one of them may take, on average.
const EACH_MAX: u64 = 48 * 1024;

/// All of them, while the good client moves its messages.
pub fn idle(directory: &Directory, size: Size) -> Result<String, String> {
    let broker = start(directory, size, &["--max-connections", "20000"]);
    let before = warmed(&broker)?;
    let way = Way::LoggedIn;
    let mut attack = Attack::start(&broker, size, (way, size.connections), HOSTS)?;
    attack.held()?;
    let each = memory(&broker)?.most.saturating_sub(before) / size.connections;
    let moved = move_messages(&mut good_client(&broker, "meanwhile")?, "meanwhile");
    // Longer than a client has that does not log in.
    std::thread::sleep(std::time::Duration::from_secs(size.seconds + 2));
    let report = attack.end()?;
    let told = format!(
        "{way}: {} connections, {} refused, {} closed, {each} octets of memory each, {moved} messages moved",
        report.opened, report.refused, report.closed
    );
    judge(
        told,
        &[
            (report.opened == size.connections, "some were refused"),
            (report.left == size.connections, "some were closed"),
            (
                is_within(each, EACH_MAX, size.connections),
                "they took too much memory",
            ),
            (
                moved == MESSAGES,
                "the good client did not move its messages",
            ),
        ],
    )
}
