//! A network of this test's own: a namespace with a bridge, where the clients are, and one namespace
//! for each member.
//!
//! ```text
//!   clients, 10.77.0.254  --- bridge --+-- member 1, 10.77.0.1
//!                                      +-- member 2, 10.77.0.2
//!                                      +-- member 3, 10.77.0.3
//! ```

use std::net::SocketAddr;
use std::process::{Command, ExitCode};

/// The port of every member for clients.
pub const PORT: u16 = 5672;

/// The port of every member for the others.
pub const PEER_PORT: u16 = 5673;

/// The port of every member for management, on the loopback of its namespace.
pub const HTTP_PORT: u16 = 15672;

/// In the process that has the namespaces: the number of the one that started it for that. Others that
/// this one starts have namespaces of their own.
const INSIDE: &str = "FERRYMQ_INSIDE_NAMESPACES";

/// Starts this test again in namespaces of its own, which end with it; None when it is there.
pub fn enter() -> Option<ExitCode> {
    let parent = std::os::unix::process::parent_id().to_string();
    if std::env::var(INSIDE).is_ok_and(|started_by| started_by == parent) {
        return None;
    }
    let this = std::env::current_exe().expect("this test");
    let status = Command::new("unshare")
        .args(["--net", "--mount"])
        .arg(this)
        .args(std::env::args().skip(1))
        .env(INSIDE, std::process::id().to_string())
        .status();
    Some(match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            println!("cluster_kills: FAILED: namespaces cannot be made: {error}");
            ExitCode::FAILURE
        }
    })
}

/// The name of a member's namespace.
pub fn namespace(member: usize) -> String {
    format!("member{member}")
}

/// The address of a member, without a port.
pub fn host(member: usize) -> String {
    format!("10.77.0.{member}")
}

/// Where clients reach a member.
pub fn address(member: usize) -> SocketAddr {
    format!("{}:{PORT}", host(member))
        .parse()
        .expect("an address")
}

fn run(line: &str) -> Result<(), String> {
    let mut words = line.split(' ');
    let output = Command::new(words.next().expect("a program"))
        .args(words)
        .output()
        .map_err(|error| format!("{line}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Makes the network for so many members.
///
/// # Errors
/// The right or a program is missing.
pub fn make(members: usize) -> Result<(), String> {
    // Names of namespaces are files, which nobody else is to see.
    run("mkdir -p /run/netns")?;
    run("mount -t tmpfs none /run/netns")?;
    run("ip link set lo up")?;
    run("ip link add bridge0 type bridge")?;
    run("ip addr add 10.77.0.254/24 dev bridge0")?;
    run("ip link set bridge0 up")?;
    for member in 1..=members {
        let (name, host) = (namespace(member), host(member));
        run(&format!("ip netns add {name}"))?;
        run(&format!(
            "ip link add wire{member} type veth peer name eth0 netns {name}"
        ))?;
        run(&format!("ip link set wire{member} master bridge0 up"))?;
        run(&format!("ip -n {name} addr add {host}/24 dev eth0"))?;
        run(&format!("ip -n {name} link set eth0 up"))?;
        run(&format!("ip -n {name} link set lo up"))?;
    }
    Ok(())
}

/// Takes a member off the network, from its clients as well, or puts it back.
pub fn unplug(member: usize, is_off: bool) -> Result<(), String> {
    match is_off {
        true => run(&format!("ip link set wire{member} nomaster")),
        false => run(&format!("ip link set wire{member} master bridge0")),
    }
}

/// Has nothing that a member sends come to another, or all of it again. What they say to each other
/// over one connection ends with it: nothing is acknowledged any more.
pub fn cut(from: usize, to: usize, is_cut: bool) -> Result<(), String> {
    let verb = if is_cut { "add" } else { "del" };
    let (name, host) = (namespace(from), host(to));
    run(&format!("ip -n {name} route {verb} blackhole {host}/32"))
}
