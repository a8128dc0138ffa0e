//! Functions on strings.

use super::super::value::{Outcome, Value, failure, unknown};
use super::function::Function;
use super::function::Parameter::{Number, Text, Texts};

pub(super) const FUNCTIONS: &[Function] = &[
    Function("lower", &[Text], None, |arguments, _| each_char(&arguments[0], |c| c.to_lowercase().collect())),
    Function("upper", &[Text], None, |arguments, _| each_char(&arguments[0], |c| c.to_uppercase().collect())),
    Function("title", &[Text], None, |arguments, _| title(&arguments[0])),
    Function("trimspace", &[Text], None, |arguments, _| map(arguments, |text| text.trim().to_owned())),
    Function("chomp", &[Text], None, |arguments, _| {
        map(arguments, |text| text.trim_end_matches(['\r', '\n']).to_owned())
    }),
    Function("strrev", &[Text], None, |arguments, _| {
        simple(&arguments[0])?;
        map(arguments, |text| text.chars().rev().collect())
    }),
    Function("trim", &[Text, Text], None, |arguments, _| {
        map_with(arguments, |text, set| text.trim_matches(|c| set.contains(c)).to_owned())
    }),
    Function("trimprefix", &[Text, Text], None, |arguments, _| {
        map_with(arguments, |text, part| text.strip_prefix(part).unwrap_or(text).to_owned())
    }),
    Function("trimsuffix", &[Text, Text], None, |arguments, _| {
        map_with(arguments, |text, part| text.strip_suffix(part).unwrap_or(text).to_owned())
    }),
    Function("startswith", &[Text, Text], None, |arguments, _| test(arguments, |text, part| text.starts_with(part))),
    Function("endswith", &[Text, Text], None, |arguments, _| test(arguments, |text, part| text.ends_with(part))),
    Function("strcontains", &[Text, Text], None, |arguments, _| test(arguments, |text, part| text.contains(part))),
    Function("split", &[Text, Text], None, |arguments, _| split(arguments)),
    Function("join", &[Text], Some(Texts), |arguments, _| join(arguments)),
    Function("substr", &[Text, Number, Number], None, |arguments, _| substr(arguments)),
    Function("indent", &[Number, Text], None, |arguments, _| indent(arguments)),
];

fn map(arguments: &[Value], change: impl Fn(&str) -> String) -> Outcome {
    Ok(Value::string(change(&arguments[0].as_string()?)))
}

fn map_with(arguments: &[Value], change: impl Fn(&str, &str) -> String) -> Outcome {
    Ok(Value::string(change(&arguments[0].as_string()?, &arguments[1].as_string()?)))
}

fn test(arguments: &[Value], holds: impl Fn(&str, &str) -> bool) -> Outcome {
    Ok(Value::Bool(holds(&arguments[0].as_string()?, &arguments[1].as_string()?)))
}

/// Refuses to build text of more than a MiB out of little.
pub(super) fn bounded(length: usize) -> Outcome<()> {
    if length > 1 << 20 { unknown("the text is too long to be computed") } else { Ok(()) }
}

/// Refuses text whose characters, as people see them, are not its bytes.
pub(super) fn simple(text: &Value) -> Outcome<()> {
    let text = text.as_string()?;
    if text.is_ascii() && !text.contains("\r\n") {
        Ok(())
    } else {
        unknown("parts of text that is not ASCII are not computed")
    }
}

/// Maps each character to one other, as Go does. Where Unicode maps it to several, Go may have another one.
fn each_char(text: &Value, change: impl Fn(char) -> String) -> Outcome {
    let mut result = String::new();
    for c in text.as_string()?.chars() {
        let changed = change(c);
        if changed.chars().nth(1).is_none() {
            result.push_str(&changed);
        } else if c == 'ß' {
            result.push(c);
        } else {
            return unknown("the case of this character is not computed");
        }
    }
    Ok(Value::string(result))
}

fn title(text: &Value) -> Outcome {
    let text = text.as_string()?;
    if !text.is_ascii() {
        return unknown("the case of text that is not ASCII is not computed");
    }
    let mut title = String::with_capacity(text.len());
    for c in text.chars() {
        let starts_word = !title.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_');
        title.push(if starts_word { c.to_ascii_uppercase() } else { c });
    }
    Ok(Value::string(title))
}

fn split(arguments: &[Value]) -> Outcome {
    let (separator, text) = (arguments[0].as_string()?, arguments[1].as_string()?);
    if separator.is_empty() {
        return Value::strings(text.chars().map(String::from));
    }
    Value::strings(text.split(&*separator))
}

fn join(arguments: &[Value]) -> Outcome {
    let Some((separator, lists)) = arguments.split_first().filter(|(_, lists)| !lists.is_empty()) else {
        return failure("takes a separator and lists");
    };
    let mut parts = Vec::new();
    for list in lists {
        for item in list.as_list()? {
            parts.push(item.as_string()?);
        }
    }
    let separator = separator.as_string()?;
    bounded(parts.len().saturating_mul(separator.len()))?;
    Ok(Value::string(parts.join(&*separator)))
}

/// `substr`. From an offset before the end, a length of zero means all of the rest.
fn substr(arguments: &[Value]) -> Outcome {
    simple(&arguments[0])?;
    let text = arguments[0].as_string()?;
    let (offset, length) = (arguments[1].as_integer()?, arguments[2].as_integer()?);
    if offset >= 0 && length == 0 {
        return Ok(Value::string(""));
    }
    let index = |number: i64| usize::try_from(number.max(0)).unwrap_or(usize::MAX).min(text.len());
    let end = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let start = if offset < 0 { end.saturating_add(offset) } else { offset };
    let stop = if length <= 0 { end } else { start.max(0).saturating_add(length) };
    Ok(Value::string(text.get(index(start)..index(stop)).unwrap_or_default()))
}

fn indent(arguments: &[Value]) -> Outcome {
    let (Ok(width), text) = (usize::try_from(arguments[0].as_integer()?), arguments[1].as_string()?) else {
        return unknown("a negative width is not computed");
    };
    bounded(width.saturating_mul(text.matches('\n').count()))?;
    bounded(width)?;
    Ok(Value::string(text.replace('\n', &format!("\n{}", " ".repeat(width)))))
}
