//! Structs of header segments are read whole, in part, or only passed over: whatever the octets, all ways
//! find the same wrong, come to the same place and are charged the same.

mod wire_support;

use ferrymq::wire::{
    Cursor, DeliveryProperties, FileProperties, FragmentProperties, MessageProperties, Selected,
    StreamProperties, Struct,
};
use wire_support::description;
use wire_support::generator::model::Description;
use wire_support::random_bytes::RandomBytes;
use wire_support::seeded::Seeded;

const SEEDS: u64 = 2000;

/// Octets of size and code, which stand before the fields.
const BEFORE: usize = 6;

/// Fields of a struct, as they may come: every other time damaged.
fn octets<T: Struct>(description: &Description, seed: u64) -> Vec<u8> {
    let mut classes = description.classes.iter();
    let class = classes.find(|class| u16::from(class.code) == T::CODE >> 8);
    let class = class.expect("a class");
    let mut structs = class.structs.iter();
    let item = structs.find(|item| item.code == Some(T::CODE as u8));
    let mut random = RandomBytes {
        description,
        seeded: Seeded::new(seed),
        with_gaps: true,
    };
    let mut octets = random.structure(class, item.expect("a struct"));
    octets.drain(..BEFORE);
    if seed % 2 == 1 {
        random.seeded.damage(&mut octets);
    }
    octets
}

/// What a cursor came to: what was wrong or else where it is, and what is left of its budget.
macro_rules! outcome {
    ($octets:expr, $budget:expr, $read:expr) => {{
        let mut cursor = Cursor::with_budget($octets, $budget);
        match $read(&mut cursor) {
            Ok(_) => Ok((cursor.offset(), cursor.budget())),
            Err(error) => Err(error),
        }
    }};
}

fn agree<T: Struct + Selected + PartialEq + std::fmt::Debug>(description: &Description) {
    let mut wrong = 0;
    for seed in 0..SEEDS {
        let octets = octets::<T>(description, seed);
        let mut seeded = Seeded::new(seed);
        // Now and then it is too small.
        let budget = *seeded.pick(&[0, 50, 500, 100_000, 100_000, 100_000]);
        let wanted = seeded.u32() as u16;
        let whole = outcome!(&octets, budget, T::decode_fields);
        wrong += u64::from(whole.is_err());
        for wanted in [0, wanted, u16::MAX] {
            let part = outcome!(&octets, budget, |cursor| T::decode_selected(cursor, wanted));
            assert_eq!(part, whole, "{} seed {seed}, wanted {wanted:x}", T::NAME);
        }
        let mut fields = Vec::new();
        let passed = outcome!(&octets, budget, |cursor| {
            T::walk(cursor, &mut |field, lies| fields.push((field, lies)))
        });
        assert_eq!(passed, whole, "{} seed {seed}", T::NAME);
        // Fields lie behind each other in their order, none without its flag.
        assert!(fields.is_sorted_by(|(a, first), (b, second)| a < b && first.end <= second.start));
        if let Ok((end, _)) = whole {
            assert!(fields.iter().all(|(_, lies)| lies.end <= end));
            let mut cursor = Cursor::new(&octets);
            let all = T::decode_selected(&mut cursor, u16::MAX).expect("it was read");
            assert_eq!(
                all,
                T::decode_fields(&mut Cursor::new(&octets)).expect("it was read")
            );
        }
    }
    assert!((SEEDS / 20..SEEDS).contains(&wrong), "{}: {wrong}", T::NAME);
}

#[test]
fn headers_read_in_part_or_passed_over_are_checked_and_charged_as_if_read_whole() {
    let description = description();
    agree::<DeliveryProperties>(&description);
    agree::<FragmentProperties>(&description);
    agree::<MessageProperties>(&description);
    agree::<FileProperties>(&description);
    agree::<StreamProperties>(&description);
}
