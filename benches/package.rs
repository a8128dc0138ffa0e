//! How fast packages are hashed, and the parts it is made of: `cargo bench --bench package`.
//!
//! All throughputs are in bytes of the extracted files, so times add up. `alone` is what cannot be avoided: the archive
//! inflated, then SHA-256 over the archive and over its file, each by itself; `pipeline` is measured against it. The file
//! is this benchmark's own executable, repeated to 32 MiB, or the one that `PROVLOCK_BENCH_FILE` names.
//!
//! aws-lc is shown what a machine without SHA instructions can do by `OPENSSL_ia32cap=:~0x20000000`.

use std::hint::black_box;
use std::io::{Cursor, Write};
use std::{env, fs};

use aws_lc_rs::digest;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use flate2::{Decompress, FlushDecompress, Status};
use provlock::package::{Limits, hash_zip, hash_zip_file};
use sha2::Digest as _;

const CHUNK: usize = 64 * 1024;

fn file() -> Vec<u8> {
    if let Ok(path) = env::var("PROVLOCK_BENCH_FILE") {
        return fs::read(path).expect("PROVLOCK_BENCH_FILE can be read");
    }
    let program = fs::read(env::current_exe().expect("the path is known")).expect("it can be read");
    program.into_iter().cycle().take(32 << 20).collect()
}

fn archive(file: &[u8]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("terraform-provider-x", zip::write::SimpleFileOptions::default()).expect("a valid entry");
    writer.write_all(file).expect("memory can be written");
    writer.finish().expect("memory can be written").into_inner()
}

/// The deflate stream of the archive's only entry.
fn deflated(archive: &[u8]) -> &[u8] {
    let name_length = usize::from(u16::from_le_bytes([archive[26], archive[27]]));
    let extra_length = usize::from(u16::from_le_bytes([archive[28], archive[29]]));
    &archive[30 + name_length + extra_length..]
}

fn inflate(deflated: &[u8], output: &mut [u8]) -> u64 {
    let mut inflater = Decompress::new(false);
    for input in deflated.chunks(CHUNK) {
        let end = inflater.total_in() + input.len() as u64;
        loop {
            let used = input.len() - usize::try_from(end - inflater.total_in()).expect("a chunk fits");
            let before = inflater.total_out();
            let status = inflater.decompress(&input[used..], output, FlushDecompress::None).expect("it is valid");
            let filled = inflater.total_out() - before == output.len() as u64;
            match status {
                Status::StreamEnd => return inflater.total_out(),
                _ if inflater.total_in() == end && !filled => break,
                _ => {}
            }
        }
    }
    inflater.total_out()
}

fn sha256_sha2(bytes: &[u8]) {
    let mut sha256 = sha2::Sha256::new();
    bytes.chunks(CHUNK).for_each(|chunk| sha256.update(chunk));
    black_box(sha256.finalize());
}

fn sha256_aws_lc(bytes: &[u8]) {
    let mut sha256 = digest::Context::new(&digest::SHA256);
    bytes.chunks(CHUNK).for_each(|chunk| sha256.update(chunk));
    black_box(sha256.finish());
}

fn package(criterion: &mut Criterion) {
    let file = file();
    let archive = archive(&file);
    let deflated = deflated(&archive);
    println!("{} bytes, {} packed", file.len(), archive.len());

    let mut group = criterion.benchmark_group("package");
    group.sample_size(10).throughput(Throughput::Bytes(file.len() as u64));
    group.bench_function("sha256/sha2", |bencher| bencher.iter(|| sha256_sha2(&file)));
    group.bench_function("sha256/aws-lc", |bencher| bencher.iter(|| sha256_aws_lc(&file)));
    group.bench_function("crc32", |bencher| bencher.iter(|| black_box(crc32fast::hash(&file))));
    for output in [32, 64, 128, 256, 512] {
        let mut buffer = vec![0; output << 10];
        group.bench_with_input(BenchmarkId::new("inflate, output in KiB", output), &output, |bencher, _| {
            bencher.iter(|| assert_eq!(inflate(deflated, &mut buffer), file.len() as u64));
        });
    }
    let mut buffer = vec![0; 128 << 10];
    group.bench_function("alone", |bencher| {
        bencher.iter(|| {
            inflate(deflated, &mut buffer);
            sha256_aws_lc(&archive);
            sha256_aws_lc(&file);
        });
    });
    group.bench_function("pipeline", |bencher| {
        bencher.iter(|| hash_zip(archive.as_slice(), "x", &Limits::default()).expect("it is valid"));
    });
    group.bench_function("central directory", |bencher| {
        bencher.iter(|| hash_zip_file(&mut Cursor::new(&archive), "x", &Limits::default()).expect("it is valid"));
    });
    group.finish();
}

criterion_group!(benches, package);
criterion_main!(benches);
