//! What is read again when the broker is told to (SIGHUP), without a connection noticing.

use std::sync::Arc;

use tokio::signal::unix::Signal;

use super::driver::Shared;
use super::log::notice;

/// Reads files again whenever the signal comes. What is wrong with them is logged, and what was in force
/// stays so.
pub async fn run(signal: Option<Signal>, shared: Arc<Shared>) {
    let Some(mut signal) = signal else {
        return;
    };
    while signal.recv().await.is_some() {
        // Err: the log says so.
        let _ = rights(&shared);
        reload_tls(&shared);
        if let Some(users) = &shared.sasl.users {
            users.users();
        }
    }
}

/// Reads the ACL file again, if there is one, and logs what came of it. A large file takes a while:
/// other tasks of the thread go on elsewhere meanwhile.
///
/// # Errors
/// It cannot be read, or is wrong. The rules that were in force stay so.
pub fn rights(shared: &Shared) -> Result<(), String> {
    let acl = &shared.rights.acl;
    let read = tokio::task::block_in_place(|| acl.reload());
    match (&read, &acl.settings().file) {
        (Ok(()), None) => {}
        (Ok(()), Some(file)) => notice!("Security", "ACL: Read file \"{}\"", file.display()),
        (Err(why), _) => tracing::error!(
            target: "Security",
            "the ACL file is not taken, the rules that were in force stay so: {why}"
        ),
    }
    read
}

fn reload_tls(shared: &Shared) {
    let Some(tls) = &shared.tls else {
        return;
    };
    match tls.reload() {
        Ok(()) => notice!("Security", "Certificates are read again"),
        Err(why) => tracing::error!(
            target: "Security",
            "the certificates are not taken, those that were in force stay so: {why}"
        ),
    }
}
