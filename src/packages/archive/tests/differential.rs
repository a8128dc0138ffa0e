//! The streaming pass and the central directory must give the same answer on every archive, and the
//! right one. `PROPTEST_CASES=20000` tries more of them.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use provlock_test::survived;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::archives::{ArchiveSpec, Descriptor, EntrySpec};
use super::*;

const DIFFERENTIAL: &str = "an archive that two readers may read differently";
const EXECUTABLE: &[u8] = b"terraform-provider-x";

/// `h1:` in the plainest way.
fn naive_h1(files: &BTreeMap<Vec<u8>, Vec<u8>>) -> Hash {
    let mut list = Vec::new();
    for (path, content) in files {
        list.extend(Hash::zh_of(content).value().bytes());
        list.extend([b"  ", path.as_slice(), b"\n"].concat());
    }
    Hash::h1(&Sha256::digest(&list).into())
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => vec(any::<u8>(), 0..200),
        1 => (any::<u8>(), 0usize..300_000).prop_map(|(byte, count)| vec![byte; count]),
        1 => (vec(any::<u8>(), 1..40), 0usize..4000).prop_map(|(part, count)| part.repeat(count)),
    ]
}

fn descriptor() -> impl Strategy<Value = Descriptor> {
    prop_oneof![
        Just(Descriptor::None),
        any::<bool>().prop_map(|signature| Descriptor::Narrow { signature }),
        any::<bool>().prop_map(|signature| Descriptor::Wide { signature }),
    ]
}

fn rarely<T: std::fmt::Debug + Clone + 'static>(
    usual: T,
    odd: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = T> {
    prop_oneof![12 => Just(usual), 1 => odd]
}

fn entry() -> impl Strategy<Value = EntrySpec> {
    let name = prop_oneof![
        4 => "[abc]{1,2}(/[abc.]{1,3}){0,2}".prop_map(String::into_bytes),
        1 => "[a-c/.]{1,6}".prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..6),
    ];
    let odd_name = vec(any::<u8>(), 0..4).prop_map(Some);
    let layout = (
        any::<bool>(),
        descriptor(),
        any::<bool>(),
        rarely(0, 1usize..40),
        rarely(None, odd_name),
    );
    (name, content(), layout).prop_map(
        |(name, content, (deflated, descriptor, zip64, gap, local_name))| EntrySpec {
            name,
            content,
            deflated,
            descriptor,
            zip64,
            gap,
            local_name,
        },
    )
}

pub(super) fn archive() -> impl Strategy<Value = ArchiveSpec> {
    let prefix = (rarely(0, 1usize..100), any::<bool>());
    let end = (
        rarely(0, 1usize..300),
        rarely(0, 1usize..300),
        any::<bool>(),
        rarely(false, Just(true)),
    );
    (vec(entry(), 0..6), prefix, end).prop_map(
        |(mut entries, (prefix, prefix_counted), (comment, trailing, zip64_end, reversed))| {
            entries.insert(0, EntrySpec::new(EXECUTABLE, b"program"));
            ArchiveSpec {
                entries,
                prefix,
                prefix_counted,
                comment,
                trailing,
                zip64_end,
                reversed,
            }
        },
    )
}

/// A change to the archive's bytes.
#[derive(Clone, Debug)]
pub(super) enum Mutation {
    Set(prop::sample::Index, u8),
    Remove(prop::sample::Index, usize),
    Insert(prop::sample::Index, Vec<u8>),
    Cut(prop::sample::Index),
    /// From the end, where the central directory is.
    SetLate(usize, u8),
}

pub(super) fn mutation() -> impl Strategy<Value = Mutation> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        3 => (index(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        1 => (index(), 1usize..30).prop_map(|(at, count)| Mutation::Remove(at, count)),
        1 => (index(), vec(any::<u8>(), 1..30)).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        1 => index().prop_map(Mutation::Cut),
        4 => (1usize..300, any::<u8>()).prop_map(|(back, byte)| Mutation::SetLate(back, byte)),
    ]
}

