//! How two members meet: who they are, that they belong, what they belong to. Nothing of a member's
//! state leaves it before all three are settled.
//!
//! ```text
//!   dialer                      listener
//!     Greeting  ------------------>         who speaks, which version
//!         <------------------  Greeting
//!     Proof     ------------------>         that the key is known, bound to this connection
//!         <------------------  Proof
//!     Hello     ------------------>         cluster, group, address
//!         <------------------  Hello        or Refused, at any point
//! ```

use std::fmt;
use std::io;

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Plane;
use super::frames::{self, Frames, Kind};
use super::secure::{Pair, Secured, Side};
use super::words::{self, Greeting, Hello, Refusal, VERSION};
use crate::broker::encoding::Record;
use crate::broker::ids::MemberId;
use crate::server::cluster_options::Address;
use crate::server::limits;

/// A connection to a member that belongs.
pub struct Met {
    /// The connection.
    pub secured: Secured,
    /// What was read of it.
    pub frames: Frames,
    /// The member.
    pub peer: MemberId,
    /// The life of its process.
    pub life: u64,
    /// What it said of itself.
    pub hello: Hello,
}

/// Why two did not meet.
#[derive(Debug)]
pub enum Failure {
    /// The peer refuses this member.
    Refused(Refusal),
    /// This member refuses the peer.
    Refuses(Refusal),
    /// The peer does not keep to the protocol.
    Strange(String),
    /// Nobody listens at the address: the host is there, and no such process.
    Absent(String),
    /// The connection did not come about, or has ended.
    Broken(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(why) => write!(f, "this member is refused: {why}"),
            Failure::Refuses(why) => write!(f, "refused: {why}"),
            Failure::Strange(why) | Failure::Absent(why) | Failure::Broken(why) => f.write_str(why),
        }
    }
}

impl Failure {
    /// What a peer says who refuses this member. A later version may have reasons that this one does not
    /// know.
    pub fn told(octets: &[u8]) -> Failure {
        match words::whole(octets) {
            Ok(why) => Failure::Refused(why),
            Err(error) => Failure::Strange(format!("it refuses, and {error}")),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            // Octets that are no frame, or too long a one.
            io::ErrorKind::InvalidData => Failure::Strange(error.to_string()),
            io::ErrorKind::ConnectionRefused => Failure::Absent(frames::words(&error)),
            _ => Failure::Broken(frames::words(&error)),
        }
    }
}

/// Says one thing.
///
/// # Errors
/// The connection is gone.
pub async fn say(to: &mut (impl AsyncWrite + Unpin), kind: Kind, octets: &[u8]) -> io::Result<()> {
    let mut frame = Vec::new();
    frames::put(kind, octets, &mut frame);
    to.write_all(&frame).await?;
    to.flush().await
}

/// A meeting under way.
struct Meeting<'a> {
    plane: &'a Plane,
    secured: Secured,
    frames: Frames,
}

impl Meeting<'_> {
    async fn say(&mut self, kind: Kind, octets: &[u8]) -> io::Result<()> {
        say(&mut self.secured.stream, kind, octets).await
    }

    async fn hear(&mut self, kind: Kind) -> Result<Bytes, Failure> {
        let found = self.frames.next(&mut self.secured.stream).await?;
        let (found, octets) = found.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))?;
        match found {
            found if found == kind => Ok(octets),
            Kind::Refused => Err(Failure::told(&octets)),
            found => Err(Failure::Strange(format!(
                "the peer says {found:?} where {kind:?} is due"
            ))),
        }
    }

    async fn hear_word<T: Record>(&mut self, kind: Kind) -> Result<T, Failure> {
        let octets = self.hear(kind).await?;
        words::whole(&octets).map_err(|error| Failure::Strange(format!("{kind:?}: {error}")))
    }

    async fn refuse(&mut self, why: Refusal) -> Failure {
        // It may be gone; then it learns nothing.
        let _ = self.say(Kind::Refused, &words::octets(&why)).await;
        let _ = self.secured.stream.shutdown().await;
        Failure::Refuses(why)
    }

    /// What is wrong with who the peer says it is.
    fn stranger(&self, theirs: &Greeting) -> Option<Refusal> {
        let ours = self.plane.greeting();
        if theirs.version != VERSION {
            return Some(Refusal::Version {
                theirs: theirs.version,
                ours: VERSION,
            });
        }
        (theirs.member == ours.member).then_some(match theirs.life == ours.life {
            true => Refusal::Itself,
            false => Refusal::Copy,
        })
    }
}

/// What speaks against a member that belongs by what it proved.
async fn objection(plane: &Plane, theirs: &Greeting, hello: &Hello) -> Option<Refusal> {
    if let Some(why) = plane.objection(theirs.member, hello) {
        return Some(why);
    }
    let is_copy = plane.lives_twice(theirs.member, theirs.life).await;
    is_copy.then_some(Refusal::Copy)
}

