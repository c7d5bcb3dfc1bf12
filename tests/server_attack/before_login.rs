//! Connections that never log in.

use std::time::{Duration, Instant};

use super::attacker::Way;
use super::cgroup::Cgroup;
use super::scene::{
    Attack, HOSTS, MESSAGES, ONE_HOST, Size, dropped, good_client, is_within, judge, memory,
    move_messages, start, start_in, warmed,
};
use crate::durable_support::Directory;
use crate::server_support::Broker;

/// Octets of memory that one of them may take, on average.
const EACH_MAX: u64 = 16 * 1024;

/// Octets of memory that all of them may take that say as much as they may.
const ALL_MAX: u64 = 64 << 20;

/// Room for all of them.
const MANY: [&str; 2] = ["--max-connections", "20000"];

/// Those that say nothing or stop; gives what it came to, in words.
pub fn quiet(directory: &Directory, size: Size, ways: [Way; 2]) -> Result<String, String> {
    let told = ways.map(|way| one_quiet(directory, size, way));
    Ok(told.into_iter().collect::<Result<Vec<_>, _>>()?.join("; "))
}

/// From all addresses, while the good client moves its messages.
fn one_quiet(directory: &Directory, size: Size, way: Way) -> Result<String, String> {
    let mut broker = start(directory, size, &MANY);
    let before = warmed(&broker)?;
    let attack = Attack::start(&broker, size, (way, size.connections), HOSTS)?;
    attack.held()?;
    let each = memory(&broker)?.most.saturating_sub(before) / size.connections;
    let moved = move_messages(&mut good_client(&broker, "meanwhile")?, "meanwhile");
    let report = attack.report()?;
    let (first, last) = (report.first, report.last);
    let refused = report.refused + dropped(&mut broker);
    let told = format!(
        "{way}: {} connections, {refused} refused, closed after {:.2} to {:.2} s, {each} octets of memory \
         each, {moved} messages moved",
        report.opened,
        first.as_secs_f32(),
        last.as_secs_f32(),
    );
    let is_in_time = !size.is_timed || is_in_time(first, last, size.seconds);
    judge(
        told,
        &[
            (report.opened == size.connections, "not all were made"),
            (refused == 0, "some were refused"),
            (report.closed == size.connections, "not all were closed"),
            (
                is_within(each, EACH_MAX, size.connections),
                "they took too much memory",
            ),
            (
                moved == MESSAGES,
                "the good client did not move its messages",
            ),
            (is_in_time, "they were not closed in time"),
        ],
    )
}

/// Whether all were closed within a second of their time.
pub fn is_in_time(first: Duration, last: Duration, seconds: u64) -> bool {
    let (least, most) = (seconds - 1, seconds + 1);
    first >= Duration::from_secs(least) && last <= Duration::from_secs(most)
}

/// Those that say as much as they may: what few octets make much of is refused, and what may be held is, up to
/// what there is for all.
pub fn largest(directory: &Directory, size: Size) -> Result<String, String> {
    let one = |way| {
        let mut broker = start(directory, size, &MANY);
        one_largest(&mut broker, size, way)
    };
    Ok([one(Way::Largest)?, one(Way::LargestHeld)?].join("; "))
}

/// The same on a broker that may have little memory in all.
pub fn confined(directory: &Directory, size: Size) -> Result<String, String> {
    let mut told = Vec::new();
    for way in [Way::Largest, Way::LargestHeld] {
        let group = match Cgroup::new() {
            Ok(group) => group,
            // A long run has to say all that it is for.
            Err(why) if size.is_timed => return Err(why),
            Err(why) => {
                let told = format!("confined: not tried: {why}");
                println!("server_attack: {told}");
                return Ok(told);
            }
        };
        let mut broker = start_in(&group, directory, size, &MANY);
        let largest = one_largest(&mut broker, size, way)?;
        let (most, [met, ended]) = (group.most()?, group.met()?);
        let one = format!(
            "confined to 512 MiB, {largest}: {:.1} MiB in all at most, as the system counts, the limit met \
             {met} times",
            most as f32 / 1024.0 / 1024.0
        );
        let judged = [
            (ended == 0, "the system ended the broker"),
            (broker.is_running(), "the broker has ended"),
            (met == 0, "it needs more than it may have"),
        ];
        told.push(judge(one, &judged)?);
        drop(broker);
    }
    Ok(told.join("; "))
}

/// One way to say much, to one broker.
fn one_largest(broker: &mut Broker, size: Size, way: Way) -> Result<String, String> {
    let before = warmed(broker)?;
    let attack = Attack::start(broker, size, (way, size.largest), HOSTS)?;
    attack.held()?;
    let moved = move_messages(&mut good_client(broker, "meanwhile")?, "meanwhile");
    let report = attack.report()?;
    let grown = memory(broker)?.most.saturating_sub(before);
    let (faulted, forced) = (report.faulted, report.forced);
    let told = format!(
        "{way}: {} connections, {faulted} told 501, {forced} told 320, {:.1} MiB more memory, {moved} \
         messages moved",
        report.opened,
        grown as f32 / 1024.0 / 1024.0
    );
    let is_refused = match way {
        Way::Largest => faulted == size.largest,
        _ => forced > 0 && faulted == 0,
    };
    let judged = [
        (report.opened == size.largest, "not all were made"),
        (report.closed == size.largest, "not all were closed"),
        (is_refused, "they were not told why"),
        (grown <= ALL_MAX, "they took too much memory"),
        (
            moved == MESSAGES,
            "the good client did not move its messages",
        ),
        (dropped(broker) == 0, "some were dropped without a word"),
    ];
    judge(told, &judged)
}

/// Attacks from the address of the good client, which has to get in always meanwhile.
pub fn from_one_address(directory: &Directory, size: Size) -> Result<String, String> {
    let mut logins = 0;
    for way in [Way::Silent, Way::InsideTheHandshake] {
        let broker = start(directory, size, &[]);
        let mut attack = Attack::start(&broker, size, (way, size.connections), ONE_HOST)?;
        let (started, before) = (Instant::now(), logins);
        while !attack.is_over() {
            if started.elapsed() > attack.patience() {
                return Err("the attack from one address does not end".to_owned());
            }
            let mut client = good_client(&broker, &format!("login {logins}"))?;
            client.sync(0);
            logins += 1;
            // Logins that are counted as those of a person, not as another attack.
            std::thread::sleep(Duration::from_millis(50));
        }
        let report = attack.report()?;
        if report.opened != size.connections || logins == before {
            return Err(format!("{} connections, {logins} logins", report.opened));
        }
    }
    let told = format!(
        "with the default limit, from the address of the attack, {logins} logins, none refused"
    );
    judge(told, &[])
}
