//! File names that are special on Windows.

/// The names of devices, with any extension.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Whether Windows would read a name as a device, as a stream of another file, as a shorter name,
/// or not as a name (<https://learn.microsoft.com/windows/win32/fileio/naming-a-file>).
pub(crate) fn is_special_on_windows(name: &str) -> bool {
    name.ends_with(['.', ' '])
        || name.contains(|c: char| c.is_ascii_control() || "<>:\"/\\|?*".contains(c))
        || is_device_name(name)
}

/// Whether a name, or the part before its first dot, is the name of a device on Windows.
pub(crate) fn is_device_name(name: &str) -> bool {
    let stem = name
        .split('.')
        .next()
        .unwrap_or_default()
        .trim_end_matches(' ')
        .to_lowercase();
    let port = stem
        .strip_prefix("com")
        .or_else(|| stem.strip_prefix("lpt"));
    let is_port = port
        .is_some_and(|number| matches!(number, "\u{b9}" | "\u{b2}" | "\u{b3}") || is_digit(number));
    DEVICES.contains(&stem.as_str()) || is_port
}

fn is_digit(text: &str) -> bool {
    matches!(text.as_bytes(), [b'0'..=b'9'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_streams_and_trailing_dots_are_special() {
        for name in [
            "con",
            "NUL.tf",
            "aux.tf.json",
            "com1",
            "Lpt9.tf",
            "COM\u{b2}.tf",
            "conin$",
            "nul .tf",
        ] {
            assert!(is_special_on_windows(name), "{name}");
        }
        for name in [
            "main.tf:hidden",
            "main.tf.",
            "main.tf ",
            "a\\b",
            "a?",
            "a\nb",
            "c:",
            "..",
            ".",
        ] {
            assert!(is_special_on_windows(name), "{name}");
        }
        for name in [
            "main.tf",
            "console.tf",
            "com10",
            "com",
            "lpt",
            "nullable.tf",
            ".terraform",
            "a b",
            "ä.tf",
            "",
        ] {
            assert!(!is_special_on_windows(name), "{name}");
        }
    }
}
