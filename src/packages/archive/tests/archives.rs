//! Makes archives by hand, with everything in them that a writer can get wrong.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Form in which the descriptor after an entry's data gives its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Descriptor {
    None,
    Narrow { signature: bool },
    Wide { signature: bool },
}

#[derive(Clone, Debug)]
pub(super) struct EntrySpec {
    pub(super) name: Vec<u8>,
    pub(super) content: Vec<u8>,
    pub(super) deflated: bool,
    pub(super) descriptor: Descriptor,
    pub(super) zip64: bool,
    /// Bytes between this entry and the next.
    pub(super) gap: usize,
    /// Name in the local header, if it is different.
    pub(super) local_name: Option<Vec<u8>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ArchiveSpec {
    pub(super) entries: Vec<EntrySpec>,
    pub(super) prefix: usize,
    /// Whether the offsets in the archive count the prefix.
    pub(super) prefix_counted: bool,
    pub(super) comment: usize,
    pub(super) trailing: usize,
    pub(super) zip64_end: bool,
    /// The central directory lists the entries the other way round.
    pub(super) reversed: bool,
}

impl EntrySpec {
    pub(super) fn new(name: &[u8], content: &[u8]) -> Self {
        Self {
            name: name.to_vec(),
            content: content.to_vec(),
            deflated: true,
            descriptor: Descriptor::None,
            zip64: false,
            gap: 0,
            local_name: None,
        }
    }

    fn packed(&self) -> Vec<u8> {
        if !self.deflated {
            return self.content.clone();
        }
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&self.content).unwrap();
        encoder.finish().unwrap()
    }
}

impl ArchiveSpec {
    /// The archive's bytes.
    pub(super) fn build(&self) -> Vec<u8> {
        let mut archive = vec![b'#'; self.prefix];
        let base = if self.prefix_counted { 0 } else { self.prefix };
        let mut central = Vec::new();
        for entry in &self.entries {
            let header = write_entry(&mut archive, entry, base);
            central.push(header);
        }
        if self.reversed {
            central.reverse();
        }
        let start = archive.len();
        archive.extend(central.concat());
        let (size, offset, count) = (archive.len() - start, start - base, self.entries.len());
        if self.zip64_end {
            let end_64 = archive.len();
            archive.extend(b"PK\x06\x06");
            archive.extend(44u64.to_le_bytes());
            archive.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            for value in [count, count, size, offset] {
                archive.extend((value as u64).to_le_bytes());
            }
            archive.extend(b"PK\x06\x07\0\0\0\0");
            archive.extend((end_64 as u64).to_le_bytes());
            archive.extend(1u32.to_le_bytes());
        }
        archive.extend(b"PK\x05\x06\0\0\0\0");
        let count = if self.zip64_end {
            0xffff
        } else {
            u16::try_from(count).unwrap()
        };
        archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
        for value in [size, offset] {
            let value = if self.zip64_end {
                u32::MAX
            } else {
                u32::try_from(value).unwrap()
            };
            archive.extend(value.to_le_bytes());
        }
        archive.extend(u16::try_from(self.comment).unwrap().to_le_bytes());
        archive.extend(vec![b'c'; self.comment]);
        archive.extend(vec![b't'; self.trailing]);
        archive
    }
}

/// Writes the entry and returns its header for the central directory.
fn write_entry(archive: &mut Vec<u8>, entry: &EntrySpec, base: usize) -> Vec<u8> {
    let offset = u32::try_from(archive.len() - base).unwrap();
    let packed = entry.packed();
    let crc32 = crc32fast::hash(&entry.content);
    let [packed_size, size] =
        [packed.len(), entry.content.len()].map(|size| u32::try_from(size).unwrap());
    let method = if entry.deflated { 8u16 } else { 0 };
    let described = entry.descriptor != Descriptor::None;
    let flags = if described { 8u16 } else { 0 };
    let extra = if entry.zip64 {
        zip64_extra(size, packed_size)
    } else {
        Vec::new()
    };
    let shown = |size: u32| if entry.zip64 { u32::MAX } else { size };
    let local = |value: u32| if described { 0 } else { value };
    let name = entry.local_name.as_ref().unwrap_or(&entry.name);

    archive.extend(b"PK\x03\x04\x14\0");
    archive.extend([flags.to_le_bytes(), method.to_le_bytes(), [0; 2], [0; 2]].concat());
    for value in [local(crc32), local(shown(packed_size)), local(shown(size))] {
        archive.extend(value.to_le_bytes());
    }
    archive.extend(lengths(name, &extra));
    archive.extend([name.as_slice(), &extra, &packed].concat());
    if let Descriptor::Narrow { signature: true } | Descriptor::Wide { signature: true } =
        entry.descriptor
    {
        archive.extend(b"PK\x07\x08");
    }
    match entry.descriptor {
        Descriptor::None => {}
        Descriptor::Narrow { .. } => {
            archive.extend([crc32, packed_size, size].map(u32::to_le_bytes).concat());
        }
        Descriptor::Wide { .. } => {
            archive.extend(crc32.to_le_bytes());
            archive.extend(
                [packed_size, size]
                    .map(|size| u64::from(size).to_le_bytes())
                    .concat(),
            );
        }
    }
    archive.extend(vec![b'g'; entry.gap]);

    let mut central = b"PK\x01\x02\x14\x03\x14\0".to_vec();
    central.extend([flags.to_le_bytes(), method.to_le_bytes(), [0; 2], [0; 2]].concat());
    for value in [crc32, shown(packed_size), shown(size)] {
        central.extend(value.to_le_bytes());
    }
    central.extend(lengths(&entry.name, &extra));
    central.extend([0; 6]);
    central.extend([0, 0, 0xa4, 0x81]);
    central.extend(offset.to_le_bytes());
    central.extend([entry.name.as_slice(), &extra].concat());
    central
}

fn lengths(name: &[u8], extra: &[u8]) -> Vec<u8> {
    [name.len(), extra.len()]
        .map(|length| u16::try_from(length).unwrap().to_le_bytes())
        .concat()
}

fn zip64_extra(size: u32, packed_size: u32) -> Vec<u8> {
    let mut extra = vec![1, 0, 16, 0];
    extra.extend(
        [size, packed_size]
            .map(|size| u64::from(size).to_le_bytes())
            .concat(),
    );
    extra
}
