//! A peer that links lead to: it lets them in as the broker behind it does, and says one of that broker's
//! words otherwise.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use ferrymq::wire::frame::HEADER_BYTES;
use ferrymq::wire::protocol_header;

use crate::server_support::PATIENCE;

/// For so long a broker that has something to say says nothing: then it is the turn of what was to take the
/// place of a later word, and at last the connection ends.
const QUIET: Duration = Duration::from_millis(15);

/// Between two looks at whether a link has come.
const LOOK: Duration = Duration::from_millis(1);

/// See the module.
pub struct Impostor {
    listener: TcpListener,
    behind: SocketAddr,
    is_cut: AtomicBool,
}

impl Impostor {
    pub fn before(behind: SocketAddr) -> Impostor {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.set_nonblocking(true).expect("not blocking");
        let is_cut = AtomicBool::new(false);
        Impostor {
            listener,
            behind,
            is_cut,
        }
    }

    pub fn port(&self) -> u16 {
        self.listener.local_addr().expect("bound").port()
    }

    /// The next connection of a link, which has to come.
    pub fn accept(&self) -> TcpStream {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.listener.accept() {
                Ok((link, _)) => {
                    link.set_nonblocking(false).expect("blocking");
                    link.set_write_timeout(Some(PATIENCE)).expect("a timeout");
                    return link;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    assert!(Instant::now() < until, "the link does not come again");
                    sleep(LOOK);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Lets the broker behind speak for itself until [`cut`](Impostor::cut) is called.
    pub fn pass(&self, link: TcpStream) {
        self.is_cut.store(false, Ordering::Relaxed);
        let behind = TcpStream::connect(self.behind).expect("the broker behind listens");
        let copy = |from: &TcpStream, to: &TcpStream| {
            let (from, to) = (from.try_clone(), to.try_clone());
            let (mut from, mut to) = (from.expect("one more"), to.expect("one more"));
            spawn(move || io::copy(&mut from, &mut to))
        };
        let (back, forth) = (copy(&link, &behind), copy(&behind, &link));
        while !self.is_cut.load(Ordering::Relaxed) {
            sleep(LOOK);
        }
        let _ = (
            link.shutdown(Shutdown::Both),
            behind.shutdown(Shutdown::Both),
        );
        for copying in [back, forth] {
            // It ends with an error when the other end was faster.
            let _ = copying.join().expect("copied");
        }
    }

    /// Ends the connection that passes.
    pub fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
    }

    /// Has the broker behind let a link in, but for one of its words: `change` makes of it what the link
    /// hears. When that does not come, it is asked for something to say by itself. Afterwards the connection
    /// ends.
    pub fn speak(
        &self,
        mut link: TcpStream,
        part: Part,
        change: impl FnOnce(Option<Vec<u8>>) -> Vec<u8>,
    ) {
        let until = Instant::now() + PATIENCE;
        let behind = TcpStream::connect(self.behind).expect("the broker behind listens");
        behind.set_read_timeout(Some(QUIET)).expect("a timeout");
        let copies = link.try_clone().and_then(|l| Ok((l, behind.try_clone()?)));
        let (mut from, mut to) = copies.expect("two more");
        let copying = spawn(move || {
            // However the link ends, the broker behind hears no more of it.
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
        let mut words = Words {
            from: behind,
            octets: Vec::new(),
            is_begun: false,
        };
        let mut change = Some(change);
        let mut said = 0;
        loop {
            let heard = match words.next() {
                Next::Word(word) if said == part.at => {
                    change.take().map(|change| change(Some(word)))
                }
                Next::Word(word) => Some(word),
                Next::Quiet if part.waits(change.is_some()) => {
                    assert!(Instant::now() < until, "{part:?} never comes to its end");
                    continue;
                }
                Next::Quiet => change.take().map(|change| change(None)),
                Next::End => None,
            };
            said += 1;
            match heard {
                Some(octets) if link.write_all(&octets).is_ok() => {}
                _ => break,
            }
        }
        // It may have gone already.
        let _ = link.shutdown(Shutdown::Both);
        let _ = words.from.shutdown(Shutdown::Both);
        copying.join().expect("copied");
    }
}

/// What of a broker's words is another.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The number of the word, the protocol header being 0.
    pub at: usize,
    /// It comes, however long that takes; else it is given up when there is nothing to say.
    pub comes: bool,
    /// The link ends the connection then, however long that takes.
    pub ends: bool,
}

impl Part {
    fn waits(self, is_before: bool) -> bool {
        match is_before {
            true => self.comes,
            false => self.ends,
        }
    }
}

/// What comes next of a broker.
enum Next {
    /// The protocol header, or a frame.
    Word(Vec<u8>),
    Quiet,
    End,
}

/// What a broker says, cut into words.
struct Words {
    from: TcpStream,
    octets: Vec<u8>,
    is_begun: bool,
}

impl Words {
    fn next(&mut self) -> Next {
        let mut more = [0; 16 * 1024];
        loop {
            let size = match (self.is_begun, self.octets.first_chunk()) {
                (false, _) => protocol_header::BYTES.len(),
                (true, Some(&[_, _, high, low])) => u16::from_be_bytes([high, low]).into(),
                (true, None) => HEADER_BYTES,
            };
            if self.octets.len() >= size {
                let rest = self.octets.split_off(size);
                self.is_begun = true;
                return Next::Word(std::mem::replace(&mut self.octets, rest));
            }
            match self.from.read(&mut more) {
                Ok(0) => return Next::End,
                Ok(count) => self.octets.extend_from_slice(&more[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Next::Quiet,
                Err(_) => return Next::End,
            }
        }
    }
}
