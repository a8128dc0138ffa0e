//! Arithmetic with literal numbers, as OpenTofu and Terraform compute it: in binary numbers of 512
//! bits, which round to the nearest one (`cty`, with Go's `big.Float`).

use hcl_edit::expr::{BinaryOperator, Expression, UnaryOperator};
use num_bigint_dig::BigUint;

use super::decimal::decimal;

const PRECISION: usize = 512;
/// Largest exponent in bits; bounds the memory that an addition takes.
const LARGEST_EXPONENT: i64 = 4_096;
/// Largest number of digits after the point that a result may have. A version has far fewer.
const MOST_DIGITS: usize = 40;

/// A binary number: the mantissa multiplied by a power of two.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Number {
    is_negative: bool,
    /// At most [`PRECISION`] bits, and odd unless it is zero.
    mantissa: BigUint,
    exponent: i64,
}

/// Returns the text to which the result of literal numbers and operators converts: `3.1` for
/// `3.0 + 0.1`. `None` for other expressions, and for results with very many digits, which no
/// version has.
pub(crate) fn constant_number(expression: &Expression) -> Option<String> {
    evaluate(expression)?.text()
}

/// Computes an expression of numbers; `None` for any other expression, and if a number has too many
/// digits.
fn evaluate(expression: &Expression) -> Option<Number> {
    match expression {
        Expression::Parenthesis(inner) => evaluate(inner.inner()),
        Expression::Number(number) => Number::parse(number.as_repr()?),
        Expression::UnaryOp(operation) => match operation.operator.value() {
            UnaryOperator::Neg => Some(evaluate(&operation.expr)?.negated()),
            UnaryOperator::Not => None,
        },
        Expression::BinaryOp(operation) => {
            let left = evaluate(&operation.lhs_expr)?;
            let right = evaluate(&operation.rhs_expr)?;
            match operation.operator.value() {
                BinaryOperator::Plus => left.plus(&right),
                BinaryOperator::Minus => left.plus(&right.negated()),
                BinaryOperator::Mul => left.times(&right),
                BinaryOperator::Div => left.divided_by(&right),
                BinaryOperator::Mod => left.modulo(&right),
                _ => None,
            }
        }
        _ => None,
    }
}

impl Number {
    /// Rounds to the nearest number of [`PRECISION`] bits, and to the even one in the middle.
    /// `None` if the exponent is too large.
    fn rounded(is_negative: bool, mantissa: BigUint, exponent: i64) -> Option<Self> {
        let (mut mantissa, mut exponent) = (mantissa, exponent);
        let excess = mantissa.bits().saturating_sub(PRECISION);
        if excess > 0 {
            let kept = &mantissa >> excess;
            let rest = &mantissa - (&kept << excess);
            let half = BigUint::from(1_u8) << (excess - 1);
            let is_odd = trailing_zeros(&kept) == 0;
            let is_up = rest > half || (rest == half && is_odd);
            mantissa = if is_up { kept + 1_u8 } else { kept };
            exponent = exponent.checked_add(i64::try_from(excess).ok()?)?;
        }
        if mantissa.bits() == 0 {
            return Some(Self {
                is_negative: false,
                mantissa,
                exponent: 0,
            });
        }

        // One form for each number.
        let zeros = trailing_zeros(&mantissa);
        exponent = exponent.checked_add(i64::try_from(zeros).ok()?)?;
        if exponent.abs() > LARGEST_EXPONENT {
            return None;
        }
        Some(Self {
            is_negative,
            mantissa: mantissa >> zeros,
            exponent,
        })
    }

    /// Parses a literal. The parser takes a minus sign before one as a part of it.
    fn parse(written: &str) -> Option<Self> {
        if let Some(positive) = written.strip_prefix('-') {
            return Some(Self::parse(positive)?.negated());
        }
        let text = decimal(written)?;
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let digits = format!("{whole}{fraction}").parse::<BigUint>().ok()?;
        Self::quotient(false, digits, &power_of_ten(fraction.len()), 0)
    }

    /// The quotient of two integers, multiplied by a power of two.
    fn quotient(
        is_negative: bool,
        dividend: BigUint,
        divisor: &BigUint,
        exponent: i64,
    ) -> Option<Self> {
        let shift = (PRECISION + 2 + divisor.bits()).saturating_sub(dividend.bits());
        let shifted = dividend << shift;
        let quotient = &shifted / divisor;
        let has_rest = &quotient * divisor != shifted;
        // A further bit stands for the rest.
        let quotient = (quotient << 1_usize) + u8::from(has_rest);
        let exponent = exponent.checked_sub(i64::try_from(shift).ok()? + 1)?;
        Self::rounded(is_negative, quotient, exponent)
    }

