//! probe
use std::process::ExitCode;
pub(crate) fn main_probe() -> ExitCode {
    let start = std::time::Instant::now();
    let server = match testkit::postgres::Postgres::start() { Ok(s) => s, Err(e) => { eprintln!("{e}"); return ExitCode::FAILURE } };
    eprintln!("started {:?}", start.elapsed());
    let rewrite = std::env::args().any(|a| a == "--rewrite");
    let mut total = 0;
    for f in testkit::slt::files(std::path::Path::new("tests/slt")).unwrap_or_default() {
        if rewrite {
            match testkit::slt::rewrite_file(&f, &server) { Ok(c) => if c { eprintln!("changed {}", f.display()) }, Err(e) => eprintln!("{e}") }
            continue;
        }
        match testkit::slt::run_file(&f, &server) {
            Ok(r) => { total += r.queries; for x in r.failures { eprintln!("{}:{}: {}", f.display(), x.line, x.message); } }
            Err(e) => eprintln!("{}: {e}", f.display()),
        }
    }
    eprintln!("{total} queries {:?}", start.elapsed());
    ExitCode::SUCCESS
}
