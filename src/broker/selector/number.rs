//! Numbers as a selector writes them.
//!
//! Whole: decimal, octal after `0`, hexadecimal after `0x`, binary after `0b`; any of them may end
//! in `L`. Approximate: decimal with a point, an exponent or the suffix `f` or `d`, and hexadecimal
//! with a binary exponent (`0x800p-3`). Underscores may stand between digits, except in exponents.
//! The longest spelling wins, with no second thoughts: `34e` is an error, not `34` and a name, while
//! `019` reads as `01` and `9`. All as qpidd has it.

use nom::branch::alt;
use nom::bytes::complete::{take_while, take_while1};
use nom::character::complete::{char, one_of, satisfy};
use nom::combinator::{cut, opt, recognize, value};
use nom::sequence::{pair, preceded};
use nom::{IResult, Parser};

use super::lexical::{Fault, required};

/// A spelled number, not yet a value: whether a whole number fits depends on the sign before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number<'a> {
    /// Digits and underscores, without prefix and suffix.
    Whole { radix: u32, digits: &'a str },
    /// What Rust's own parser reads once the underscores are out.
    Decimal(&'a str),
    /// Hexadecimal digits with underscores, and the power of two they are multiplied with.
    Hexadecimal { digits: &'a str, exponent: &'a str },
}

/// Reads the longest number at the start of `input`.
pub(super) fn number(input: &str) -> IResult<&str, Number<'_>, Fault<'_>> {
    alt((hexadecimal, binary, zero_or_octal, fraction, decimal)).parse(input)
}

/// `0x` digits, then `L`, a binary exponent or nothing.
fn hexadecimal(input: &str) -> IResult<&str, Number<'_>, Fault<'_>> {
    let (rest, _) = pair(char('0'), one_of("xX")).parse(input)?;
    let digits = recognize(pair(
        satisfy(|c| c.is_ascii_hexdigit()),
        take_while(is_hexadecimal),
    ));
    let (rest, digits) = required("a hexadecimal digit", digits)(rest)?;
    let (rest, exponent) = opt(preceded(one_of("pP"), cut(exponent_digits))).parse(rest)?;
    match exponent {
        Some(exponent) => {
            let (rest, _) = opt(one_of("fFdD")).parse(rest)?;
            Ok((rest, Number::Hexadecimal { digits, exponent }))
        }
        None => whole(rest, 16, digits),
    }
}

/// `0b` digits.
fn binary(input: &str) -> IResult<&str, Number<'_>, Fault<'_>> {
    let (rest, _) = pair(char('0'), one_of("bB")).parse(input)?;
    let digits = recognize(pair(
        one_of("01"),
        take_while(|c| matches!(c, '0' | '1' | '_')),
    ));
    let (rest, digits) = required("a binary digit", digits)(rest)?;
    whole(rest, 2, digits)
}

/// `0` alone, `0` with octal digits, or `0.` with a fraction.
fn zero_or_octal(input: &str) -> IResult<&str, Number<'_>, Fault<'_>> {
    let (rest, _) = char('0').parse(input)?;
    if let Some(fraction) = rest.strip_prefix('.') {
        return fraction_tail(input, fraction);
    }
    let octal = recognize(pair(
        char('0'),
        take_while(|c| matches!(c, '0'..='7' | '_')),
    ));
    let (rest, digits) = { octal }.parse(input)?;
    whole(rest, 8, digits)
}

/// A fraction without digits before the point.
fn fraction(input: &str) -> IResult<&str, Number<'_>, Fault<'_>> {
    let (rest, _) = char('.').parse(input)?;
    let (rest, _) = required("a digit after the point", satisfy(|c| c.is_ascii_digit()))(rest)?;
    fraction_tail(input, rest)
}

/// A number that begins with 1 to 9.
fn decimal(input: &str) -> IResult<&str, Number<'_>, Fault<'_>> {
    let (rest, digits) = take_while1(is_decimal).parse(input)?;
    if digits.starts_with('_') {
        return Err(nom::Err::Error(Fault::at(input, "a number")));
    }
    if let Some(fraction) = rest.strip_prefix('.') {
        return fraction_tail(input, fraction);
    }
    if rest.starts_with(['e', 'E', 'f', 'F', 'd', 'D']) {
        return exponent_and_suffix(input, rest);
    }
    whole(rest, 10, digits)
}

/// What may follow the point (and a first digit) of the approximate number that starts at `start`.
fn fraction_tail<'a>(start: &'a str, rest: &'a str) -> IResult<&'a str, Number<'a>, Fault<'a>> {
    let (rest, _) = take_while(is_decimal).parse(rest)?;
    exponent_and_suffix(start, rest)
}

/// The end of the approximate number that starts at `start`.
fn exponent_and_suffix<'a>(
    start: &'a str,
    rest: &'a str,
) -> IResult<&'a str, Number<'a>, Fault<'a>> {
    let (rest, _) = opt(preceded(one_of("eE"), cut(exponent_digits))).parse(rest)?;
    let spelling = start.strip_suffix(rest).unwrap_or(start);
    let (rest, _) = opt(one_of("fFdD")).parse(rest)?;
    Ok((rest, Number::Decimal(spelling)))
}

