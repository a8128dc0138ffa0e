//! The decimal form of literal numbers.

/// Returns a number without a sign in its shortest decimal form: `3.1` for `3.10` and for `31e-1`.
/// `None` if it has more digits than OpenTofu and Terraform keep.
pub(crate) fn decimal(written: &str) -> Option<String> {
    /// Digits of numbers that are certainly exact in 512 bits.
    const MOST_DIGITS: usize = 150;

    let mut mantissa = written;
    let mut exponent = 0;
    if let Some((before, after)) = written.split_once(['e', 'E']) {
        mantissa = before;
        exponent = after.parse::<i64>().ok()?;
    }
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }

    // Position of the point in the digits. The exponent may move it beyond either end.
    let point = i64::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let most = i64::try_from(MOST_DIGITS).ok()?;
    if digits.len() > MOST_DIGITS || point.abs() > most {
        return None;
    }

    // Zeros fill the gap between the digits and a point beyond them.
    let zeros_before = usize::try_from(-point).unwrap_or(0);
    let whole_length = usize::try_from(point).unwrap_or(0);
    let zeros_after = whole_length.saturating_sub(digits.len());
    let padded = format!(
        "{}{digits}{}",
        "0".repeat(zeros_before),
        "0".repeat(zeros_after)
    );
    let (padded_whole, padded_fraction) = padded.split_at(whole_length);

    let mut shortest = padded_whole.trim_start_matches('0').to_owned();
    if shortest.is_empty() {
        shortest.push('0');
    }
    let shortest_fraction = padded_fraction.trim_end_matches('0');
    if !shortest_fraction.is_empty() {
        shortest.push('.');
        shortest.push_str(shortest_fraction);
    }
    Some(shortest)
}
