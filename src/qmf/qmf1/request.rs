//! What consoles ask in version 1.

use super::super::limits::REQUEST_FRAMES_MAX;
use super::super::query::Query;
use super::frames::MAGIC;
use super::ids::{Numbers, ObjectId};
use crate::wire::{Cursor, DecodeError, Map, Problem, Text};

/// A request, or something that an agent tells its broker.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// `B`: which broker is this.
    Broker,
    /// `P`: which packages are there.
    Packages,
    /// `Q`: which classes and events does a package have.
    Classes {
        /// The package.
        package: Text,
    },
    /// `S`: what does a class or an event look like.
    Schema {
        /// The package.
        package: Text,
        /// The class or event.
        class: Text,
        /// The form of it that is meant.
        hash: [u8; 16],
    },
    /// `G`: tell of objects.
    Objects(Wanted),
    /// `M`: call a method of an object.
    Method {
        /// Of which object.
        object: ObjectId,
        /// The package of its class.
        package: Text,
        /// Its class.
        class: Text,
        /// Which method.
        method: Text,
        /// What it is given, octets that only the schema tells apart.
        arguments: Vec<u8>,
    },
    /// `A`: take an agent in.
    Attach {
        /// What the agent calls itself.
        label: Text,
    },
    /// `p`, `q` or `s`: of the schema of an agent that is not served.
    Told {
        /// Which.
        opcode: u8,
    },
}

/// Which objects a console of version 1 wants to see.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// All of a class.
    Class {
        /// The package, if it said so.
        package: Option<Text>,
        /// The class.
        class: Text,
    },
    /// One.
    Object(ObjectId),
    /// What names neither class nor object.
    Unclear,
}

impl Wanted {
    /// The query that finds them; None if it asks for nothing. A number that no object has asks for the
    /// objects of no class: who may not look is told the same of it as of one that an object has.
    pub fn query(self, numbers: &Numbers) -> Option<Query> {
        match self {
            Wanted::Class { package, class } => Some(Query::Class { package, class }),
            Wanted::Object(id) => Some(match numbers.name(id) {
                Some(name) => Query::Object(name),
                None => Query::Class {
                    package: None,
                    class: Text::default(),
                },
            }),
            Wanted::Unclear => None,
        }
    }
}

/// What a message of version 1 asks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requests {
    /// The requests in order, each with the number that its answer is to have.
    pub requests: Vec<(u32, Request)>,
    /// What stands behind them and cannot be read, and so ended the reading.
    pub unread: Option<DecodeError>,
}

/// Reads the frames of a message, [`REQUEST_FRAMES_MAX`] of them at most: a frame does not say how long
/// it is, so nothing is read behind one that makes no sense.
pub fn requests(body: &[u8]) -> Requests {
    let mut cursor = Cursor::new(body);
    let mut read = Requests::default();
    while !cursor.is_at_end() {
        if read.requests.len() == REQUEST_FRAMES_MAX {
            let problem = Problem::TrailingBytes(cursor.remaining());
            read.unread = Some(cursor.in_field("qmf1.frames").error(problem));
            break;
        }
        match frame(&mut cursor) {
            Ok(request) => read.requests.push(request),
            Err(error) => {
                read.unread = Some(error);
                break;
            }
        }
    }
    read
}

fn frame(cursor: &mut Cursor<'_>) -> Result<(u32, Request), DecodeError> {
    let magic = cursor.in_field("qmf1.magic").bytes(MAGIC.len())?;
    if magic != MAGIC {
        return Err(cursor.error(Problem::BadFrame("not AM2")));
    }
    let opcode = cursor.in_field("qmf1.opcode").u8()?;
    let sequence = cursor.in_field("qmf1.sequence").u32()?;
    let request = match opcode {
        b'B' => Request::Broker,
        b'P' => Request::Packages,
        b'Q' => Request::Classes {
            package: cursor.in_field("qmf1.Q.package").str8()?,
        },
        b'S' => Request::Schema {
            package: cursor.in_field("qmf1.S.package").str8()?,
            class: cursor.in_field("qmf1.S.class").str8()?,
            hash: cursor.in_field("qmf1.S.hash").uuid()?,
        },
        b'G' => Request::Objects(wanted(&cursor.in_field("qmf1.G.query").map()?)),
        b'M' => method(cursor)?,
        b'A' => {
            let label = cursor.in_field("qmf1.A.label").str8()?;
            cursor.in_field("qmf1.A.system").uuid()?;
            cursor.in_field("qmf1.A.banks").u64()?;
            Request::Attach { label }
        }
        b'p' => {
            cursor.in_field("qmf1.p.package").str8()?;
            Request::Told { opcode }
        }
        b'q' => {
            cursor.in_field("qmf1.q.kind").u8()?;
            cursor.in_field("qmf1.q.package").str8()?;
            cursor.in_field("qmf1.q.class").str8()?;
            cursor.in_field("qmf1.q.hash").uuid()?;
            Request::Told { opcode }
        }
        b's' => {
            // Agents send it alone.
            cursor.rest();
            Request::Told { opcode }
        }
        _ => return Err(cursor.error(Problem::BadFrame("no operation code of a request"))),
    };
    Ok((sequence, request))
}

fn wanted(query: &Map) -> Wanted {
    let text = |name| query.get(name).and_then(|value| value.as_str());
    if let Some(class) = text("_class") {
        return Wanted::Class {
            package: text("_package").filter(|p| !p.is_empty()).map(Text::from),
            class: class.into(),
        };
    }
    let id = text("_objectid").and_then(ObjectId::parse);
    id.map_or(Wanted::Unclear, Wanted::Object)
}

fn method(cursor: &mut Cursor<'_>) -> Result<Request, DecodeError> {
    let object = ObjectId {
        first: cursor.in_field("qmf1.M.object").u64()?,
        second: cursor.u64()?,
    };
    let package = cursor.in_field("qmf1.M.package").str8()?;
    let class = cursor.in_field("qmf1.M.class").str8()?;
    // Not compared, as in qpidd: what matters of the form shows in the arguments.
    cursor.in_field("qmf1.M.hash").uuid()?;
    Ok(Request::Method {
        object,
        package,
        class,
        method: cursor.in_field("qmf1.M.method").str8()?,
        arguments: cursor.rest().to_vec(),
    })
}
