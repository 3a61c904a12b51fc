//! Functions of large objects, by PostgreSQL's names.

use types::DataType;

/// A function that reads or writes large objects in the session's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LargeObject {
    /// lo_creat(INTEGER) -> OID: a new, empty one, whatever the argument.
    Creat,
    /// lo_create(OID) -> OID: an empty one of this number, of any for 0.
    Create,
    /// lo_open(OID, INTEGER modes) -> INTEGER: a descriptor.
    Open,
    /// lo_close(INTEGER descriptor) -> INTEGER.
    Close,
    /// loread(INTEGER descriptor, INTEGER bytes) -> BYTEA.
    Read,
    /// lowrite(INTEGER descriptor, BYTEA) -> INTEGER: how many bytes.
    Write,
    /// lo_lseek(INTEGER descriptor, INTEGER, INTEGER from) -> INTEGER: the place.
    Seek,
    /// lo_lseek64(INTEGER descriptor, BIGINT, INTEGER from) -> BIGINT.
    Seek64,
    /// lo_tell(INTEGER descriptor) -> INTEGER.
    Tell,
    /// lo_tell64(INTEGER descriptor) -> BIGINT.
    Tell64,
    /// lo_truncate(INTEGER descriptor, INTEGER bytes) -> INTEGER.
    Truncate,
    /// lo_truncate64(INTEGER descriptor, BIGINT bytes) -> INTEGER.
    Truncate64,
    /// lo_unlink(OID) -> INTEGER.
    Unlink,
    /// lo_from_bytea(OID, BYTEA) -> OID: a new one with this content.
    FromBytes,
    /// lo_get(OID) -> BYTEA: the whole of it.
    Get,
    /// lo_get(OID, BIGINT from, INTEGER bytes) -> BYTEA.
    GetPart,
    /// lo_put(OID, BIGINT at, BYTEA): nothing.
    Put,
    /// lo_import(TEXT file) -> OID.
    Import,
    /// lo_import(TEXT file, OID) -> OID.
    ImportAs,
    /// lo_export(OID, TEXT file) -> INTEGER.
    Export,
}

/// Name, parameters and result of each function.
const FUNCTIONS: [(&str, LargeObject, &[DataType], DataType); 20] = {
    use DataType::{BigInt, Bytea, Integer, Oid, Text};
    use LargeObject as L;
    [
        ("lo_creat", L::Creat, &[Integer], Oid),
        ("lo_create", L::Create, &[Oid], Oid),
        ("lo_open", L::Open, &[Oid, Integer], Integer),
        ("lo_close", L::Close, &[Integer], Integer),
        ("loread", L::Read, &[Integer, Integer], Bytea),
        ("lowrite", L::Write, &[Integer, Bytea], Integer),
        ("lo_lseek", L::Seek, &[Integer, Integer, Integer], Integer),
        ("lo_lseek64", L::Seek64, &[Integer, BigInt, Integer], BigInt),
        ("lo_tell", L::Tell, &[Integer], Integer),
        ("lo_tell64", L::Tell64, &[Integer], BigInt),
        ("lo_truncate", L::Truncate, &[Integer, Integer], Integer),
        ("lo_truncate64", L::Truncate64, &[Integer, BigInt], Integer),
        ("lo_unlink", L::Unlink, &[Oid], Integer),
        ("lo_from_bytea", L::FromBytes, &[Oid, Bytea], Oid),
        ("lo_get", L::Get, &[Oid], Bytea),
        ("lo_get", L::GetPart, &[Oid, BigInt, Integer], Bytea),
        ("lo_put", L::Put, &[Oid, BigInt, Bytea], Text),
        ("lo_import", L::Import, &[Text], Oid),
        ("lo_import", L::ImportAs, &[Text, Oid], Oid),
        ("lo_export", L::Export, &[Oid, Text], Integer),
    ]
};

impl LargeObject {
    /// The function that SQL calls `name`, with `count` arguments.
    pub fn called(name: &str, count: usize) -> Option<Self> {
        let is_it = |of: &&(&str, Self, &[DataType], DataType)| of.0 == name && of.2.len() == count;
        FUNCTIONS.iter().find(is_it).map(|of| of.1)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The types of its parameters.
    pub fn parameters(self) -> &'static [DataType] {
        self.row().2
    }

    /// The type of its result; empty text stands for PostgreSQL's void.
    pub fn result(self) -> DataType {
        self.row().3
    }

    fn row(self) -> &'static (&'static str, Self, &'static [DataType], DataType) {
        // The list has each of them.
        FUNCTIONS.iter().find(|of| of.1 == self).unwrap_or(&FUNCTIONS[0])
    }
}
