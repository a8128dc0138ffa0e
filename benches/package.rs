//! Speed of hashing packages, and of its steps: `cargo bench --bench package`.
//!
//! All throughputs are in bytes of the extracted file, so times add up. `alone` is what cannot be
//! avoided: the archive inflated, then SHA-256 over the archive and over its file, each by itself.
//! The goal for `pipeline` is 85 % of it. A table of the best of alternating runs, in processor
//! time, comes first, because noise disturbs it least; then criterion's.
//!
//! The file is this benchmark's own executable, repeated to 32 MiB, or the file in
//! `PROVLOCK_BENCH_FILE`.

use std::hint::black_box;
use std::io::{Cursor, Write};
use std::time::Instant;
use std::{env, fs};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flate2::{Decompress, FlushDecompress, Status};
use provlock::packages::archive::{Limits, hash_zip, hash_zip_file};
use ring::digest;
use sha2::Digest as _;

const INPUT: usize = 64 * 1024;

/// Something to measure.
struct Part<'a> {
    name: &'static str,
    run: Box<dyn FnMut() + 'a>,
}

impl<'a> Part<'a> {
    fn new(name: &'static str, run: impl FnMut() + 'a) -> Self {
        Self {
            name,
            run: Box::new(run),
        }
    }
}

fn parts<'a>(file: &'a [u8], archive: &'a [u8]) -> Vec<Part<'a>> {
    let limits = Limits::default();
    let alone = move || {
        inflate(archive, 128);
        sha256_ring(archive);
        sha256_ring(file);
    };
    let streamed = move || drop(hash_zip(archive, "x", &limits).expect("it is valid"));
    let by_directory = move || {
        black_box(hash_zip_file(&mut Cursor::new(archive), "x", &limits).expect("it is valid"));
    };
    vec![
        Part::new("sha256 by sha2", || sha256_sha2(file)),
        Part::new("sha256 by ring", || sha256_ring(file)),
        Part::new("crc32", || _ = black_box(crc32fast::hash(file))),
        Part::new("inflate to 32 KiB", || inflate(archive, 32)),
        Part::new("inflate to 64 KiB", || inflate(archive, 64)),
        Part::new("inflate to 128 KiB", || inflate(archive, 128)),
        Part::new("inflate to 256 KiB", || inflate(archive, 256)),
        Part::new("inflate to 512 KiB", || inflate(archive, 512)),
        Part::new("alone", alone),
        Part::new("pipeline", streamed),
        Part::new("central directory", by_directory),
    ]
}

fn file() -> Vec<u8> {
    if let Ok(path) = env::var("PROVLOCK_BENCH_FILE") {
        return fs::read(path).expect("PROVLOCK_BENCH_FILE can be read");
    }
    let program = fs::read(env::current_exe().expect("the path is known")).expect("it can be read");
    program.into_iter().cycle().take(32 << 20).collect()
}

fn archive(file: &[u8]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    writer
        .start_file(
            "terraform-provider-x",
            zip::write::SimpleFileOptions::default(),
        )
        .expect("a valid entry");
    writer.write_all(file).expect("memory can be written");
    writer.finish().expect("memory can be written").into_inner()
}

/// Inflates the archive's only entry into a buffer of so many KiB.
fn inflate(archive: &[u8], buffer: usize) {
    let name_length = usize::from(u16::from_le_bytes([archive[26], archive[27]]));
    let extra_length = usize::from(u16::from_le_bytes([archive[28], archive[29]]));
    let mut output = vec![0; buffer << 10];
    let mut inflater = Decompress::new(false);
    for input in archive[30 + name_length + extra_length..].chunks(INPUT) {
        let start = inflater.total_in();
        loop {
            let used = usize::try_from(inflater.total_in() - start).expect("a chunk fits");
            let before = inflater.total_out();
            let status = inflater
                .decompress(&input[used..], &mut output, FlushDecompress::None)
                .expect("it is valid");
            let filled = inflater.total_out() - before == output.len() as u64;
            let drained = inflater.total_in() - start == input.len() as u64 && !filled;
            if status == Status::StreamEnd {
                return;
            } else if drained {
                break;
            }
        }
    }
    panic!("the stream has no end");
}

fn sha256_sha2(bytes: &[u8]) {
    let mut sha256 = sha2::Sha256::new();
    bytes.chunks(INPUT).for_each(|chunk| sha256.update(chunk));
    black_box(sha256.finalize());
}

fn sha256_ring(bytes: &[u8]) {
    let mut sha256 = digest::Context::new(&digest::SHA256);
    bytes.chunks(INPUT).for_each(|chunk| sha256.update(chunk));
    black_box(sha256.finish());
}

/// Processor time of this thread in seconds on Linux; elsewhere the time that has passed.
fn busy_seconds(start: Instant) -> f64 {
    let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = told
        .split(' ')
        .next()
        .and_then(|first| first.parse::<f64>().ok());
    nanoseconds.map_or_else(
        || start.elapsed().as_secs_f64(),
        |nanoseconds| nanoseconds / 1e9,
    )
}

fn print_best(parts: &mut [Part<'_>], bytes: usize) {
    let megabytes = f64::from(u32::try_from(bytes).expect("the file is small")) / 1e6;
    let start = Instant::now();
    let mut best = vec![f64::INFINITY; parts.len()];
    for _ in 0..15 {
        for (part, best) in parts.iter_mut().zip(&mut best) {
            let before = busy_seconds(start);
            (part.run)();
            *best = best.min(busy_seconds(start) - before);
        }
    }
    for (part, seconds) in parts.iter().zip(&best) {
        println!("{:20}{:8.0} MB/s", part.name, megabytes / seconds);
    }
}

fn package(criterion: &mut Criterion) {
    let file = file();
    let archive = archive(&file);
    let mut parts = parts(&file, &archive);
    println!("{} bytes, {} packed", file.len(), archive.len());
    print_best(&mut parts, file.len());
    let mut group = criterion.benchmark_group("package");
    group
        .sample_size(10)
        .throughput(Throughput::Bytes(file.len() as u64));
    for part in &mut parts {
        group.bench_function(part.name, |bencher| bencher.iter(&mut part.run));
    }
    group.finish();
}

criterion_group!(benches, package);
criterion_main!(benches);
