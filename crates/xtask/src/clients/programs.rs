//! Clients whose scenarios are programs in their own languages.
//!
//! A program is told PORT and PASSWORD, and prints a line for each scenario: status, name and
//! reason, between tabs.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Client, Report, Status};
use crate::server::Server;
use crate::venv::{environment, must};
use crate::{Outcome, peers_home, text};

/// Scenarios in another language.
pub(super) struct Program {
    pub(super) client: Client,
    /// Programs that must be on the machine.
    tools: &'static [&'static str],
    /// The oldest Java whose JDK must be on the machine, if it is not any.
    java: Option<u32>,
    /// Its files, by name, in a directory of its own.
    folder: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Installs what it needs.
    install: fn(&Path) -> Outcome,
    /// The command without PORT and PASSWORD.
    command: fn(&Path) -> Command,
    /// Arguments after them.
    arguments: &'static [&'static str],
}

const PYTHON: [&str; 4] =
    ["psycopg[binary]==3.3.9", "asyncpg==0.32.0", "pg8000==1.31.6", "SQLAlchemy==2.1.9"];

/// A client of [`PYTHON`], which is how the program calls it, too.
fn python(name: &'static str, version: &str, arguments: &'static [&'static str]) -> Program {
    Program {
        client: Client { name, version: version.to_owned() },
        tools: &["python3"],
        java: None,
        folder: "python",
        files: &[("clients.py", include_str!("clients.py"))],
        install: |folder| environment(&folder.join("venv"), &PYTHON).map(drop),
        command: |folder| {
            let mut command = Command::new(folder.join("venv/bin/python"));
            command.arg(folder.join("clients.py"));
            command
        },
        arguments,
    }
}

/// All of them.
pub(super) fn all() -> Vec<Program> {
    vec![
        python("psycopg", "3.3.9", &["psycopg"]),
        python("asyncpg", "0.32.0", &["asyncpg"]),
        python("pg8000", "1.31.6", &["pg8000"]),
        python("sqlalchemy", "2.1.9", &["sqlalchemy"]),
        pgx(),
        pgjdbc(),
        node_postgres(),
        orm("typeorm", "1.1.1", &["typeorm"]),
        orm("sequelize", "6.37.8", &["sequelize"]),
        tokio_postgres(),
        sqlx(),
        gorm(),
        adbc(),
        flight(),
        spark(),
        trino(),
    ]
}

fn pgx() -> Program {
    Program {
        client: Client { name: "pgx", version: "5.12.0".into() },
        tools: &["go"],
        java: None,
        folder: "go",
        files: &[
            ("go.mod", include_str!("go/go.mod")),
            ("go.sum", include_str!("go/go.sum")),
            ("main.go", include_str!("go/main.go")),
        ],
        install: |folder| {
            let mut go = Command::new("go");
            // Another toolchain than the machine's is not fetched.
            go.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=mod");
            must(go.args(["build", "-o", "clients", "."]).current_dir(folder))
        },
        command: |folder| Command::new(folder.join("clients")),
        arguments: &[],
    }
}

fn gorm() -> Program {
    Program {
        client: Client { name: "gorm", version: "1.31.2".into() },
        folder: "gorm",
        files: &[
            ("go.mod", include_str!("gorm/go.mod")),
            ("go.sum", include_str!("gorm/go.sum")),
            ("main.go", include_str!("gorm/main.go")),
        ],
        ..pgx()
    }
}

fn pgjdbc() -> Program {
    Program {
        client: Client { name: "pgjdbc", version: "42.7.14".into() },
        tools: &["java", "mvn"],
        java: None,
        folder: "java",
        files: &[
            ("pom.xml", include_str!("java/pom.xml")),
            ("Scenarios.java", include_str!("java/Scenarios.java")),
        ],
        install: |folder| {
            let mut maven = Command::new("mvn");
            maven.args(["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"]);
            must(maven.current_dir(folder))
        },
        command: |folder| {
            let mut java = Command::new("java");
            java.arg("-cp").arg(folder.join("lib/*")).arg(folder.join("Scenarios.java"));
            java
        },
        arguments: &[],
    }
}

fn node_postgres() -> Program {
    Program {
        client: Client { name: "node-postgres", version: "8.23.1".into() },
        tools: &["node", "npm"],
        java: None,
        folder: "node",
        files: &[
            ("package.json", include_str!("node/package.json")),
            ("scenarios.js", include_str!("node/scenarios.js")),
        ],
        install: |folder| {
            let mut npm = Command::new("npm");
            npm.args(["install", "--silent", "--no-audit", "--no-fund"]);
            must(npm.current_dir(folder))
        },
        command: |folder| {
            let mut node = Command::new("node");
            node.arg("--no-deprecation").arg(folder.join("scenarios.js"));
            node
        },
        arguments: &[],
    }
}

/// One of the object-relational mappers on node-postgres.
fn orm(name: &'static str, version: &str, arguments: &'static [&'static str]) -> Program {
    Program {
        client: Client { name, version: version.to_owned() },
        folder: "orm",
        files: &[
            ("package.json", include_str!("orm/package.json")),
            ("orm.js", include_str!("orm/orm.js")),
        ],
        command: |folder| {
            let mut node = Command::new("node");
            node.arg("--no-deprecation").arg(folder.join("orm.js"));
            node
        },
        arguments,
        ..node_postgres()
    }
}

fn adbc() -> Program {
    Program {
        client: Client { name: "adbc", version: "1.13.0".into() },
        tools: &["python3"],
        java: None,
        folder: "adbc",
        files: &[("scenarios.py", include_str!("adbc/scenarios.py"))],
        install: |folder| {
            let packages = ["adbc-driver-postgresql==1.13.0", "pyarrow==26.0.1"];
            environment(&folder.join("venv"), &packages).map(drop)
        },
        command: |folder| {
            let mut command = Command::new(folder.join("venv/bin/python"));
            command.arg(folder.join("scenarios.py"));
            command
        },
        arguments: &[],
    }
}

fn flight() -> Program {
    Program {
        client: Client { name: "flight", version: "1.13.0".into() },
        folder: "flight",
        files: &[("scenarios.py", include_str!("flight/scenarios.py"))],
        install: |folder| {
            let packages =
                ["adbc-driver-flightsql==1.13.0", "adbc-driver-manager==1.13.0", "pyarrow==26.0.1"];
            environment(&folder.join("venv"), &packages).map(drop)
        },
        ..adbc()
    }
}

/// A file of a connector, under its name there.
macro_rules! connector {
    ($home:literal: $($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../../connectors/", $home, "/", $name)))),*]
    };
}

/// The data source of Apache Spark, which `connectors/spark` has, in a Spark of its own.
fn spark() -> Program {
    Program {
        client: Client { name: "spark", version: "4.0.4".into() },
        tools: &["java", "mvn"],
        java: None,
        folder: "spark",
        files: connector!("spark":
            "pom.xml"
            "src/main/resources/META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
            "src/main/java/tessera/spark/Aggregates.java"
            "src/main/java/tessera/spark/Conditions.java"
            "src/main/java/tessera/spark/Options.java"
            "src/main/java/tessera/spark/OwnVector.java"
            "src/main/java/tessera/spark/PartReader.java"
            "src/main/java/tessera/spark/Readers.java"
            "src/main/java/tessera/spark/TesseraScan.java"
            "src/main/java/tessera/spark/TesseraScanBuilder.java"
            "src/main/java/tessera/spark/TesseraSource.java"
            "src/main/java/tessera/spark/TesseraTable.java"
            "src/main/java/tessera/spark/Types.java"
            "src/main/java/tessera/spark/Vectors.java"
            "src/test/java/tessera/spark/Scenarios.java"
            "src/test/java/tessera/spark/SharedProcesses.java"
            "../scans/src/main/java/tessera/scans/Connection.java"
            "../scans/src/main/java/tessera/scans/HeldSnapshot.java"
            "../scans/src/main/java/tessera/scans/ScanCommand.java"
            "../scans/src/main/java/tessera/scans/Server.java"
            "../scans/src/main/java/tessera/scans/TesseraException.java"),
        install: packaged,
        command: |folder| {
            let mut java = Command::new("java");
            // As Spark's own scripts do.
            let opened = ["java.lang", "java.lang.invoke", "java.nio", "java.util"]
                .into_iter()
                .chain(["java.util.concurrent", "sun.nio.ch", "sun.util.calendar"])
                .map(|package| format!("--add-opens=java.base/{package}=ALL-UNNAMED"));
            java.args(opened).arg("-Xmx2g");
            let parts = ["target/tessera-spark-1.jar", "target/test-classes", "target/lib/*"];
            let path = parts.map(|part| folder.join(part).display().to_string()).join(":");
            java.args(["-cp", &path, "tessera.spark.Scenarios"]);
            java
        },
        arguments: &[],
    }
}

/// The newest Java that Trino's server and its plugins need.
const TRINO_JAVA: u32 = 25;

/// The plugin of Trino, which `connectors/trino` has, in two processes of Trino's server.
fn trino() -> Program {
    Program {
        client: Client { name: "trino", version: "483".into() },
        tools: &["mvn"],
        java: Some(TRINO_JAVA),
        folder: "trino",
        files: connector!("trino":
            "pom.xml"
            "src/main/resources/META-INF/services/io.trino.spi.Plugin"
            "src/main/java/tessera/trino/Aggregates.java"
            "src/main/java/tessera/trino/Blocks.java"
            "src/main/java/tessera/trino/Catalog.java"
            "src/main/java/tessera/trino/Conditions.java"
            "src/main/java/tessera/trino/Domains.java"
            "src/main/java/tessera/trino/Failures.java"
            "src/main/java/tessera/trino/Intervals.java"
            "src/main/java/tessera/trino/PartPages.java"
            "src/main/java/tessera/trino/PartProvider.java"
            "src/main/java/tessera/trino/Rows.java"
            "src/main/java/tessera/trino/Settings.java"
            "src/main/java/tessera/trino/Splits.java"
            "src/main/java/tessera/trino/TesseraColumn.java"
            "src/main/java/tessera/trino/TesseraConnector.java"
            "src/main/java/tessera/trino/TesseraMetadata.java"
            "src/main/java/tessera/trino/TesseraPlugin.java"
            "src/main/java/tessera/trino/TesseraSplit.java"
            "src/main/java/tessera/trino/TesseraTable.java"
            "src/main/java/tessera/trino/TesseraTransaction.java"
            "src/main/java/tessera/trino/Types.java"
            "src/main/java/tessera/trino/Values.java"
            "scenarios/pom.xml"
            "scenarios/Processes.java"
            "scenarios/Scenarios.java"
            "scenarios/TrinoServer.java"
            "../scans/src/main/java/tessera/scans/Connection.java"
            "../scans/src/main/java/tessera/scans/HeldSnapshot.java"
            "../scans/src/main/java/tessera/scans/ScanCommand.java"
            "../scans/src/main/java/tessera/scans/Server.java"
            "../scans/src/main/java/tessera/scans/TesseraException.java"),
        install: |folder| {
            with_java(folder, &["package"])?;
            with_java(&folder.join("scenarios"), &["dependency:copy-dependencies"])
        },
        command: |folder| {
            let home = java_home(TRINO_JAVA).unwrap_or_default();
            let mut java = Command::new(home.join("bin/java"));
            java.args(["-cp", "target/lib/*", "Scenarios.java"]);
            java.current_dir(folder.join("scenarios"));
            java
        },
        arguments: &[],
    }
}

/// Runs Maven with the Java of Trino.
fn with_java(folder: &Path, goals: &[&str]) -> Outcome {
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B"]).args(goals).env("MAVEN_OPTS", "-Xmx1g");
    maven.env("JAVA_HOME", java_home(TRINO_JAVA).unwrap_or_default());
    must(maven.current_dir(folder))
}

/// The directory of a JDK that is as new as `version`: that of JAVA_HOME, or one where Linux keeps
/// them.
fn java_home(version: u32) -> Option<PathBuf> {
    let named = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let kept = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten();
    let kept = kept.filter_map(|entry| Some(entry.ok()?.path()));
    named.into_iter().chain(kept).find(|home| {
        let output = Command::new(home.join("bin/javac")).arg("--version").output();
        let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        // As in "javac 25.0.3".
        let number =
            |said: String| said.split_whitespace().nth(1)?.split('.').next()?.parse::<u32>().ok();
        said.ok().and_then(number).is_some_and(|found| found >= version)
    })
}

/// Packages a connector, and puts what it runs in beside it.
fn packaged(folder: &Path) -> Outcome {
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "package"]);
    must(maven.current_dir(folder).env("MAVEN_OPTS", "-Xmx1g"))
}

fn tokio_postgres() -> Program {
    Program {
        client: Client { name: "tokio-postgres", version: "0.7.18".into() },
        tools: &["cargo"],
        java: None,
        folder: "rust",
        files: &[
            ("Cargo.toml", include_str!("rust/Cargo.toml.in")),
            ("src/main.rs", include_str!("rust/main.rs")),
        ],
        install: |folder| {
            let mut cargo = Command::new("cargo");
            cargo.args(["build", "--quiet", "--target-dir", "target"]);
            must(cargo.current_dir(folder))
        },
        command: |folder| Command::new(folder.join("target/debug/clients")),
        arguments: &[],
    }
}

/// Compiled when it runs, because its macros ask the server while they are expanded.
fn sqlx() -> Program {
    Program {
        client: Client { name: "sqlx", version: "0.8.6".into() },
        tools: &["cargo", "psql"],
        java: None,
        folder: "sqlx",
        files: &[
            ("Cargo.toml", include_str!("sqlx/Cargo.toml.in")),
            ("src/main.rs", include_str!("sqlx/main.rs")),
            ("setup.sql", include_str!("sqlx/setup.sql")),
            ("run.sh", include_str!("sqlx/run.sh")),
        ],
        install: |_| Ok(()),
        command: |folder| {
            let mut shell = Command::new("sh");
            shell.arg("run.sh").current_dir(folder);
            shell
        },
        arguments: &[],
    }
}

impl Program {
    /// Installs and runs it.
    pub(super) fn run(&self, server: &Server, report: &mut Report) {
        for tool in self.tools {
            if Command::new(tool).arg("--version").output().is_err() {
                let why = format!("there is no {tool} on this machine");
                return report.line(&self.client, "all", Status::Skipped, &why);
            }
        }
        if let Some(version) = self.java.filter(|version| java_home(*version).is_none()) {
            let why = format!("there is no JDK {version} on this machine; JAVA_HOME may name one");
            return report.line(&self.client, "all", Status::Skipped, &why);
        }
        match self.ready().and_then(|folder| self.scenarios(&folder, server, report)) {
            Ok(()) => {}
            Err(why) => report.line(&self.client, "all", Status::Failed, &why),
        }
    }

    /// The directory with its files and what they need.
    fn ready(&self) -> Result<PathBuf, String> {
        let folder = peers_home().with_file_name("clients").join(self.folder);
        for (name, content) in self.files {
            let path = folder.join(name);
            // What is newer is built again.
            if std::fs::read_to_string(&path).is_ok_and(|written| written == *content) {
                continue;
            }
            std::fs::create_dir_all(path.parent().unwrap_or(&folder)).map_err(text)?;
            std::fs::write(path, content).map_err(text)?;
        }
        (self.install)(&folder)?;
        Ok(folder)
    }

    fn scenarios(&self, folder: &Path, server: &Server, report: &mut Report) -> Outcome {
        let mut command = (self.command)(folder);
        command.args([&server.port, &server.password]).args(self.arguments);
        command.env("FLIGHT_PORT", &server.flight_port).env("TESSERA", server.program());
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(text)?;
        let output = child.stdout.take().ok_or("it has no output")?;
        let mut count = 0;
        for line in BufReader::new(output).lines() {
            let line = line.map_err(text)?;
            let mut parts = line.splitn(3, '\t');
            let status = match parts.next() {
                Some("ok") => Status::Ok,
                Some("FAILED") => Status::Failed,
                _ => return Err(format!("not a line of scenarios: {line}")),
            };
            let (name, why) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            report.line(&self.client, name, status, why);
            count += 1;
        }
        match child.wait().map_err(text)? {
            status if !status.success() => Err(format!("it ended with {status}")),
            _ if count == 0 => Err("it ran no scenario".into()),
            _ => Ok(()),
        }
    }
}
