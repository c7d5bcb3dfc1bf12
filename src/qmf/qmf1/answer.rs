//! What an agent answers in version 1.

use super::super::datum::Datum;
use super::super::generated::PACKAGES;
use super::super::identity::{AMQ_DIRECT, Identity};
use super::super::limits::OBJECTS_PER_MESSAGE;
use super::super::object::Object;
use super::super::publication::Publication;
use super::super::schema::Package;
use super::super::status::{Fault, Status};
use super::data::{put, put_properties, put_statistics};
use super::frames::Frames;
use super::ids::Numbers;
use super::schema::{CLASS, EVENT, put_class, put_event, put_key};
use crate::wire::{Text, encode};

/// Who asked: where answers go to, and which request they are to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asker {
    /// The exchange that the asker named. Schemas alone go there; all else goes to `amq.direct`, as
    /// in qpidd.
    pub exchange: Text,
    /// The routing key that the asker named.
    pub routing_key: Text,
    /// The number of the request.
    pub sequence: u32,
}

impl Asker {
    fn publications(&self, frames: &mut Frames) -> Vec<Publication> {
        frames.publications(AMQ_DIRECT, &self.routing_key)
    }
}

fn put_completed(code: u32, text: &str, out: &mut Vec<u8>) {
    encode::u32(out, code);
    encode::str8(out, text);
}

/// `z`: that a request is done, or why not.
pub fn completed(asker: &Asker, outcome: Result<(), &Fault>) -> Vec<Publication> {
    let (code, text) = match outcome {
        Ok(()) => (0, "OK"),
        Err(fault) => (fault.status.code(), fault.text.as_str()),
    };
    let mut frames = Frames::default();
    frames.frame(b'z', asker.sequence, |out| put_completed(code, text, out));
    asker.publications(&mut frames)
}

/// `b`: which broker this is.
pub fn broker(identity: &Identity, asker: &Asker) -> Vec<Publication> {
    let mut frames = Frames::default();
    frames.frame(b'b', asker.sequence, |out| {
        out.extend_from_slice(&identity.broker)
    });
    asker.publications(&mut frames)
}

/// `p` for each package, then `z`.
pub fn packages(asker: &Asker) -> Vec<Publication> {
    let mut frames = Frames::default();
    for package in PACKAGES {
        frames.frame(b'p', asker.sequence, |out| encode::str8(out, package.name));
    }
    let mut answer = asker.publications(&mut frames);
    answer.extend(completed(asker, Ok(())));
    answer
}

fn package_named(name: &str) -> Option<&'static Package> {
    PACKAGES
        .iter()
        .copied()
        .find(|package| package.name == name)
}

/// `q` for each class and event of a package, then `z`. A package that is not there has none.
pub fn classes(asker: &Asker, package: &str) -> Vec<Publication> {
    let mut frames = Frames::default();
    if let Some(package) = package_named(package) {
        for class in package.classes {
            frames.frame(b'q', asker.sequence, |out| {
                put_key(CLASS, class.package, class.name, &class.hash, out)
            });
        }
        for event in package.events {
            frames.frame(b'q', asker.sequence, |out| {
                put_key(EVENT, event.package, event.name, &event.hash, out)
            });
        }
    }
    let mut answer = asker.publications(&mut frames);
    answer.extend(completed(asker, Ok(())));
    answer
}

/// `s` with the schema of a class or an event, or `z` with what there is not.
pub fn schema(asker: &Asker, package: &str, name: &str, hash: [u8; 16]) -> Vec<Publication> {
    let missing = |text| {
        let fault = Fault::new(Status::UnknownObject, text);
        completed(asker, Err(&fault))
    };
    let Some(package) = package_named(package) else {
        return missing("Package not found");
    };
    let class = package
        .classes
        .iter()
        .find(|class| class.name == name && class.hash == hash);
    let event = package
        .events
        .iter()
        .find(|event| event.name == name && event.hash == hash);
    let mut frames = Frames::default();
    match (class, event) {
        (Some(class), _) => frames.frame(b's', asker.sequence, |out| put_class(class, out)),
        (_, Some(event)) => frames.frame(b's', asker.sequence, |out| put_event(event, out)),
        (None, None) => return missing("Class key not found"),
    };
    frames.publications(&asker.exchange, &asker.routing_key)
}

/// `g` for each object, with all that there is to say of it; behind the last `z`.
pub fn objects(
    asker: &Asker,
    numbers: &mut Numbers,
    found: &[Object],
    is_last: bool,
) -> Vec<Publication> {
    let mut frames = Frames::at_most(OBJECTS_PER_MESSAGE);
    for object in found {
        frames.frame(b'g', asker.sequence, |out| {
            put_properties(object, numbers, out);
            put_statistics(object, numbers, out);
        });
    }
    let mut answer = asker.publications(&mut frames);
    if is_last {
        answer.extend(completed(asker, Ok(())));
    }
    answer
}

/// `m`: how a method call ended, and what it answers.
pub fn method_response(
    asker: &Asker,
    numbers: &mut Numbers,
    outcome: Result<&[Datum], &Fault>,
) -> Vec<Publication> {
    let mut frames = Frames::default();
    frames.frame(b'm', asker.sequence, |out| match outcome {
        Ok(answered) => {
            encode::u32(out, Status::Ok.code());
            encode::str16(out, Status::Ok.word());
            for datum in answered {
                put(datum, numbers, out);
            }
        }
        Err(fault) => {
            encode::u32(out, fault.status.code());
            encode::str16(out, &fault.text);
        }
    });
    asker.publications(&mut frames)
}
