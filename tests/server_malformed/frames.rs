//! Frames, and what is done to them.

use ferrymq::wire::{Command, Control};

use crate::server_support::frame;
use crate::wire_support::generator::model::{Description, Kind};
use crate::wire_support::random_bytes::RandomBytes;
use crate::wire_support::seeded::Seeded;

/// Octets of a frame before its payload.
const HEADER: usize = 12;

/// One whole command.
pub fn command_frame(channel: u16, command: &Command) -> Vec<u8> {
    let mut payload = Vec::new();
    command.encode(false, &mut payload);
    frame(0x0f, 1, 1, channel, &payload)
}

/// The same of which segments follow.
pub fn opening_frame(channel: u16, command: &Command) -> Vec<u8> {
    let mut octets = command_frame(channel, command);
    octets[0] = 0x0b;
    octets
}

/// A control or a command of any kind, with any values and now and then without what has to be there.
pub fn any_item(description: &Description, seeded: &mut Seeded, channel: u16) -> Vec<u8> {
    let kind = match seeded.once_in(2) {
        true => Kind::Control,
        false => Kind::Command,
    };
    item(description, seeded, (kind, true), channel)
}

/// A command of any kind, with any values.
pub fn any_command(description: &Description, seeded: &mut Seeded, channel: u16) -> Vec<u8> {
    item(description, seeded, (Kind::Command, false), channel)
}

fn item(
    description: &Description,
    seeded: &mut Seeded,
    (kind, with_gaps): (Kind, bool),
    channel: u16,
) -> Vec<u8> {
    let classes = description.classes.iter();
    let all = classes.flat_map(|class| class.items.iter().map(move |item| (class, item)));
    let items: Vec<_> = all.filter(|(_, item)| item.kind == kind).collect();
    let (class, item) = items[seeded.below(items.len())];
    let mut random = RandomBytes {
        description,
        seeded: Seeded::new(seeded.u64()),
        with_gaps,
    };
    let is_command = kind == Kind::Command;
    let payload = random.item(class, item, is_command.then_some(seeded.once_in(2)));
    let (segment, track) = (u8::from(is_command), u8::from(is_command));
    frame(0x0f, segment, track, channel, &payload)
}

/// Damages what stands in a frame; its size is right.
pub fn damage_payload(seeded: &mut Seeded, octets: &mut Vec<u8>) {
    let mut payload = octets.split_off(HEADER.min(octets.len()));
    match seeded.below(3) {
        0 => {
            // A size or a count, as likely as not.
            let at = seeded.below(payload.len().max(1));
            let said = *seeded.pick(&[0, 1, 0x7f, 0x80, 0xfe, 0xff]);
            if let Some(octet) = payload.get_mut(at) {
                *octet = said;
            }
        }
        1 => payload.truncate(seeded.below(payload.len() + 1)),
        _ => seeded.damage(&mut payload),
    }
    payload.truncate(usize::from(u16::MAX) - HEADER);
    octets.extend(payload);
    let size = octets.len() as u16;
    if let Some(field) = octets.get_mut(2..4) {
        field.copy_from_slice(&size.to_be_bytes());
    }
}

/// Damages a frame's own header.
pub fn damage_header(seeded: &mut Seeded, octets: &mut [u8]) {
    let whole = octets.len() as u16;
    let Some(head) = octets.first_chunk_mut::<HEADER>() else {
        return;
    };
    match seeded.below(7) {
        0 => {
            let size = match seeded.below(4) {
                0 => seeded.below(HEADER + 1) as u16,
                1 => whole.wrapping_add(1),
                2 => whole.wrapping_sub(1),
                _ => *seeded.pick(&[u16::MAX, 4096, 0x8000]),
            };
            head[2..4].copy_from_slice(&size.to_be_bytes());
        }
        1 => head[0] ^= 1 << seeded.below(8),
        2 => head[1] = seeded.octet(),
        3 => head[5] = *seeded.pick(&[0, 1, 2, 0x10, 0xff]),
        4 => head[6..8].copy_from_slice(&(seeded.u32() as u16).to_be_bytes()),
        5 => head[4] = seeded.octet(),
        _ => head[8 + seeded.below(4)] = seeded.octet(),
    }
}

/// Puts frames out of order: leaves one out, says one twice, or two the other way round.
pub fn disorder(seeded: &mut Seeded, frames: &mut Vec<Vec<u8>>, at: usize) {
    match seeded.below(3) {
        0 => drop(frames.remove(at)),
        1 => frames.insert(at, frames[at].clone()),
        _ => {
            let other = seeded.below(frames.len());
            frames.swap(at, other);
        }
    }
}

/// A control's frame of channel 0.
pub fn first_channel(control: &Control) -> Vec<u8> {
    crate::server_support::control_frame(0, control)
}
