//! The numbers of the language: binary floating point with 512 bits, as Go's `big.Float` computes it. No crate does the
//! same: each number has a precision of its own, which results inherit, and the shortest decimal text depends on it.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use num_bigint::{BigInt, BigUint, Sign};

use super::outcome::{Outcome, failure, unknown};

/// The precision of numbers that are read from text, in bits.
const PRECISION: u64 = 512;
/// The precision of numbers that come from machine integers, such as lengths.
const INTEGER_PRECISION: u64 = 64;
/// Exponents of two beyond this are not computed with.
const MAX_EXPONENT: i64 = 2048;
/// Powers of five up to this are exact in Go's parser. Beyond, its result is not the nearest number.
const MAX_POWER_OF_FIVE: i64 = 240;
/// Digits that are read.
const MAX_DIGITS: usize = 1024;

/// A finite number: `mantissa * 2^exponent`, where the mantissa is odd, or zero.
#[derive(Clone, Debug)]
pub(crate) struct Number(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    mantissa: BigInt,
    exponent: i64,
    precision: u64,
}

/// The decimal digits of a number without the zeros at its end, and where its point stands among them.
struct Decimal {
    digits: Vec<u8>,
    point: i64,
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self::new(BigInt::from(number), 0, INTEGER_PRECISION)
    }
}

impl From<usize> for Number {
    fn from(number: usize) -> Self {
        Self::new(BigInt::from(number), 0, INTEGER_PRECISION)
    }
}

impl Number {
    /// A number that fits its precision.
    fn new(mantissa: BigInt, exponent: i64, precision: u64) -> Self {
        let zeros = mantissa.trailing_zeros().unwrap_or(0);
        let exponent = if mantissa.sign() == Sign::NoSign { 0 } else { exponent + zeros.cast_signed() };
        Self(Arc::new(Parts { mantissa: mantissa >> zeros, exponent, precision }))
    }

    /// The number nearest to `mantissa * 2^exponent`, and a bit more than that where `sticky`. Ties go to even.
    fn rounded(mantissa: BigInt, exponent: i64, precision: u64, sticky: bool) -> Outcome<Self> {
        let extra = mantissa.bits().saturating_sub(precision);
        let number = if extra == 0 {
            Self::new(mantissa, exponent, precision)
        } else {
            let (sign, magnitude) = mantissa.into_parts();
            let is_up = magnitude.bit(extra - 1)
                && (sticky || magnitude.bit(extra) || magnitude.trailing_zeros() < Some(extra - 1));
            let magnitude = (magnitude >> extra) + u8::from(is_up);
            Self::new(BigInt::from_biguint(sign, magnitude), exponent + extra.cast_signed(), precision)
        };
        let size = number.0.exponent + number.0.mantissa.bits().cast_signed();
        if size.abs() > MAX_EXPONENT { unknown("numbers this large or small are not computed") } else { Ok(number) }
    }