/// Meets a member as whoever made the connection.
///
/// # Errors
/// They did not meet.
pub async fn dial(plane: &Plane, address: &Address) -> Result<Met, Failure> {
    let meeting = timeout(limits::PEER_MEETING, dial_at_leisure(plane, address));
    let silent = |_| Failure::Broken("it does not answer".to_owned());
    meeting.await.map_err(silent)?
}

async fn dial_at_leisure(plane: &Plane, address: &Address) -> Result<Met, Failure> {
    let stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
    stream.set_nodelay(true)?;
    let secured = plane.security().connect(stream, &address.host).await;
    let secured =
        secured.map_err(|error| Failure::Broken(format!("TLS: {}", frames::words(&error))))?;
    let mut meeting = Meeting {
        plane,
        secured,
        frames: Frames::of_stranger(),
    };
    let ours = plane.greeting();
    meeting.say(Kind::Greeting, &words::octets(&ours)).await?;
    let theirs: Greeting = meeting.hear_word(Kind::Greeting).await?;
    if let Some(why) = meeting.stranger(&theirs) {
        return Err(Failure::Refuses(why));
    }
    let pair = Pair {
        dialer: ours.member,
        listener: theirs.member,
    };
    let proof = plane.security().proof(Side::Dialer, pair, &meeting.secured);
    meeting.say(Kind::Proof, &proof).await?;
    let proof = meeting.hear(Kind::Proof).await?;
    let is_proved = plane
        .security()
        .is_proved(Side::Listener, pair, &meeting.secured, &proof);
    if !is_proved {
        return Err(Failure::Refuses(Refusal::Key));
    }
    meeting.frames.length_max = limits::PEER_HELLO_BYTES_MAX;
    let hello = words::octets(&plane.hello());
    meeting.say(Kind::Hello, &hello).await?;
    let hello: Hello = meeting.hear_word(Kind::Hello).await?;
    if let Some(why) = objection(plane, &theirs, &hello).await {
        return Err(meeting.refuse(why).await);
    }
    Ok(meeting.met(theirs, hello))
}

/// Meets a member as whoever took the connection.
///
/// # Errors
/// They did not meet.
pub async fn take(plane: &Plane, stream: TcpStream) -> Result<Met, Failure> {
    let meeting = timeout(limits::PEER_MEETING, take_at_leisure(plane, stream));
    let silent = |_| Failure::Broken("it does not say who it is".to_owned());
    meeting.await.map_err(silent)?
}

async fn take_at_leisure(plane: &Plane, stream: TcpStream) -> Result<Met, Failure> {
    stream.set_nodelay(true)?;
    let secured = plane.security().accept(stream).await;
    let secured =
        secured.map_err(|error| Failure::Broken(format!("TLS: {}", frames::words(&error))))?;
    let mut meeting = Meeting {
        plane,
        secured,
        frames: Frames::of_stranger(),
    };
    let theirs: Greeting = meeting.hear_word(Kind::Greeting).await?;
    let ours = plane.greeting();
    meeting.say(Kind::Greeting, &words::octets(&ours)).await?;
    if let Some(why) = meeting.stranger(&theirs) {
        return Err(meeting.refuse(why).await);
    }
    let pair = Pair {
        dialer: theirs.member,
        listener: ours.member,
    };
    let proof = meeting.hear(Kind::Proof).await?;
    let is_proved = plane
        .security()
        .is_proved(Side::Dialer, pair, &meeting.secured, &proof);
    if !is_proved {
        return Err(meeting.refuse(Refusal::Key).await);
    }
    let proof = plane
        .security()
        .proof(Side::Listener, pair, &meeting.secured);
    meeting.say(Kind::Proof, &proof).await?;
    meeting.frames.length_max = limits::PEER_HELLO_BYTES_MAX;
    let hello: Hello = meeting.hear_word(Kind::Hello).await?;
    if let Some(why) = objection(plane, &theirs, &hello).await {
        return Err(meeting.refuse(why).await);
    }
    let ours = words::octets(&plane.hello());
    meeting.say(Kind::Hello, &ours).await?;
    Ok(meeting.met(theirs, hello))
}

impl Meeting<'_> {
    fn met(self, theirs: Greeting, hello: Hello) -> Met {
        let Greeting {
            member: peer, life, ..
        } = theirs;
        self.plane.note_met(peer, &hello);
        let Meeting {
            secured,
            mut frames,
            ..
        } = self;
        frames.length_max = limits::PEER_FRAME_BYTES_MAX;
        Met {
            secured,
            frames,
            peer,
            life,
            hello,
        }
    }
}
