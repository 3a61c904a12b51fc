//! Parts that other crates add to a database: table functions, procedures, file formats.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use exec::BatchSource;
use kernels::{Batch, Vector};
use parking_lot::RwLock;
use sql::catalog::{
    Arguments, BoundTableFunction, FunctionIndex, SourcePart, TableFunctionRef, TakesRestrictions,
};
use types::calendar::TimeZone;
use types::charset::Charset;
use types::{Collation, DataType, Error, Result, SqlState};

use super::attached::Attachment;
use crate::{CancelHandle, Database, QueryResult};

/// A function that stands in FROM.
pub trait TableFunction: Send + Sync {
    /// Binds it to constant arguments.
    ///
    /// # Errors
    /// Whatever is wrong with them.
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef>;

    /// True when it reads files of the server, which only superusers may.
    fn reads_files(&self) -> bool {
        false
    }
}

/// Makes of a password what is kept of it.
pub type PasswordHasher = Arc<dyn Fn(&str) -> Result<String> + Send + Sync>;

/// A procedure, run by CALL.
pub trait Procedure: Send + Sync {
    /// Runs it.
    ///
    /// # Errors
    /// Whatever it meets; nothing of it stays then.
    fn call(
        &self,
        database: &Database,
        cancel: &CancelHandle,
        arguments: &Arguments,
    ) -> Result<QueryResult>;
}

/// A file opened for reading.
pub struct OpenedFile {
    /// Columns of the file.
    pub columns: Vec<(String, DataType)>,
    /// Rows, counted or estimated; None when nothing is known.
    pub rows: Option<u64>,
    /// The rows.
    pub source: Arc<dyn BatchSource>,
}

/// A file opened for writing.
pub trait FileWriter: Send {
    /// Appends rows.
    ///
    /// # Errors
    /// 58030 or 53100.
    fn write(&mut self, batch: &Batch) -> Result<()>;

    /// Writes what is still buffered and makes the file whole. Dropped without, the file is
    /// removed.
    ///
    /// # Errors
    /// 58030 or 53100.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Options of COPY or of a reading function.
#[derive(Clone, Copy, Debug)]
pub struct FileOptions<'a> {
    /// Names, in lower case, and values.
    pub given: &'a [(String, String)],
    /// Whose clocks show times with a zone as text.
    pub zone: &'a TimeZone,
    /// The encoding of texts, that of the option `encoding` where it is given.
    pub charset: Charset,
}

impl<'a> FileOptions<'a> {
    /// The options `given`; without one of them texts are in `usual`.
    ///
    /// # Errors
    /// 22023 for an encoding that there is not, 0A000 for one without conversions.
    pub fn new(given: &'a [(String, String)], zone: &'a TimeZone, usual: Charset) -> Result<Self> {
        let encoding = given.iter().find(|(name, _)| name == "encoding");
        let Some((_, name)) = encoding else { return Ok(Self { given, zone, charset: usual }) };
        let Some(charset) = Charset::named(name) else {
            let message = "argument to option \"encoding\" must be a valid encoding name";
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        };
        if !charset.is_here() {
            return Err(Error::unsupported(format!("files in the encoding {}", charset.name())));
        }
        Ok(Self { given, zone, charset })
    }
}

/// A file format.
pub trait FileFormat: Send + Sync {
    /// Opens `path`. With `target` (COPY FROM) the columns of the file are read as these names and
    /// types, by position; without, the file says or they are guessed.
    ///
    /// # Errors
    /// 58P01 for a missing file, 22P04 and others for what is wrong inside.
    fn open(
        &self,
        path: &str,
        options: FileOptions<'_>,
        target: Option<&[(String, DataType)]>,
    ) -> Result<OpenedFile>;

    /// True when values are text whose types are guessed: `header` and `all_varchar` are options.
    fn keeps_text(&self) -> bool {
        false
    }

    /// Creates `path`.
    ///
    /// # Errors
    /// 58030 when it cannot.
    fn create(
        &self,
        path: &str,
        options: FileOptions<'_>,
        columns: &[(String, DataType)],
    ) -> Result<Box<dyn FileWriter>>;
}

/// Contents of a stream of COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamForm {
    /// Lines of text.
    Text,
    /// Bytes.
    Binary,
}

/// Rest of a stream: more, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// There may be more.
    Part,
    /// The stream ends with it.
    All,
}

/// Rows that came at once.
pub type Piece = Arc<dyn BatchSource>;

/// A format of COPY FROM STDIN and TO STDOUT.
pub trait StreamFormat: Send + Sync {
    /// Form of the stream: lines of text or bytes.
    fn form(&self) -> StreamForm;

