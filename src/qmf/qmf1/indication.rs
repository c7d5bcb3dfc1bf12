//! What an agent says unasked in version 1.

use super::super::event::Event;
use super::super::identity::QPID_MANAGEMENT;
use super::super::limits::OBJECTS_PER_MESSAGE;
use super::super::object::Object;
use super::super::publication::Publication;
use super::super::schema::{Class, EventClass};
use super::data::{put, put_head_and_statistics, put_properties};
use super::frames::Frames;
use super::ids::Numbers;
use crate::wire::encode;

fn told(frames: &mut Frames, routing_key: &str) -> Vec<Publication> {
    frames.publications(QPID_MANAGEMENT, routing_key)
}

/// `h`: that the broker's agent is there, `now` in nanoseconds since 1970.
pub fn heartbeat(now: u64) -> Vec<Publication> {
    let mut frames = Frames::default();
    frames.frame(b'h', 0, |out| encode::u64(out, now));
    told(&mut frames, "console.heartbeat.1.0")
}

/// `e`: that something happened, `now` in nanoseconds since 1970.
pub fn event(event: &Event, now: u64) -> Vec<Publication> {
    // No event's argument names an object, so none is given a number.
    let mut numbers = Numbers::new(0);
    let class = event.class;
    let mut frames = Frames::default();
    frames.frame(b'e', 0, |out| {
        encode::str8(out, class.package);
        encode::str8(out, class.name);
        out.extend_from_slice(&class.hash);
        encode::u64(out, now);
        encode::u8(out, class.severity as u8);
        for datum in &event.arguments {
            put(datum, &mut numbers, out);
        }
    });
    told(&mut frames, &event_key(class))
}

/// The routing key of an event.
pub fn event_key(class: &EventClass) -> String {
    format!("console.event.1.0.{}.{}", class.package, class.name)
}

/// The routing key of objects of a class.
pub fn data_key(class: &Class) -> String {
    format!("console.obj.1.0.{}.{}", class.package, class.name)
}

/// `c` with the properties of each object and `i` with its statistics, if its class has any. One message
/// holds objects of one class.
pub fn data(objects: &[Object], numbers: &mut Numbers) -> Vec<Publication> {
    let mut all = Vec::new();
    for objects in objects.chunk_by(|a, b| a.class() == b.class()) {
        let Some(class) = objects.first().map(Object::class) else {
            continue;
        };
        let mut frames = Frames::at_most(OBJECTS_PER_MESSAGE);
        for object in objects {
            frames.frame(b'c', 0, |out| put_properties(object, numbers, out));
            if !class.statistics.is_empty() {
                frames.frame(b'i', 0, |out| put_head_and_statistics(object, numbers, out));
            }
        }
        all.extend(told(&mut frames, &data_key(class)));
    }
    all
}
