//! How downloads look on a terminal: a row for all of them, then one for each, as many as fit.

use std::time::Duration;

use provlock::packages::archive::PackageId;

use crate::cli::render::style::{bytes, count};

#[derive(Default)]
pub(super) struct Transfers {
    /// The unfinished downloads, in the order in which they started.
    pub(super) active: Vec<Transfer>,
    /// How many packages have come.
    pub(super) done: usize,
    /// Bytes that have come, of all.
    pub(super) received: u64,
}

pub(super) struct Transfer {
    pub(super) package: PackageId,
    /// Its size in bytes, if the server says.
    pub(super) length: Option<u64>,
    pub(super) received: u64,
}

/// The greatest number of rows: nobody reads more while they change.
const MOST_ROWS: usize = 8;

/// The width of `1023.9/1023.9 MiB`.
const BYTES_WIDTH: usize = 17;

/// The greatest width of a name, which is cut in its middle.
const MOST_NAME: usize = 40;

/// A name is cut for a bar, but not to less.
const LEAST_NAME: usize = 20;

/// The bar is never narrower.
const LEAST_BAR: usize = 8;

/// The greatest width of the bar: a longer one shows nothing more.
const MOST_BAR: usize = 40;

const GAP: &str = "  ";

impl Transfers {
    /// The lines for a terminal of this size, so long after the first download started. No line is as wide as the
    /// terminal.
    pub(super) fn lines(&self, elapsed: Duration, width: usize, height: usize) -> Vec<String> {
        // One row is for all of them, one says how many more there are, and one is for the cursor.
        let rows = MOST_ROWS.min(height.saturating_sub(3));
        let shown = &self.active[..self.active.len().min(rows)];
        let width = width.saturating_sub(1);
        let longest = shown.iter().map(|transfer| transfer.name().chars().count()).max().unwrap_or_default();
        let room = width.saturating_sub(BYTES_WIDTH + GAP.len());
        let beside_bar = room.saturating_sub(LEAST_BAR + GAP.len());
        let has_bar = beside_bar >= longest.min(LEAST_NAME);
        let name_width = longest.min(MOST_NAME).min(if has_bar { beside_bar } else { room });
        let bar_width = has_bar.then(|| room.saturating_sub(name_width + GAP.len()).min(MOST_BAR));
        let mut lines = vec![self.total(elapsed, width)];
        lines.extend(shown.iter().map(|transfer| transfer.line(name_width, bar_width)));
        let more = self.active.len() - shown.len();
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines.iter().map(|line| cut(line, width)).collect()
    }

    /// `3 packages downloaded, 2 on the way  71.2 MiB  23.1 MiB/s`, or `3 of 5  71.2 MiB  23.1 MiB/s` where that is
    /// too wide.
    fn total(&self, elapsed: Duration, width: usize) -> String {
        let going_on = self.active.len();
        let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = self.received.saturating_mul(1000) / milliseconds;
        let bytes = format!("{GAP}{}{GAP}{}/s", bytes(self.received), bytes(rate));
        let text = format!("{} downloaded, {going_on} on the way{bytes}", count(self.done, "package"));
        if text.len() <= width { text } else { format!("{} of {}{bytes}", self.done, self.done + going_on) }
    }
}

impl Transfer {
    fn name(&self) -> String {
        let PackageId { address, version, platform } = &self.package;
        format!("{}/{} {version} {platform}", address.namespace, address.name)
    }

    /// `acme/gamma 1.5.0 linux_amd64  ━━━━━━━╸────  71.2/118.4 MiB`; without a bar where nobody knows how much is to
    /// come.
    fn line(&self, name_width: usize, bar_width: Option<usize>) -> String {
        let name = cut_middle(&self.name(), name_width);
        let received = self.length.map_or_else(|| bytes(self.received), |length| of(self.received, length));
        let bar = bar_width.map(|width| match self.length {
            Some(length) => bar(self.received, length, width),
            None => " ".repeat(width),
        });
        let bar = bar.map_or_else(String::new, |bar| format!("{GAP}{bar}"));
        format!("{name:name_width$}{bar}{GAP}{received:>BYTES_WIDTH$}")
    }
}

fn bar(received: u64, length: u64, width: usize) -> String {
    let full = u128::from(received.min(length)) * width as u128 / u128::from(length.max(1));
    let full = usize::try_from(full).unwrap_or(width);
    let head = if full == width { "" } else { "╸" };
    format!("{}{head}{}", "━".repeat(full), "─".repeat(width - full - head.chars().count()))
}

/// `71.2/118.4 MiB`: both in the unit of the second.
fn of(received: u64, length: u64) -> String {
    let (unit, shift) = match length {
        0..0x400 => return format!("{received}/{length} B"),
        0x400..0x10_0000 => ("KiB", 10),
        0x10_0000..0x4000_0000 => ("MiB", 20),
        _ => ("GiB", 30),
    };
    let tenths = |number: u64| (u128::from(number) * 10 + (1 << shift >> 1)) >> shift;
    let shown = |number: u64| format!("{}.{}", tenths(number) / 10, tenths(number) % 10);
    format!("{}/{} {unit}", shown(received), shown(length))
}