    /// Reads a number as the language reads it: `12`, `-1.5e-3`.
    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        let (is_negative, unsigned) = match text.strip_prefix(['-', '+']) {
            Some(rest) => (text.starts_with('-'), rest),
            None => (false, text),
        };
        let (decimal, exponent) = unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(d, e)| (d, Some(e)));
        let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
        let digits = [whole, fraction].concat();
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let exponent_digits = exponent.map(|exponent| exponent.strip_prefix(['-', '+']).unwrap_or(exponent));
        if !is_digits(&digits) || !exponent_digits.is_none_or(is_digits) {
            // Go also reads infinity and exponents of two.
            let is_other = unsigned.to_ascii_lowercase().starts_with("inf") || unsigned.contains(['p', 'P']);
            return if is_other && !unsigned.contains(' ') {
                unknown("the text is no number that is computed with")
            } else {
                failure("a number is needed, not a string")
            };
        }
        let exponent = exponent.map_or(Ok(0), str::parse::<i64>).unwrap_or(i64::MAX);
        let power = exponent.saturating_sub(fraction.len().try_into().unwrap_or(i64::MAX));
        let mantissa = if digits.len() <= MAX_DIGITS { BigUint::parse_bytes(digits.as_bytes(), 10) } else { None };
        let Some(mantissa) = mantissa.filter(|_| power.abs() <= MAX_POWER_OF_FIVE) else {
            return unknown("numbers this long are not computed");
        };
        if is_negative && mantissa == BigUint::ZERO {
            return negative_zero();
        }
        let sign = if is_negative { Sign::Minus } else { Sign::Plus };
        let mantissa = BigInt::from_biguint(sign, mantissa);
        let five = BigInt::from(5).pow(u32::try_from(power.abs()).unwrap_or(u32::MAX));
        if power >= 0 {
            Self::rounded(mantissa * five, power, PRECISION, false)
        } else {
            quotient(&mantissa, &five, power, PRECISION)
        }
    }

    /// A whole number of any length, with the precision that Go gives it.
    pub(crate) fn whole(number: BigInt) -> Outcome<Self> {
        if number.bits() > PRECISION {
            return unknown("numbers this large are not computed");
        }
        let precision = number.bits().max(INTEGER_PRECISION);
        Ok(Self::new(number, 0, precision))
    }

    /// A whole number that a double holds exactly, with the precision of one.
    pub(crate) fn double(number: i64) -> Self {
        Self::new(BigInt::from(number), 0, 53)
    }

    /// A whole number with the precision of this one.
    pub(crate) fn with_integer(&self, number: BigInt) -> Outcome<Self> {
        Self::rounded(number, 0, self.0.precision, false)
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.0.mantissa.sign() == Sign::NoSign
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.0.mantissa.sign() == Sign::Minus
    }

    /// How much it takes to compute with it, in bytes.
    pub(crate) fn weight(&self) -> usize {
        if self.0.exponent >= 0 && self.0.mantissa.bits() <= 64 { 0 } else { 1024 }
    }

    /// The number as an integer, if it is one.
    pub(crate) fn to_integer(&self) -> Option<BigInt> {
        (self.0.exponent >= 0).then(|| &self.0.mantissa << self.0.exponent)
    }

    pub(crate) fn to_i64(&self) -> Option<i64> {
        i64::try_from(self.to_integer()?).ok()
    }

    /// The largest integer that is not larger (`floor`), or the smallest that is not smaller.
    pub(crate) fn to_floor(&self) -> BigInt {
        // A shift to the right of a negative number goes down.
        self.to_integer().unwrap_or_else(|| &self.0.mantissa >> -self.0.exponent)
    }

    pub(crate) fn negated(&self) -> Outcome<Self> {
        if self.is_zero() {
            return negative_zero();
        }
        Ok(Self::new(-&self.0.mantissa, self.0.exponent, self.0.precision))
    }

    pub(crate) fn plus(&self, other: &Self) -> Outcome<Self> {
        let exponent = self.0.exponent.min(other.0.exponent);
        let aligned = |number: &Self| &number.0.mantissa << (number.0.exponent - exponent);
        Self::rounded(aligned(self) + aligned(other), exponent, self.precision_with(other), false)
    }

    pub(crate) fn minus(&self, other: &Self) -> Outcome<Self> {
        let negative = Self::new(-&other.0.mantissa, other.0.exponent, other.0.precision);
        self.plus(&negative)
    }

    /// The product: computed with 512 bits, of which as many stay as are needed (cty's `Multiply`).
    pub(crate) fn times(&self, other: &Self) -> Outcome<Self> {
        let exponent = self.0.exponent + other.0.exponent;
        if (self.is_zero() || other.is_zero()) && self.is_negative() != other.is_negative() {
            return negative_zero();
        }
        let product = Self::rounded(&self.0.mantissa * &other.0.mantissa, exponent, PRECISION, false)?;
        let precision = product.0.mantissa.bits().max(self.precision_with(other));
        Ok(Self::new(product.0.mantissa.clone(), product.0.exponent, precision))
    }

    pub(crate) fn divided_by(&self, other: &Self) -> Outcome<Self> {
        if other.is_zero() {
            return unknown("division by zero is not computed");
        }
        if self.is_zero() && other.is_negative() {
            return negative_zero();
        }
        let exponent = self.0.exponent - other.0.exponent;
        quotient(&self.0.mantissa, &other.0.mantissa, exponent, self.precision_with(other))
    }

    /// What is left of a division whose quotient is rounded towards zero (cty's `Modulo`).
    pub(crate) fn modulo(&self, other: &Self) -> Outcome<Self> {
        let ratio = self.divided_by(other)?;
        let precision = self.0.precision;
        let whole = Self::rounded(ratio.truncated(), 0, precision, false)?;
        let exponent = other.0.exponent + whole.0.exponent;
        let product = Self::rounded(&other.0.mantissa * &whole.0.mantissa, exponent, precision, false)?;
        self.minus(&product)
    }

    /// The number without what is behind its point.
    pub(crate) fn truncated(&self) -> BigInt {
        self.to_integer().unwrap_or_else(|| {
            let (sign, magnitude) = self.0.mantissa.clone().into_parts();
            BigInt::from_biguint(sign, magnitude >> -self.0.exponent)
        })
    }

    fn precision_with(&self, other: &Self) -> u64 {
        self.0.precision.max(other.0.precision)
    }

    /// The digits of `magnitude * 2^exponent`.
    fn decimal(magnitude: &BigUint, exponent: i64) -> Decimal {
        let power = u32::try_from(-exponent).unwrap_or(0);
        let scaled = if exponent >= 0 { magnitude << exponent } else { magnitude * BigUint::from(5_u8).pow(power) };
        let mut digits = scaled.to_radix_be(10);
        let point = i64::try_from(digits.len()).unwrap_or(i64::MAX) - i64::from(power);
        let end = digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
        digits.truncate(end);
        Decimal { digits, point }
    }

    /// The shortest digits that only this number is nearest to (`roundShortest` of Go's `math/big`).
    fn shortest(&self) -> Decimal {
        let magnitude = self.0.mantissa.magnitude();
        let mut decimal = Self::decimal(magnitude, self.0.exponent);
        // In units of half of the last place of the precision.
        let shift = self.0.precision + 1 - magnitude.bits().min(self.0.precision);
        let exponent = self.0.exponent - shift.cast_signed();
        let is_exact_integer = self.0.exponent >= 0 && exponent < 0;
        if self.is_zero() || is_exact_integer {
            return decimal;
        }
        let scaled = magnitude << shift;
        let (lower, upper) = (Self::decimal(&(&scaled - 1_u8), exponent), Self::decimal(&(&scaled + 1_u8), exponent));
        let is_inclusive = !scaled.bit(1);
        for index in 0..decimal.digits.len() {
            let (digit, low, high) = (decimal.digits[index], lower.at(index), upper.at(index));
            let can_go_down = low != digit || is_inclusive && index + 1 == lower.digits.len();
            let can_go_up = digit != high && (is_inclusive || digit + 1 < high || index + 1 < upper.digits.len());
            match (can_go_down, can_go_up) {
                (false, false) => {}
                (true, true) => {
                    decimal.round(index + 1);
                    break;
                }
                (_, is_up) => {
                    decimal.cut(index + 1, is_up);
                    break;
                }
            }
        }
        decimal
    }

    /// The number with this many digits behind the point (`%.2f`).
    pub(crate) fn to_fixed(&self, places: usize) -> String {
        let mut decimal = Self::decimal(self.0.mantissa.magnitude(), self.0.exponent);
        match usize::try_from(decimal.point + i64::try_from(places).unwrap_or(0)) {
            Ok(count) => decimal.round(count),
            Err(_) => decimal.digits.clear(),
        }
        decimal.text(self.is_negative(), places)
    }
}

