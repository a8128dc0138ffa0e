//! The decimal form of literal numbers.

/// Returns a number without a sign in its shortest decimal form: `3.1` for `3.10` and for `31e-1`.
/// `None` if it has more digits than OpenTofu and Terraform keep.
pub(crate) fn decimal(written: &str) -> Option<String> {
    /// Digits of numbers that are certainly exact in 512 bits.
    const MOST_DIGITS: usize = 150;
    let (mantissa, exponent) = match written.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (written, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }

    // Position of the point in the digits.
    let point = i64::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let most = i64::try_from(MOST_DIGITS).ok()?;
    if digits.len() > MOST_DIGITS || point.abs() > most {
        return None;
    }
    let before = usize::try_from(-point).unwrap_or(0);
    let digits = format!("{}{digits}", "0".repeat(before));
    let point = usize::try_from(point).unwrap_or(0);
    let after = point.saturating_sub(digits.len());
    let digits = format!("{digits}{}", "0".repeat(after));
    let (whole, fraction) = digits.split_at(point);

    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = fraction.trim_end_matches('0');
    Some(if fraction.is_empty() {
        whole.to_owned()
    } else {
        format!("{whole}.{fraction}")
    })
}