pub(super) fn mutate(archive: &mut Vec<u8>, mutation: &Mutation) {
    if archive.is_empty() {
        return;
    }
    let length = archive.len();
    match mutation {
        Mutation::Set(at, byte) => archive[at.index(length)] = *byte,
        Mutation::Remove(at, count) => {
            let start = at.index(length);
            archive.drain(start..length.min(start + count));
        }
        Mutation::Insert(at, bytes) => {
            let start = at.index(length);
            archive.splice(start..start, bytes.iter().copied());
        }
        Mutation::Cut(at) => archive.truncate(at.index(length)),
        Mutation::SetLate(back, byte) => archive[length.saturating_sub(*back)] = *byte,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_ways_agree_on_archives_made_by_hand(spec in archive()) {
        let _ = hash_every_way(&spec.build(), "x", &Limits::default());
        survived(DIFFERENTIAL, 1);
    }

    #[test]
    fn both_ways_agree_on_damaged_archives(spec in archive(), mutations in vec(mutation(), 1..4)) {
        let mut archive = spec.build();
        for mutation in &mutations {
            mutate(&mut archive, mutation);
        }
        let _ = hash_every_way(&archive, "x", &Limits::default());
        survived(DIFFERENTIAL, 1);
    }

    #[test]
    fn well_formed_archives_have_the_hash_of_their_files(
        files in prop::collection::btree_map("([def]{1,2}/)?[abc]{1,3}", content(), 0..6),
        layouts in vec((any::<bool>(), descriptor(), any::<bool>()), 8),
        (comment, zip64_end) in (0usize..100, any::<bool>()),
    ) {
        let mut files: BTreeMap<Vec<u8>, Vec<u8>> =
            files.into_iter().map(|(path, content)| (path.into_bytes(), content)).collect();
        files.insert(EXECUTABLE.to_vec(), b"program".to_vec());
        let mut entries = Vec::new();
        for ((path, content), (deflated, descriptor, zip64)) in files.iter().zip(layouts) {
            entries.push(EntrySpec { deflated, descriptor, zip64, ..EntrySpec::new(path, content) });
        }
        let spec = ArchiveSpec { entries, comment, zip64_end, ..ArchiveSpec::default() };
        let (answer, streamed) = hash_every_way(&spec.build(), "x", &Limits::default());
        let (_, h1, with_directories, _) = answer.unwrap();
        prop_assert_eq!(&h1, &naive_h1(&files));
        prop_assert_eq!(&h1, &with_directories);
        let streamable = spec.entries.iter().all(|entry| entry.deflated || entry.descriptor == Descriptor::None);
        prop_assert_eq!(streamed, streamable);
        survived(DIFFERENTIAL, 1);
    }

    #[test]
    fn archives_of_the_zip_crate_have_the_hash_of_their_files(
        files in prop::collection::btree_map("([def]{1,2}/)?[abc]{1,3}", content(), 0..6),
        directories in prop::collection::btree_set("[ghi]{1,2}", 0..3),
        stored in any::<bool>(),
    ) {
        let method = if stored { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        let options = SimpleFileOptions::default().compression_method(method);
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.start_file("terraform-provider-x_v1", options).unwrap();
        writer.write_all(b"program").unwrap();
        for directory in &directories {
            writer.add_directory(directory.as_str(), options).unwrap();
        }
        for (path, content) in &files {
            writer.start_file(path.as_str(), options).unwrap();
            writer.write_all(content).unwrap();
        }
        let archive = writer.finish().unwrap().into_inner();
        let mut reader = ZipArchive::new(Cursor::new(&archive)).unwrap();
        let mut read_back = BTreeMap::new();
        for index in 0..reader.len() {
            let mut file = reader.by_index(index).unwrap();
            let mut content = Vec::new();
            file.read_to_end(&mut content).unwrap();
            read_back.insert(file.name_raw().to_vec(), content);
        }
        let (answer, streamed) = hash_every_way(&archive, "x", &Limits::default());
        let (_, h1, with_directories, _) = answer.unwrap();
        prop_assert!(streamed);
        prop_assert_eq!(with_directories, naive_h1(&read_back));
        read_back.retain(|name, _| !name.ends_with(b"/"));
        prop_assert_eq!(h1, naive_h1(&read_back));
        survived(DIFFERENTIAL, 1);
    }
}
