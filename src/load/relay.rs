//! A bare TCP relay: reads and writes, nothing else.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use super::limits::RELAY_BYTES;
use super::options::RelayOptions;

/// Relays until standard input ends. Prints the port it listens on.
///
/// # Errors
/// The address cannot be listened on, or standard output is closed.
pub(super) fn serve(options: &RelayOptions) -> io::Result<()> {
    let listener = TcpListener::bind(&options.listen)?;
    println!("{}", listener.local_addr()?.port());
    let to = options.to.clone();
    thread::spawn(move || accept(&listener, &to));
    // Whoever started this holds the other end: no relay outlives it.
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

fn accept(listener: &TcpListener, to: &str) {
    for near in listener.incoming() {
        let joined = near.and_then(|near| {
            let far = TcpStream::connect(to)?;
            near.set_nodelay(true)?;
            far.set_nodelay(true)?;
            let (near_too, far_too) = (near.try_clone()?, far.try_clone()?);
            thread::spawn(move || copy(near, far));
            thread::spawn(move || copy(far_too, near_too));
            Ok(())
        });
        if let Err(error) = joined {
            eprintln!("ferrymq bench relay: {error}");
        }
    }
}

/// One direction, until one of both ends.
fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; RELAY_BYTES];
    while let Ok(read) = from.read(&mut buffer) {
        if read == 0 || to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    // Where the other end is gone already there is nothing to shut down.
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}