/// A text that is too wide without its middle: it begins with the namespace and ends with the platform.
fn cut_middle(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width || width == 0 {
        return text.chars().take(width).collect();
    }
    let (start, end) = (width / 2, (width - 1) / 2);
    text.chars().take(start).chain(['…']).chain(text.chars().skip(length - end)).collect()
}

/// The beginning of a text that is too wide.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(width.saturating_sub(1)).collect();
    if width == 0 { String::new() } else { beginning + "…" }
}

#[cfg(test)]
mod tests {
    use provlock::provider::{Dialect, ProviderAddress};

    use super::*;

    const NAMES: [&str; 2] = ["hashicorp/aws", "hashicorp/google-beta"];

    fn transfers(number: usize) -> Transfers {
        let transfer = |index: usize| Transfer {
            package: PackageId {
                address: ProviderAddress::parse(NAMES[index % 2], Dialect::Tofu).unwrap(),
                version: format!("5.82.{index}").parse().unwrap(),
                platform: "darwin_arm64".parse().unwrap(),
            },
            length: (index != 2).then_some(124_151_398),
            received: 74_660_000 + 10_000_000 * index as u64,
        };
        let active = (0..number).map(transfer).collect();
        Transfers { active, done: 1, received: 262_144_000 }
    }

    fn shown(number: usize, width: usize, height: usize) -> String {
        let lines = transfers(number).lines(Duration::from_secs(10), width, height);
        assert!(lines.iter().all(|line| line.chars().count() < width), "{lines:#?}");
        assert!(lines.len() < height.max(2), "{lines:#?}");
        lines.join("\n")
    }

    #[test]
    fn a_very_narrow_terminal() {
        let expected = "\
1 of 4  250.00 MiB  25.00 MiB/s
hashicorp/…win_arm64     71.2/118.4 MiB
hashicorp/…win_arm64     80.7/118.4 MiB
hashicorp/…win_arm64          90.27 MiB";
        assert_eq!(shown(3, 40, 24), expected);
    }

    #[test]
    fn a_narrow_terminal() {
        let expected = "\
1 package downloaded, 3 on the way  250.00 MiB  25.00 MiB/s
hashicorp/aws 5…0 darwin_arm64  ━━━━╸───     71.2/118.4 MiB
hashicorp/googl…1 darwin_arm64  ━━━━━╸──     80.7/118.4 MiB
hashicorp/aws 5…2 darwin_arm64                    90.27 MiB";
        assert_eq!(shown(3, 60, 24), expected);
    }

    #[test]
    fn a_usual_terminal() {
        let expected = "\
1 package downloaded, 2 on the way  250.00 MiB  25.00 MiB/s
hashicorp/aws 5.82.0 darwin_arm64         ━━━━━━━━━━╸───────     71.2/118.4 MiB
hashicorp/google-bet…5.82.1 darwin_arm64  ━━━━━━━━━━━━╸─────     80.7/118.4 MiB";
        assert_eq!(shown(2, 80, 24), expected);
    }

    #[test]
    fn a_wide_terminal() {
        let expected = "\
1 package downloaded, 1 on the way  250.00 MiB  25.00 MiB/s
hashicorp/aws 5.82.0 darwin_arm64  ━━━━━━━━━━━━━━━━━━━━━━━━╸───────────────     71.2/118.4 MiB";
        assert_eq!(shown(1, 120, 24), expected);
    }

    #[test]
    fn of_many_downloads_as_many_as_fit_are_shown() {
        let lines = |height| shown(24, 80, height).lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!((lines(24).len(), lines(24)[9].as_str()), (10, "and 16 more"));
        assert_eq!((lines(6).len(), lines(6)[4].as_str()), (5, "and 21 more"));
        assert_eq!(lines(24)[0], "1 package downloaded, 24 on the way  250.00 MiB  25.00 MiB/s");
        for (width, height) in [(1, 1), (0, 0), (10, 3), (39, 4), (300, 100)] {
            transfers(24).lines(Duration::ZERO, width, height);
        }
    }

    #[test]
    fn sizes_are_shown_in_one_unit() {
        for (received, length, text) in [
            (0, 0, "0/0 B"),
            (5, 1023, "5/1023 B"),
            (512, 1024, "0.5/1.0 KiB"),
            (1 << 20, 3 << 30, "0.0/3.0 GiB"),
            (u64::MAX, u64::MAX, "17179869184.0/17179869184.0 GiB"),
        ] {
            assert_eq!(of(received, length), text);
        }
        assert_eq!((bar(5, 0, 3), bar(2, 3, 3), bar(9, 3, 3)), ("╸──".to_owned(), "━━╸".to_owned(), "━━━".to_owned()));
    }
}