/// The sign and digits of an exponent.
fn exponent_digits(input: &str) -> IResult<&str, &str, Fault<'_>> {
    let sign = opt(value((), one_of("+-")));
    let digits = take_while1(|c: char| c.is_ascii_digit());
    required("the digits of an exponent", recognize(pair(sign, digits)))(input)
}

/// A whole number, with its suffix `L` taken off.
fn whole<'a>(
    rest: &'a str,
    radix: u32,
    digits: &'a str,
) -> IResult<&'a str, Number<'a>, Fault<'a>> {
    let (rest, _) = opt(one_of("lL")).parse(rest)?;
    Ok((rest, Number::Whole { radix, digits }))
}

fn is_decimal(character: char) -> bool {
    character.is_ascii_digit() || character == '_'
}

fn is_hexadecimal(character: char) -> bool {
    character.is_ascii_hexdigit() || character == '_'
}

/// The value of a whole number; `None` when 64 bits do not hold it.
///
/// A decimal number keeps to `i64`, where the lowest value needs its sign; the other radices
/// spell the 64 bits, so that `0xFFFF_FFFF_FFFF_FFFF` is -1.
pub(super) fn exact(radix: u32, digits: &str, is_negative: bool) -> Option<i64> {
    let magnitude =
        digits
            .chars()
            .filter_map(|c| c.to_digit(radix))
            .try_fold(0u64, |sum, digit| {
                sum.checked_mul(u64::from(radix))?
                    .checked_add(u64::from(digit))
            })?;
    let highest = i64::MAX.unsigned_abs() + u64::from(is_negative);
    if radix == 10 && magnitude > highest {
        return None;
    }
    let value = magnitude.cast_signed();
    Some(if is_negative {
        value.wrapping_neg()
    } else {
        value
    })
}

/// The value of a decimal approximate number; `None` when it is out of the normal range of a
/// binary64 (and not zero), which qpidd refuses too.
pub(super) fn approximate(spelling: &str) -> Option<f64> {
    let plain: String = spelling.chars().filter(|c| *c != '_').collect();
    let value: f64 = plain.parse().ok()?;
    let mantissa = plain.split(['e', 'E']).next().unwrap_or_default();
    let is_zero = !mantissa.contains(|c: char| matches!(c, '1'..='9'));
    (value.is_normal() || is_zero).then_some(value)
}

/// The value of `digits` times two to the power of `exponent`, rounded to nearest, ties to even;
/// `None` when it is out of range, or below the normal range and not exact.
pub(super) fn approximate_hexadecimal(digits: &str, exponent: &str) -> Option<f64> {
    let (mut mantissa, mut dropped) = (0u64, 0i64);
    for digit in digits.chars().filter_map(|c| c.to_digit(16)) {
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | u64::from(digit);
        } else {
            // 61 bits and more are held; what is cut off only matters as being there at all.
            mantissa |= u64::from(digit != 0);
            dropped += 4;
        }
    }
    if mantissa == 0 {
        return Some(0.0);
    }
    // Digits are bounded by the text; an exponent beyond this is out of range all the same.
    let exponent = exponent
        .parse::<i64>()
        .unwrap_or(match exponent.starts_with('-') {
            true => -(1 << 40),
            false => 1 << 40,
        });
    scaled(mantissa, exponent.clamp(-(1 << 40), 1 << 40) + dropped)
}

/// `mantissa * 2^exponent` as a binary64; see [`approximate_hexadecimal`]. `mantissa` is not 0.
fn scaled(mantissa: u64, exponent: i64) -> Option<f64> {
    const FRACTION_BITS: i64 = 52;
    const LEAST_EXPONENT: i64 = -1074;
    let highest_bit = i64::from(mantissa.ilog2());
    // The weight of the last bit kept.
    let unit = (exponent + highest_bit - FRACTION_BITS).max(LEAST_EXPONENT);
    let shift = unit - exponent;
    let (kept, is_exact) = if shift <= 0 {
        // Fewer than 53 bits, moved up by at most 52.
        (mantissa.checked_shl(u32::try_from(-shift).ok()?)?, true)
    } else if shift > 64 {
        (0, false)
    } else {
        let wide = u128::from(mantissa);
        let (quotient, rest) = (wide >> shift, wide & ((1u128 << shift) - 1));
        let half = 1u128 << (shift - 1);
        let up = rest > half || (rest == half && quotient & 1 == 1);
        (u64::try_from(quotient + u128::from(up)).ok()?, rest == 0)
    };
    // A carry out of the fraction moves into the exponent by itself.
    let bits = if kept >> FRACTION_BITS == 0 {
        kept
    } else {
        let biased = u64::try_from(unit - LEAST_EXPONENT).ok()?;
        if biased > 2046 {
            return None;
        }
        (biased << FRACTION_BITS) + kept
    };
    let value = f64::from_bits(bits);
    (value.is_normal() || (is_exact && value.is_finite())).then_some(value)
}
