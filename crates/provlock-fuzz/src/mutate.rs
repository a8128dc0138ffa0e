//! Inputs made from seeds by chance.

use crate::lockfile::rng::Rng;

/// No input is longer, in bytes.
const LONGEST: usize = 64 << 10;

/// Tokens of the notations, with a space between each.
const WORDS: &str = "\" ' { } [ ] ( ) = : , # // /* */ ${ %{ $${ \\ \\u0000 .. ../ ./ ? @ %2e :: 0 -1 \
                     18446744073709551616 1e999 null true \0 \u{feff} \u{85} \u{a0} \u{202e} \u{e9}";

/// White space that means something, and lines that do.
const LINES: [&str; 9] = [
    " ",
    "\t",
    "\n",
    "\r\n",
    "<<EOT\n",
    "\nEOT\n",
    "<<<<<<< a\n",
    "=======\n",
    ">>>>>>> b\n",
];

/// Numbers at which a width or a sign ends.
const NUMBERS: [u32; 8] = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff];

/// A seed with a few changes. The same number gives the same input.
pub fn mutated(seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut rng = Rng::new(number);
    let mut bytes = rng.pick(seeds).clone();
    for _ in 0..=rng.below(6) {
        change(&mut rng, seeds, &mut bytes);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(rng: &mut Rng, seeds: &[Vec<u8>], bytes: &mut Vec<u8>) {
    let start = rng.below(bytes.len() + 1);
    let longest = 1 << rng.below(8);
    let end = (start + rng.below(longest)).min(bytes.len());
    match rng.below(8) {
        0 => {
            if let Some(byte) = bytes.get_mut(start) {
                *byte ^= 1 << rng.below(8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(start) {
                *byte = rng.next().to_le_bytes()[0];
            }
        }
        2 => _ = bytes.drain(start..end),
        3 => {
            let piece = bytes[start..end].to_vec();
            let place = rng.below(bytes.len() + 1);
            bytes.splice(place..place, piece);
        }
        4 => {
            let pieces: Vec<_> = WORDS.split(' ').chain(LINES).collect();
            bytes.splice(start..end, rng.pick(&pieces).bytes());
        }
        5 => {
            let other = rng.pick(seeds);
            let from = rng.below(other.len() + 1);
            let to = (from + rng.below(longest)).min(other.len());
            bytes.splice(start..end, other[from..to].iter().copied());
        }
        6 => {
            let width = *rng.pick(&[2, 4]);
            let number = rng.pick(&NUMBERS).to_le_bytes();
            let end = (start + width).min(bytes.len());
            bytes[start..end].copy_from_slice(&number[..end - start]);
        }
        _ if rng.once_in(8) => bytes.truncate(start),
        _ => bytes.insert(start, rng.next().to_le_bytes()[0]),
    }
}