    fn negated(self) -> Self {
        let is_zero = self.mantissa.bits() == 0;
        Self {
            is_negative: !self.is_negative && !is_zero,
            ..self
        }
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        let exponent = self.exponent.min(other.exponent);
        let own = self.mantissa_for(exponent)?;
        let others = other.mantissa_for(exponent)?;
        if self.is_negative == other.is_negative {
            return Self::rounded(self.is_negative, own + others, exponent);
        }
        if own > others {
            Self::rounded(self.is_negative, own - others, exponent)
        } else {
            Self::rounded(other.is_negative, others - own, exponent)
        }
    }

    fn times(&self, other: &Self) -> Option<Self> {
        let is_negative = self.is_negative != other.is_negative;
        let exponent = self.exponent + other.exponent;
        Self::rounded(is_negative, &self.mantissa * &other.mantissa, exponent)
    }

    fn divided_by(&self, other: &Self) -> Option<Self> {
        if other.mantissa.bits() == 0 {
            return None;
        }
        let is_negative = self.is_negative != other.is_negative;
        let exponent = self.exponent - other.exponent;
        Self::quotient(
            is_negative,
            self.mantissa.clone(),
            &other.mantissa,
            exponent,
        )
    }

    /// As `cty` does: the rest of a division whose result is truncated.
    fn modulo(&self, other: &Self) -> Option<Self> {
        let quotient = self.divided_by(other)?;
        let whole = match usize::try_from(-quotient.exponent) {
            Ok(shift) => quotient.mantissa >> shift,
            Err(_) => quotient.mantissa_for(0)?,
        };
        let whole = Self::rounded(quotient.is_negative, whole, 0)?;
        self.plus(&other.times(&whole)?.negated())
    }

    /// The mantissa for an exponent that is not larger.
    fn mantissa_for(&self, exponent: i64) -> Option<BigUint> {
        let shift = usize::try_from(self.exponent - exponent).ok()?;
        Some(&self.mantissa << shift)
    }

    /// The shortest decimal number that rounds to this one.
    fn text(&self) -> Option<String> {
        for digits in 0..=MOST_DIGITS {
            let text = self.with_digits(digits)?;
            let parsed = Self::parse(&text)?;
            if parsed.mantissa == self.mantissa && parsed.exponent == self.exponent {
                let sign = if self.is_negative { "-" } else { "" };
                return Some(format!("{sign}{text}"));
            }
        }
        None
    }

    /// The number without its sign, with this number of digits after the point.
    fn with_digits(&self, digits: usize) -> Option<String> {
        let scaled = &self.mantissa * power_of_ten(digits);
        let rounded = match usize::try_from(-self.exponent) {
            Ok(0) | Err(_) => scaled << usize::try_from(self.exponent).ok()?,
            Ok(shift) => (scaled + (BigUint::from(1_u8) << (shift - 1))) >> shift,
        };
        let text = rounded.to_str_radix(10);
        let text = format!("{text:0>width$}", width = digits + 1);
        let (whole, fraction) = text.split_at(text.len() - digits);
        if fraction.is_empty() {
            return Some(whole.to_owned());
        }
        Some(format!("{whole}.{fraction}"))
    }
}

/// Number of zero bits at the end of a number that is not zero.
fn trailing_zeros(number: &BigUint) -> usize {
    let digits = number.to_bytes_le();
    let mut zeros = 0;
    for digit in digits {
        zeros += digit.trailing_zeros() as usize;
        if digit != 0 {
            break;
        }
    }
    zeros
}

fn power_of_ten(exponent: usize) -> BigUint {
    let mut power = BigUint::from(1_u8);
    for _ in 0..exponent {
        power *= 10_u8;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hcl::parse;

    fn computed(text: &str) -> Option<String> {
        constant_number(&parse::expression(text).unwrap())
    }

    #[test]
    fn results_have_the_digits_of_terraform() {
        for (text, expected) in [
            ("3 + 0", "3"),
            ("3.0 + 0.1", "3.1"),
            ("3.1 * 1", "3.1"),
            ("6.2 / 2", "3.1"),
            ("31 / 10", "3.1"),
            ("7 % 4", "3"),
            ("-7 % 4", "-3"),
            ("-(-3)", "3"),
            ("3.1 - 0.0", "3.1"),
            ("(3.1e0 + 0)", "3.1"),
            ("1 + 2 * 1", "3"),
            ("1 - 4", "-3"),
            ("0.5 - 0.5", "0"),
            ("2 * 0.25", "0.5"),
        ] {
            assert_eq!(computed(text).as_deref(), Some(expected), "{text}");
        }
        // These have 150 digits or more, because the operands are not exact.
        for text in ["3.4 - 0.3", "9.3 / 3", "1 / 3"] {
            assert_eq!(computed(text), None, "{text}");
        }
    }

    #[test]
    fn hostile_numbers_end() {
        let product = vec!["1e149"; 100].join(" * ");
        let quotient = vec!["1e-149"; 100].join(" * ");
        for text in ["1 / 0", "1 % 0", "1 + true", &product, &quotient] {
            assert_eq!(computed(text), None, "{text}");
        }
    }
}
