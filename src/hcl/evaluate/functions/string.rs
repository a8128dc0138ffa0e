//! Functions on strings.

use super::super::value::{Outcome, Value, failure, unknown};
use super::arguments::{bounded, nullable, take};

/// Calls a function whose arguments are fully known.
pub(super) fn call(name: &str, arguments: &[Value]) -> Option<Outcome> {
    let outcome = match name {
        "lower" => map(arguments, str::to_lowercase),
        "upper" => map(arguments, str::to_uppercase),
        "title" => map(arguments, title),
        "trimspace" => map(arguments, |text| text.trim().to_owned()),
        "chomp" => map(arguments, |text| text.trim_end_matches(['\r', '\n']).to_owned()),
        "strrev" if matches!(arguments, [Value::String(text)] if text.is_ascii()) => {
            map(arguments, |text| text.chars().rev().collect())
        }
        "trim" => map_with(arguments, |text, set| text.trim_matches(|c| set.contains(c)).to_owned()),
        "trimprefix" => map_with(arguments, |text, part| text.strip_prefix(part).unwrap_or(text).to_owned()),
        "trimsuffix" => map_with(arguments, |text, part| text.strip_suffix(part).unwrap_or(text).to_owned()),
        "startswith" => test(arguments, |text, part| text.starts_with(part)),
        "endswith" => test(arguments, |text, part| text.ends_with(part)),
        "strcontains" => test(arguments, |text, part| text.contains(part)),
        "tostring" => take(arguments).and_then(|[value]| nullable(value, |value| value.as_string().map(Value::String))),
        "basename" => map(arguments, |path| path.trim_end_matches('/').rsplit('/').next().unwrap_or("").to_owned()),
        "dirname" => map(arguments, dirname),
        "split" => split(arguments),
        "join" => join(arguments),
        "substr" => substr(arguments),
        "format" => format(arguments),
        "indent" => indent(arguments),
        _ => return None,
    };
    Some(outcome)
}

fn map(arguments: &[Value], change: impl Fn(&str) -> String) -> Outcome {
    let [text] = take(arguments)?;
    Ok(Value::string(change(&text.as_string()?)))
}

fn map_with(arguments: &[Value], change: impl Fn(&str, &str) -> String) -> Outcome {
    let [text, part] = take(arguments)?;
    Ok(Value::string(change(&text.as_string()?, &part.as_string()?)))
}

fn test(arguments: &[Value], holds: impl Fn(&str, &str) -> bool) -> Outcome {
    let [text, part] = take(arguments)?;
    Ok(Value::Bool(holds(&text.as_string()?, &part.as_string()?)))
}

fn title(text: &str) -> String {
    let mut title = String::with_capacity(text.len());
    for c in text.chars() {
        let starts_word = !title.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '_' | '\''));
        if starts_word { title.extend(c.to_uppercase()) } else { title.push(c) }
    }
    title
}

fn dirname(path: &str) -> String {
    match path.rfind('/') {
        None => ".".to_owned(),
        Some(0) => "/".to_owned(),
        Some(slash) => path[..slash].trim_end_matches('/').to_owned(),
    }
}

fn split(arguments: &[Value]) -> Outcome {
    let [separator, text] = take(arguments)?;
    let (separator, text) = (separator.as_string()?, text.as_string()?);
    if separator.is_empty() {
        return Value::list(text.chars().map(|c| Value::string(c.to_string())).collect());
    }
    let parts = if text.is_empty() { Vec::new() } else { text.split(&*separator).map(Value::string).collect() };
    Value::list(parts)
}

fn join(arguments: &[Value]) -> Outcome {
    let Some((separator, lists)) = arguments.split_first() else { return failure("takes a separator and lists") };
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

fn substr(arguments: &[Value]) -> Outcome {
    let [text, offset, length] = take(arguments)?;
    let text = text.as_string()?;
    if !text.is_ascii() {
        return unknown("parts of text that is not ASCII are not computed");
    }
    #[expect(clippy::cast_precision_loss)] // strings are far shorter
    let end = text.len() as f64;
    let offset = offset.as_number()?;
    let start = if offset < 0.0 { (end + offset).max(0.0) } else { offset.min(end) };
    let length = length.as_number()?;
    let stop = if length < 0.0 { end } else { (start + length).min(end) };
    let (start, stop) = (Value::Number(start).as_index()?, Value::Number(stop).as_index()?);
    Ok(Value::string(&text[start..stop]))
}

/// `format` with `%s`, `%v`, `%d`, `%q` and `%%`, without widths.
fn format(arguments: &[Value]) -> Outcome {
    let Some((pattern, arguments)) = arguments.split_first() else { return failure("takes a format") };
    let (pattern, mut arguments) = (pattern.as_string()?, arguments.iter());
    let mut result = String::new();
    let mut rest = &*pattern;
    while let Some((text, directive)) = rest.split_once('%') {
        result.push_str(text);
        let verb = directive.chars().next();
        rest = directive.get(1..).unwrap_or_default();
        if verb == Some('%') {
            result.push('%');
            continue;
        }
        let argument = arguments.next().map_or_else(|| failure("too few arguments"), Ok)?;
        match (verb, argument) {
            (Some('s'), _) | (Some('v'), Value::String(_) | Value::Number(_) | Value::Bool(_)) => {
                result.push_str(&argument.as_string()?);
            }
            (Some('d'), _) => result.push_str(&argument.as_number()?.trunc().to_string()),
            (Some('q'), _) => result.push_str(&serde_json::Value::from(&*argument.as_string()?).to_string()),
            _ => return unknown("this format is not evaluated"),
        }
    }
    result.push_str(rest);
    if arguments.next().is_some() { failure("too many arguments") } else { Ok(Value::string(result)) }
}

fn indent(arguments: &[Value]) -> Outcome {
    let [width, text] = take(arguments)?;
    let (width, text) = (width.as_index()?, text.as_string()?);
    bounded(width.saturating_mul(text.matches('\n').count()))?;
    Ok(Value::string(text.replace('\n', &format!("\n{}", " ".repeat(width)))))
}
