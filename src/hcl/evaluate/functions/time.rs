//! `formatdate` (cty's `function/stdlib/datetime.go`).

use super::super::value::{Outcome, Value, failure, unknown};
use super::function::Function;
use super::function::Parameter::Text;

pub(super) const FUNCTIONS: &[Function] = &[Function("formatdate", &[Text, Text], None, |arguments, _| {
    let time = Time::parse(&arguments[1].as_string()?)?;
    Ok(Value::string(format(&arguments[0].as_string()?, &time)?))
})];

/// A time in a zone, as it is written.
struct Time {
    day: jiff::civil::Date,
    clock: jiff::civil::Time,
    /// The offset of the zone: its sign, hours and minutes.
    offset: (char, u8, u8),
}

impl Time {
    /// Reads `2006-01-02T15:04:05Z`, or with an offset such as `+07:00`. Go reads more forms.
    fn parse(text: &str) -> Outcome<Self> {
        let other = || unknown("this time is not read");
        let (Some(local), Some(zone)) = (text.get(..19), text.get(19..)) else { return other() };
        let is_form = local
            .bytes()
            .zip("dddd-dd-ddTdd:dd:dd".bytes())
            .all(|(byte, form)| if form == b'd' { byte.is_ascii_digit() } else { byte == form });
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<u8>().ok());
        let offset = match zone.as_bytes() {
            b"Z" => Some(('+', 0, 0)),
            [sign @ (b'+' | b'-'), a, b, b':', c, d] if [a, b, c, d].iter().all(|digit| digit.is_ascii_digit()) => {
                number(zone.get(1..3))
                    .zip(number(zone.get(4..)))
                    .map(|(hours, minutes)| (char::from(*sign), hours, minutes))
            }
            _ => None,
        };
        let Some(offset @ (_, 0..=23, 0..=59)) = offset.filter(|_| is_form) else { return other() };
        match (local[..10].parse(), local[11..].parse()) {
            (Ok(day), Ok(clock)) if !local.ends_with("60") && !local.starts_with("0000") => {
                Ok(Self { day, clock, offset })
            }
            _ => other(),
        }
    }

    /// What letters of this kind and number stand for.
    fn part(&self, letter: char, count: usize) -> Outcome<String> {
        let Self { day: date, clock: time, offset: (sign, hours, minutes) } = self;
        let (sign, is_utc) = (if (*hours, *minutes) == (0, 0) { &'+' } else { sign }, (*hours, *minutes) == (0, 0));
        let number = |number: i8| if count == 2 { format!("{number:02}") } else { number.to_string() };
        Ok(match (letter, count) {
            ('Y', 4) => format!("{:04}", date.year()),
            ('Y', 2) => format!("{:02}", date.year() % 100),
            ('M', 4) => date.strftime("%B").to_string(),
            ('M', 3) => date.strftime("%b").to_string(),
            ('M', 1 | 2) => number(date.month()),
            ('D', 1 | 2) => number(date.day()),
            ('E', 4) => date.strftime("%A").to_string(),
            ('E', 3) => date.strftime("%a").to_string(),
            ('h', 1 | 2) => number(time.hour()),
            ('H', 1 | 2) => number((time.hour() + 11) % 12 + 1),
            ('A', 2) => if time.hour() < 12 { "AM" } else { "PM" }.to_owned(),
            ('a', 2) => if time.hour() < 12 { "am" } else { "pm" }.to_owned(),
            ('m', 1 | 2) => number(time.minute()),
            ('s', 1 | 2) => number(time.second()),
            ('Z', 1) if is_utc => "Z".to_owned(),
            ('Z', 3) if is_utc => "UTC".to_owned(),
            ('Z', 1 | 5) => format!("{sign}{hours:02}:{minutes:02}"),
            ('Z', 3 | 4) => format!("{sign}{hours:02}{minutes:02}"),
            _ => return failure("the format has unknown letters"),
        })
    }
}

fn format(pattern: &str, time: &Time) -> Outcome<String> {
    let mut result = String::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let count = rest.len() - rest.trim_start_matches(first).len();
        if rest.starts_with("''") {
            return unknown("quotes without text are not computed");
        }
        if first == '\'' {
            rest = quoted(&rest[1..], &mut result)?;
            continue;
        }
        if first.is_ascii_alphabetic() {
            result.push_str(&time.part(first, count)?);
        } else {
            result.push_str(&rest[..count]);
        }
        rest = &rest[count..];
    }
    Ok(result)
}

/// Adds quoted text, in which a quote is written twice, and returns what follows it.
fn quoted<'a>(mut rest: &'a str, result: &mut String) -> Outcome<&'a str> {
    loop {
        let Some((text, behind)) = rest.split_once('\'') else { return failure("a quote is not closed") };
        result.push_str(text);
        match behind.strip_prefix('\'') {
            Some(behind) => {
                result.push('\'');
                rest = behind;
            }
            None => return Ok(behind),
        }
    }
}
