//! Concatenated compressed streams, as programs that compress with several threads write them.

use std::io::{self, BufRead, Read};

/// Largest number of streams of a file. Even an empty stream takes time and memory; real ones
/// contain 64 KiB or more.
const MOST_STREAMS: usize = 16 << 10;

/// Reads all streams as one. `D` decompresses a single stream.
pub(super) struct Streams<R, D> {
    /// `None` at the end.
    decoder: Option<D>,
    open: fn(R) -> D,
    close: fn(D) -> R,
    left: usize,
}

impl<R: BufRead, D: Read> Streams<R, D> {
    pub(super) fn new(compressed: R, open: fn(R) -> D, close: fn(D) -> R) -> Self {
        Self {
            decoder: Some(open(compressed)),
            open,
            close,
            left: MOST_STREAMS,
        }
    }
}

impl<R: BufRead, D: Read> Read for Streams<R, D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            let count = decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let mut compressed = self
                .decoder
                .take()
                .map(self.close)
                .ok_or(io::ErrorKind::UnexpectedEof)?;
            if !compressed.fill_buf()?.is_empty() {
                self.left = self.left.checked_sub(1).ok_or_else(too_many)?;
                self.decoder = Some((self.open)(compressed));
            }
        }
        Ok(0)
    }
}

fn too_many() -> io::Error {
    io::Error::other(format!(
        "it consists of more than {MOST_STREAMS} compressed streams"
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use bzip2::bufread::BzDecoder;
    use bzip2::write::BzEncoder;
    use flate2::bufread::GzDecoder;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn bzip2(text: &[u8]) -> Vec<u8> {
        let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn text<R: BufRead, D: Read>(mut streams: Streams<R, D>) -> Result<String, String> {
        let mut text = String::new();
        streams
            .read_to_string(&mut text)
            .map(|_| text)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn streams_are_one_text_and_not_too_many() {
        type Compress = fn(&[u8]) -> Vec<u8>;
        type Read = fn(&[u8]) -> Result<String, String>;
        let read: [(Compress, Read); 2] = [
            (gzip, |bytes| {
                text(Streams::new(bytes, GzDecoder::new, GzDecoder::into_inner))
            }),
            (bzip2, |bytes| {
                text(Streams::new(bytes, BzDecoder::new, BzDecoder::into_inner))
            }),
        ];
        for (compress, read) in read {
            let several = [b"one ".as_slice(), b"", b"", b"two"]
                .map(compress)
                .concat();
            assert_eq!(read(&several).as_deref(), Ok("one two"));
            assert!(read(&[several.as_slice(), b"what is no stream"].concat()).is_err());
            assert!(read(&several[..several.len() - 1]).is_err());
            let most = compress(b"").repeat(MOST_STREAMS);
            assert_eq!(read(&most).as_deref(), Ok(""));
            let more = [most, compress(b""), compress(b"")].concat();
            assert_eq!(
                read(&more).unwrap_err(),
                "it consists of more than 16384 compressed streams"
            );
        }
    }
}