/// The number nearest to `dividend / divisor * 2^exponent`.
fn quotient(dividend: &BigInt, divisor: &BigInt, exponent: i64, precision: u64) -> Outcome<Number> {
    let shift = (precision + 2 + divisor.bits()).saturating_sub(dividend.bits());
    let shifted = dividend << shift;
    let whole = &shifted / divisor;
    let sticky = &whole * divisor != shifted;
    Number::rounded(whole, exponent - shift.cast_signed(), precision, sticky)
}

/// Go has a negative zero, whose text is `-0`.
fn negative_zero<T>() -> Outcome<T> {
    unknown("a negative zero is not computed")
}

impl Decimal {
    fn at(&self, index: usize) -> u8 {
        self.digits.get(index).copied().unwrap_or(0)
    }

    /// Keeps this many digits, and rounds to the nearest; ties go to even.
    fn round(&mut self, count: usize) {
        if count >= self.digits.len() {
            return;
        }
        let is_half = self.digits[count] == 5 && count + 1 == self.digits.len();
        let is_odd = count > 0 && self.digits[count - 1] % 2 == 1;
        let is_up = if is_half { is_odd } else { self.digits[count] >= 5 };
        self.cut(count, is_up);
    }

    /// Keeps this many digits, and adds one to the last of them where `is_up`.
    fn cut(&mut self, count: usize, is_up: bool) {
        if count >= self.digits.len() {
            return;
        }
        self.digits.truncate(count);
        if is_up {
            while self.digits.last() == Some(&9) {
                self.digits.pop();
            }
            if let Some(last) = self.digits.last_mut() {
                *last += 1;
            } else {
                self.digits.push(1);
                self.point += 1;
            }
        }
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
    }

    /// The text with at least this many digits behind the point.
    fn text(&self, is_negative: bool, places: usize) -> String {
        let point = usize::try_from(self.point).unwrap_or(0);
        let digit = |index: i64| char::from(b'0' + usize::try_from(index).map_or(0, |index| self.at(index)));
        let mut text = String::from(if is_negative { "-" } else { "" });
        text.extend((0..point).map(|index| digit(i64::try_from(index).unwrap_or(0))));
        if point == 0 {
            text.push('0');
        }
        if places > 0 {
            text.push('.');
            text.extend((0..places).map(|place| digit(self.point + i64::try_from(place).unwrap_or(0))));
        }
        text
    }
}

/// The number as the language writes it: without an exponent.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimal = self.shortest();
        let places = i64::try_from(decimal.digits.len()).unwrap_or(0) - decimal.point;
        f.write_str(&decimal.text(self.is_negative(), usize::try_from(places).unwrap_or(0)))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.0.mantissa == other.0.mantissa && self.0.exponent == other.0.exponent
    }
}

impl Eq for Number {}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let exponent = self.0.exponent.min(other.0.exponent);
        let aligned = |number: &Self| &number.0.mantissa << (number.0.exponent - exponent);
        aligned(self).cmp(&aligned(other))
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
