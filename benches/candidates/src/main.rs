//! The crates that could inflate packages and take their SHA-256, one against the other, on the
//! same bytes:
//!
//! ```sh
//! cargo run --release --manifest-path benches/candidates/Cargo.toml -- [FILE]
//! ```
//!
//! FILE is this program repeated to 64 MiB unless it is named. Prints the best and the median of
//! alternating runs, in MB/s of processor time on one core, all of the inflated bytes.
//! `OPENSSL_ia32cap=:~0x20000000` shows aws-lc without SHA instructions; ring and sha2 ignore it.

use std::hint::black_box;
use std::io::Write as _;
use std::{env, fs};

use aws_lc_rs::digest as aws_lc;
use flate2::{Compression, Decompress, FlushDecompress, Status, write::DeflateEncoder};
use sha2::Digest as _;

const RUNS: usize = 9;
/// Bytes that are given to a streaming candidate at once, and taken from it.
const INPUT: usize = 64 * 1024;
const OUTPUT: usize = 128 * 1024;

fn main() {
    let file = match env::args_os().nth(1) {
        Some(path) => fs::read(path).expect("the file can be read"),
        None => {
            let program = fs::read(env::current_exe().expect("the path is known")).expect("it can be read");
            program.into_iter().cycle().take(64 << 20).collect()
        }
    };
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&file).expect("memory can be written");
    let packed = encoder.finish().expect("memory can be written");
    println!("{} bytes, {} packed", file.len(), packed.len());
    let (file, packed) = (&*file, &*packed);
    let candidates: [(&str, &dyn Fn()); 7] = [
        ("sha256 aws-lc-rs", &|| sha256_aws_lc(file)),
        ("sha256 ring", &|| sha256_ring(file)),
        ("sha256 sha2", &|| sha256_sha2(file)),
        ("inflate zlib-rs (flate2)", &|| inflate_zlib_rs(packed)),
        ("inflate miniz_oxide", &|| inflate_miniz_oxide(packed)),
        ("inflate zune-inflate, whole buffer", &|| inflate_zune(packed, file.len())),
        ("inflate libdeflater, whole buffer", &|| inflate_libdeflater(packed, file.len())),
    ];
    let mut seconds = candidates.map(|_| Vec::new());
    for _ in 0..RUNS {
        for ((_, run), seconds) in candidates.iter().zip(&mut seconds) {
            let start = busy_seconds();
            run();
            seconds.push(busy_seconds() - start);
        }
    }
    for ((name, _), mut seconds) in candidates.iter().zip(seconds) {
        seconds.sort_by(f64::total_cmp);
        let speed = |seconds: f64| file.len() as f64 / 1e6 / seconds;
        println!("{name:36}{:8.0} {:8.0} MB/s", speed(seconds[0]), speed(seconds[RUNS / 2]));
    }
}

/// Processor time of this thread in seconds, from Linux.
fn busy_seconds() -> f64 {
    let told = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    told.split(' ').next().and_then(|first| first.parse::<f64>().ok()).expect("nanoseconds") / 1e9
}

fn sha256_aws_lc(bytes: &[u8]) {
    let mut sha256 = aws_lc::Context::new(&aws_lc::SHA256);
    bytes.chunks(INPUT).for_each(|chunk| sha256.update(chunk));
    black_box(sha256.finish());
}

fn sha256_ring(bytes: &[u8]) {
    let mut sha256 = ring::digest::Context::new(&ring::digest::SHA256);
    bytes.chunks(INPUT).for_each(|chunk| sha256.update(chunk));
    black_box(sha256.finish());
}

fn sha256_sha2(bytes: &[u8]) {
    let mut sha256 = sha2::Sha256::new();
    bytes.chunks(INPUT).for_each(|chunk| sha256.update(chunk));
    black_box(sha256.finalize());
}

fn inflate_zlib_rs(packed: &[u8]) {
    let (mut inflater, mut output) = (Decompress::new(false), vec![0; OUTPUT]);
    loop {
        let start = usize::try_from(inflater.total_in()).expect("it is in memory");
        let input = &packed[start..packed.len().min(start + INPUT)];
        let status = inflater.decompress(input, &mut output, FlushDecompress::None).expect("it is valid");
        black_box(&output);
        if status == Status::StreamEnd {
            return;
        }
    }
}

fn inflate_miniz_oxide(packed: &[u8]) {
    use miniz_oxide::inflate::stream::{InflateState, inflate};
    use miniz_oxide::{DataFormat, MZFlush, MZStatus};

    let (mut state, mut output, mut start) = (InflateState::new_boxed(DataFormat::Raw), vec![0; OUTPUT], 0);
    loop {
        let input = &packed[start..packed.len().min(start + INPUT)];
        let result = inflate(&mut state, input, &mut output, MZFlush::None);
        start += result.bytes_consumed;
        black_box(&output);
        if result.status.expect("it is valid") == MZStatus::StreamEnd {
            return;
        }
    }
}

fn inflate_zune(packed: &[u8], length: usize) {
    let options = zune_inflate::DeflateOptions::default().set_size_hint(length).set_limit(length);
    black_box(zune_inflate::DeflateDecoder::new_with_options(packed, options).decode_deflate().expect("it is valid"));
}

fn inflate_libdeflater(packed: &[u8], length: usize) {
    let mut output = vec![0; length];
    libdeflater::Decompressor::new().deflate_decompress(packed, &mut output).expect("it is valid");
    black_box(&output);
}