    /// Reads rows of the columns `target`.
    ///
    /// # Errors
    /// 22023 and others for the options.
    fn reader(
        &self,
        options: FileOptions<'_>,
        target: &[(String, DataType)],
    ) -> Result<Box<dyn StreamReader>>;

    /// Writes rows of `columns`.
    ///
    /// # Errors
    /// 22023 and others for the options.
    fn writer(
        &self,
        options: FileOptions<'_>,
        columns: &[(String, DataType)],
    ) -> Result<Box<dyn StreamWriter>>;
}

/// Rows from a stream.
pub trait StreamReader: Send {
    /// Takes all whole records off the front of `bytes`; None when there is none.
    ///
    /// # Errors
    /// 22P04 and others for what is wrong inside; some errors come from the rows only.
    fn take(&mut self, bytes: &mut Vec<u8>, came: Came) -> Result<Option<Piece>>;
}

/// Rows into a stream.
pub trait StreamWriter: Send {
    /// Appends what comes before the rows, and to `ends` where it ends when it is a line of its
    /// own; otherwise it goes with the first row.
    fn begin(&mut self, out: &mut Vec<u8>, ends: &mut Vec<usize>);
    /// Appends `rows` of `columns`, and to `ends` where in `out` each of them ends.
    ///
    /// # Errors
    /// 22P05 for a character that the encoding of binary values lacks.
    fn rows(
        &mut self,
        columns: &[Arc<Vector>],
        rows: Range<usize>,
        out: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<()>;
    /// Appends what comes after the rows.
    fn end(&mut self, out: &mut Vec<u8>);
}

/// The client behind STDIN and STDOUT.
pub trait CopyClient: Send {
    /// Asks it for rows of `columns` columns.
    ///
    /// # Errors
    /// 08006 when it is gone.
    fn begin_in(&mut self, columns: usize, form: StreamForm) -> Result<()>;

    /// Appends what it sends next.
    ///
    /// # Errors
    /// 57014 when it gives up, 08006 when it is gone, 08P01 when it sends something else.
    fn read(&mut self, bytes: &mut Vec<u8>) -> Result<Came>;

    /// Tells it that rows of `columns` columns come.
    ///
    /// # Errors
    /// 08006 when it is gone.
    fn begin_out(&mut self, columns: usize, form: StreamForm) -> Result<()>;

    /// Sends it rows: `bytes`, each up to one of `ends`.
    ///
    /// # Errors
    /// 08006 when it is gone.
    fn write(&mut self, bytes: &[u8], ends: &[usize]) -> Result<()>;

    /// Tells it that no rows come any longer.
    ///
    /// # Errors
    /// 08006 when it is gone.
    fn end_out(&mut self) -> Result<()>;
}

/// Names that a session finds outside of its database when no relation has them: variables of the
/// program that runs a statement.
pub trait Outside: Send + Sync {
    /// The rows that `name` (already case-folded) stands for. Asked once or more for each place
    /// where a statement reads `name`, always with the same answer.
    ///
    /// # Errors
    /// Why what is called so cannot be read.
    fn find(&self, name: &str) -> Option<Result<TableFunctionRef>>;
}

/// A table function whose rows are those of an opened file or another source.
pub struct SourceFunction {
    name: String,
    columns: Vec<(String, DataType)>,
    rows: Option<u64>,
    source: Arc<dyn BatchSource>,
    takes: TakesRestrictions,
    indexes: Vec<FunctionIndex>,
    collations: Vec<Option<Collation>>,
}

impl SourceFunction {
    /// The function called `name` (with arguments, for EXPLAIN) over `file`.
    pub fn bound(name: String, file: OpenedFile) -> TableFunctionRef {
        Self::new(name, file, TakesRestrictions::No).shared()
    }

    /// As [`Self::bound`], over a source that leaves out rows by restrictions, and reads `indexes`.
    pub fn restricted(
        name: String,
        file: OpenedFile,
        indexes: Vec<FunctionIndex>,
    ) -> TableFunctionRef {
        Self { indexes, ..Self::new(name, file, TakesRestrictions::Yes) }.shared()
    }

    fn new(name: String, file: OpenedFile, takes: TakesRestrictions) -> Self {
        let OpenedFile { columns, rows, source } = file;
        let (indexes, collations) = (Vec::new(), Vec::new());
        Self { name, columns, rows, source, takes, indexes, collations }
    }

