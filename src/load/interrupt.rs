//! What happens when the tool is told to stop: what it declared is taken away again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::signal::unix::{SignalKind, signal};

/// Whether the tool has been told to stop.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// The status of a process that a signal has ended, as a shell tells it: 128 and the number.
const INTERRUPTED: i32 = 130;

/// From now on SIGINT and SIGTERM only say so, and the second ends the process at once.
///
/// # Errors
/// The system gives no thread.
pub(super) fn listen() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let listening = move || {
        runtime.block_on(async {
            let signals = (
                signal(SignalKind::interrupt()),
                signal(SignalKind::terminate()),
            );
            // Else they end the process, as they do anyway.
            let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
                return;
            };
            for is_second in [false, true] {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if is_second {
                    std::process::exit(INTERRUPTED);
                }
                IS_TOLD.store(true, Ordering::Relaxed);
            }
        });
    };
    thread::Builder::new().spawn(listening).map(drop)
}

/// Whether to stop.
pub(super) fn is_told() -> bool {
    IS_TOLD.load(Ordering::Relaxed)
}
