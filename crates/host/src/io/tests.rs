//! The simulated file system against the real one, and what it may forget.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use testkit::Random;
use types::SqlState;

use super::*;

fn scratch(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("txn-io-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// One random operation; its outcome as text without the directory.
fn operation(io: &dyn Io, base: &Path, random: &mut Random) -> String {
    let name = |n: u64| base.join(format!("file-{n}"));
    let path = name(random.below(4));
    let outcome = match random.below(8) {
        0 => io.open(&path, OpenMode::Create).map(|_| String::new()),
        1 => io.rename(&path, &name(random.below(4))).map(|()| String::new()),
        2 => io.remove(&path).map(|()| String::new()),
        3 => io.list(base).map(|names| names.join(" ")),
        4 => io.open(&path, OpenMode::Write).and_then(|file| {
            file.truncate(random.below(300))?;
            Ok(file.bytes()?.to_string())
        }),
        5 => read_file(io, &path).map(|content| format!("{content:?}")),
        6 => io.open(&path, OpenMode::Read).and_then(|file| {
            let mut bytes = [0; 40];
            let read = file.read_at(random.below(300), &mut bytes)?;
            Ok(format!("{:?}", &bytes[..read]))
        }),
        _ => io.open(&path, OpenMode::Write).and_then(|file| {
            file.write_at(random.below(300), &[random.bits() as u8; 30])?;
            file.sync()?;
            Ok(String::new())
        }),
    };
    match outcome {
        Ok(text) => text,
        Err(error) => error.state().to_string(),
    }
}

#[test]
fn the_simulation_behaves_like_the_real_file_system() {
    let base = scratch("twin");
    let sim = SimIo::new(1, Tear::Bytes);
    for io in [&RealIo as &dyn Io, &sim] {
        io.create_directory(&base).unwrap();
    }
    let (mut one, mut two) = (Random::new(5), Random::new(5));
    for step in 0..4000 {
        let real = operation(&RealIo, &base, &mut one);
        assert_eq!(real, operation(&sim, &base, &mut two), "step {step}");
        if step % 500 == 0 {
            RealIo.sync_directory(&base).unwrap();
            sim.sync_directory(&base).unwrap();
        }
    }
    std::fs::remove_dir_all(&base).unwrap();
}

#[test]
fn a_lock_belongs_to_one_holder_at_a_time() {
    let base = scratch("lock");
    let sim = SimIo::new(1, Tear::Bytes);
    for io in [&RealIo as &dyn Io, &sim] {
        io.create_directory(&base).unwrap();
        let path = base.join("LOCK");
        let lock = io.lock(&path).unwrap();
        let error = io.lock(&path).unwrap_err();
        assert_eq!(error.state(), SqlState::OBJECT_IN_USE);
        assert!(error.message().contains(&base.display().to_string()), "{error}");
        assert!(error.detail().unwrap().contains("Another process has it open"));
        drop(lock);
        io.lock(&path).unwrap();
    }
    std::fs::remove_dir_all(&base).unwrap();
}

#[test]
fn a_crash_keeps_what_was_synced_and_some_of_the_rest() {
    let (mut kept, mut lost, mut torn) = (0, 0, 0);
    for seed in 0..400 {
        let sim = SimIo::new(seed, if seed % 2 == 0 { Tear::Bytes } else { Tear::Sectors });
        let (base, path) = (Path::new("/d"), Path::new("/d/f"));
        sim.create_directory(base).unwrap();
        let file = sim.open(path, OpenMode::Create).unwrap();
        file.write_at(0, &[1; 1000]).unwrap();
        file.sync().unwrap();
        sim.sync_directory(base).unwrap();
        file.write_at(1000, &[2; 2000]).unwrap();
        sim.rename(path, Path::new("/d/g")).unwrap();
        sim.crash();
        assert!(file.write_at(0, &[3]).is_err(), "a handle of before the crash");
        let names = sim.list(base).unwrap();
        assert!(names == ["f"] || names == ["g"], "{names:?}");
        let content = read_file(&sim, &base.join(&names[0])).unwrap();
        assert_eq!(content[..1000], [1; 1000]);
        match content[1000..].iter().filter(|byte| **byte == 2).count() {
            0 => lost += 1,
            2000 => kept += 1,
            _ => torn += 1,
        }
    }
    assert!(kept > 20 && lost > 20 && torn > 20, "{kept} {lost} {torn}");
}

#[test]
fn a_failed_sync_loses_writes_though_the_next_one_succeeds() {
    let lost = (0..100).filter(|seed| {
        let sim = SimIo::new(*seed, Tear::Bytes);
        let path = Path::new("/f");
        let file = sim.open(path, OpenMode::Create).unwrap();
        sim.sync_directory(Path::new("/")).unwrap();
        file.write_at(0, &[1; 100]).unwrap();
        sim.inject(Fault::Sync(1));
        file.sync().unwrap_err();
        file.sync().unwrap();
        assert_eq!(read_file(&sim, path).unwrap(), [1; 100], "readers see it until the crash");
        sim.crash();
        read_file(&sim, path).unwrap() != [1; 100]
    });
    assert!(lost.count() > 20);
}

#[test]
fn replacing_a_file_is_all_or_nothing() {
    for seed in 0..500 {
        let sim = SimIo::new(seed, Tear::Bytes);
        let io: Arc<dyn Io> = Arc::new(sim.clone());
        let path = Path::new("/CURRENT");
        replace_file(&*io, path, b"old").unwrap();
        sim.inject(Fault::PowerLoss(1 + seed % 6));
        let outcome = replace_file(&*io, path, b"and the new content");
        sim.crash();
        let found = read_file(&*io, path).unwrap();
        match outcome {
            Ok(()) => assert_eq!(found, b"and the new content"),
            Err(_) => assert!(found == b"old" || found == b"and the new content"),
        }
    }
}

#[test]
fn files_written_past_the_cache_hold_what_was_written() {
    let base = scratch("uncached");
    let sim = SimIo::new(1, Tear::Bytes);
    let mut random = Random::new(11);
    for io in [&RealIo as &dyn Io, &sim] {
        io.create_directory(&base).unwrap();
        let path = base.join("file");
        for bytes in [0, 1, PAGE_BYTES, PIECE_BYTES - 1, PIECE_BYTES, 3 * PIECE_BYTES + 77] {
            let content: Vec<u8> = (0..bytes).map(|_| random.bits() as u8).collect();
            let (front, back) = content.split_at(bytes / 3);
            let paced = std::cell::Cell::new(0);
            let pace = |_| paced.set(paced.get() + 1);
            let file = write_uncached(io, &path, &[front, back], &pace).unwrap();
            assert_eq!(paced.get(), bytes / bytes.clamp(1, PIECE_BYTES), "{bytes} bytes");
            assert!(read_file(io, &path).unwrap() == content, "{bytes} bytes");
            // Behind an odd end the cache is used, whatever the place.
            file.write_at(bytes as u64, &[7; 2 * PAGE_BYTES]).unwrap();
            file.sync().unwrap();
            let read = read_file(io, &path).unwrap();
            assert!(read[..bytes] == content && read[bytes..] == [7; 2 * PAGE_BYTES]);
        }
    }
    std::fs::remove_dir_all(&base).unwrap();
}