    /// As [`Self::bound`], its columns with these collations.
    pub(crate) fn collated(
        name: String,
        file: OpenedFile,
        collations: Vec<Option<Collation>>,
    ) -> TableFunctionRef {
        Self { collations, ..Self::new(name, file, TakesRestrictions::No) }.shared()
    }

    fn shared(self) -> TableFunctionRef {
        TableFunctionRef(Arc::new(self))
    }
}

impl BoundTableFunction for SourceFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[(String, DataType)] {
        &self.columns
    }

    fn collations(&self) -> &[Option<Collation>] {
        &self.collations
    }

    fn rows(&self) -> Option<u64> {
        self.rows
    }

    fn takes(&self) -> TakesRestrictions {
        self.takes
    }

    fn indexes(&self) -> &[FunctionIndex] {
        &self.indexes
    }

    fn part(&self, part: SourcePart) -> Option<TableFunctionRef> {
        let source = self.source.part(part)?;
        let name = format!("{} part {} of {}", self.name, part.number, part.count);
        let rows = self.rows.map(|rows| rows / part.count);
        let file = OpenedFile { columns: self.columns.clone(), rows, source };
        let part = Self::new(name, file, self.takes);
        Some(Self { indexes: self.indexes.clone(), ..part }.shared())
    }

    fn object(&self) -> Arc<dyn std::any::Any + Send + Sync> {
        Arc::new(Arc::clone(&self.source))
    }
}

/// Everything registered with a database.
#[derive(Default)]
pub struct Registry {
    functions: RwLock<HashMap<String, Arc<dyn TableFunction>>>,
    procedures: RwLock<HashMap<String, Arc<dyn Procedure>>>,
    formats: RwLock<HashMap<String, Arc<dyn FileFormat>>>,
    streams: RwLock<HashMap<String, Arc<dyn StreamFormat>>>,
    hasher: RwLock<Option<PasswordHasher>>,
    terminator: RwLock<Option<Terminator>>,
    attachment: OnceLock<Arc<dyn Attachment>>,
}

/// Ends the session of this number; false when there is none.
pub type Terminator = Arc<dyn Fn(i32) -> bool + Send + Sync>;

impl Registry {
    /// Adds a table function.
    pub fn add_function(&self, name: &str, function: Arc<dyn TableFunction>) {
        self.functions.write().insert(name.to_owned(), function);
    }

    /// Adds a procedure.
    pub fn add_procedure(&self, name: &str, procedure: Arc<dyn Procedure>) {
        self.procedures.write().insert(name.to_owned(), procedure);
    }

    /// Adds a file format.
    pub fn add_format(&self, name: &str, format: Arc<dyn FileFormat>) {
        self.formats.write().insert(name.to_owned(), format);
    }

    /// Adds a format of COPY FROM STDIN and TO STDOUT.
    pub fn add_stream_format(&self, name: &str, format: Arc<dyn StreamFormat>) {
        self.streams.write().insert(name.to_owned(), format);
    }

    /// Sets what makes of passwords what is kept of them.
    pub fn set_password_hasher(&self, hasher: PasswordHasher) {
        *self.hasher.write() = Some(hasher);
    }

    /// Sets what ends sessions of others.
    pub fn set_terminator(&self, terminator: Terminator) {
        *self.terminator.write() = Some(terminator);
    }

    /// Attaches a database; it stays for good, and there is one at most.
    pub fn attach(&self, attachment: Arc<dyn Attachment>) {
        // The first one counts.
        let _ = self.attachment.set(attachment);
    }

    /// The attached database.
    pub(crate) fn attachment(&self) -> Option<&Arc<dyn Attachment>> {
        self.attachment.get()
    }

    /// Function that ends other sessions.
    pub(crate) fn terminator(&self) -> Option<Terminator> {
        self.terminator.read().clone()
    }

    /// Function that makes the stored form of a password.
    pub fn password_hasher(&self) -> Option<PasswordHasher> {
        self.hasher.read().clone()
    }

    /// The format of streams called `name`.
    pub fn stream_format(&self, name: &str) -> Option<Arc<dyn StreamFormat>> {
        self.streams.read().get(name).cloned()
    }

    /// The table function called `name`.
    pub fn function(&self, name: &str) -> Option<Arc<dyn TableFunction>> {
        self.functions.read().get(name).cloned()
    }

    /// The procedure called `name`.
    pub fn procedure(&self, name: &str) -> Option<Arc<dyn Procedure>> {
        self.procedures.read().get(name).cloned()
    }

    /// The format called `name`.
    pub fn format(&self, name: &str) -> Option<Arc<dyn FileFormat>> {
        self.formats.read().get(name).cloned()
    }
}
