//! ASCII armor of public keys (RFC 9580, section 6), read as leniently as Go's `openpgp/armor` and
//! no more.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const LONGEST_LINE: usize = 96;

/// The bytes of the first armored block, which must be a public key block. Text before it and a
/// checksum after it are ignored, and so are further blocks.
///
/// # Errors
/// The problem with the text.
pub(super) fn decode_public_key(text: &str) -> Result<Vec<u8>, &'static str> {
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line
            .trim()
            .strip_prefix("-----BEGIN ")
            .and_then(|rest| rest.strip_suffix("-----"))
        else {
            continue;
        };
        // Like Go, this looks for the next block if the headers of this one are malformed.
        if !skip_headers(&mut lines) {
            continue;
        }
        return match kind {
            "PGP PUBLIC KEY BLOCK" => decode_body(lines),
            "PGP PRIVATE KEY BLOCK" => Err("it is a private key"),
            _ => Err("the armored block is not a public key"),
        };
    }
    Err("there is no armored block")
}

/// Reads `Name: value` lines up to a blank line; returns whether there were only such lines.
fn skip_headers<'a>(lines: &mut impl Iterator<Item = &'a str>) -> bool {
    for line in lines {
        if line.trim().is_empty() {
            return true;
        }
        if !line.contains(':') {
            return false;
        }
    }
    false
}

fn decode_body<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Vec<u8>, &'static str> {
    let mut digits = String::new();
    for line in lines {
        let is_checksum = line.len() == 5 && line.starts_with('=');
        if is_checksum || line.starts_with("-----END ") {
            break;
        }
        if line.len() > LONGEST_LINE {
            return Err("a line of the armor is too long");
        }
        digits.push_str(line);
    }
    STANDARD
        .decode(digits)
        .map_err(|_| "the armor is not base64")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_armor_that_go_reads() {
        for text in [
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAQID\n=abcd\n-----END PGP PUBLIC KEY BLOCK-----\n",
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\r\nVersion: 1\r\n\r\nAQ\r\nID\r\n\
             -----END PGP PUBLIC KEY BLOCK-----\r\n",
            "before\n  -----BEGIN PGP PUBLIC KEY BLOCK-----  \nComment: a\n \t\nAQID",
        ] {
            assert_eq!(decode_public_key(text), Ok(vec![1, 2, 3]), "{text:?}");
        }
    }

    #[test]
    fn describes_the_defect_of_armor() {
        for (text, wrong) in [
            ("", "there is no armored block"),
            ("not an armored key", "there is no armored block"),
            (
                "-----BEGIN PGP PUBLIC KEY BLOCK-----\nAQID\n",
                "there is no armored block",
            ),
            (
                "-----BEGIN PGP PUBLIC KEY BLOCK-----",
                "there is no armored block",
            ),
            (
                "-----BEGIN PGP SIGNATURE-----\n\nAQID\n",
                "the armored block is not a public key",
            ),
            (
                "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nAQID\n",
                "it is a private key",
            ),
            (
                "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAQI\n",
                "the armor is not base64",
            ),
            (
                "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAQID!\n",
                "the armor is not base64",
            ),
        ] {
            assert_eq!(decode_public_key(text), Err(wrong), "{text:?}");
        }
    }
}
