//! The storage explorer on tiny tables: every answer is the scalar model's, and the report has each
//! of the twelve rules.
#![cfg(feature = "tessera")]

use xtask::bench::storage;
use xtask::bench_args::{StorageArgs, StoragePart};

fn explore(only: &[StoragePart], name: &str) -> String {
    let out = std::env::temp_dir().join(format!("tessera-storage-{name}-{}", std::process::id()));
    let args = StorageArgs {
        rows: 20_000,
        runs: 1,
        threads: Some(2),
        seed: 18,
        run_ms: 0.1,
        only: only.to_vec(),
        out: Some(out.clone()),
    };
    storage::run(&args).expect("every answer is right");
    let page = std::fs::read_to_string(out.join("storage.md")).expect("a page");
    let charts = std::fs::read_dir(&out).expect("a folder").count() - 1;
    assert!(charts > 0, "no charts");
    std::fs::remove_dir_all(&out).expect("removed");
    page
}

/// The lines of the table of verdicts: number, verdict.
fn verdicts(page: &str) -> Vec<(usize, String)> {
    let lines = page.lines().skip_while(|line| !line.starts_with("| rule |")).skip(2);
    let lines = lines.take_while(|line| line.starts_with('|'));
    let cells = lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    cells.map(|cells| (cells[1].parse().expect("a number"), cells[3].to_owned())).collect()
}

#[test]
fn the_whole_grid_is_right_and_each_rule_is_checked() {
    let page = explore(&[], "all");
    let found = verdicts(&page);
    assert_eq!(found.iter().map(|(n, _)| *n).collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
    for (number, verdict) in found {
        let known = ["holds", "mixed", "does not hold"];
        assert!(known.contains(&&verdict[..]), "rule {number}: {verdict}");
    }
    assert!(page.contains("a row id has 16 bits"), "what is absent is said");
}

#[test]
fn rules_without_points_say_so() {
    let page = explore(&[StoragePart::NarrowE], "narrow-e");
    let unchecked: Vec<usize> = verdicts(&page)
        .into_iter()
        .filter(|(_, verdict)| verdict == "cannot be checked here")
        .map(|(number, _)| number)
        .collect();
    assert_eq!(unchecked, [1, 2, 3, 4, 5, 8, 12]);
}
