//! Extensions: those that were created, and those that can be.

use sql::statement::{ALWAYS_THERE, EXTENSIONS, ExtensionInfo, RelationName};

use types::PackedType;

use super::objects::Seen;
use super::{Row, Subject, numbers};
use crate::catalog::rights::SCHEMA_NAME;

/// The rows of a table of extensions; None for others.
pub(super) fn rows(name: &str, subject: &Subject<'_>) -> Option<Vec<Row>> {
    match name {
        "pg_catalog.pg_extension" => Some(created(subject)),
        "pg_catalog.pg_available_extensions" => Some(available(subject)),
        "pg_catalog.pg_available_extension_versions" => Some(versions(subject)),
        _ => None,
    }
}

/// Description of [`ALWAYS_THERE`].
pub(super) fn usual_comment() -> String {
    let info = ExtensionInfo::named(ALWAYS_THERE);
    info.map(|info| info.comment.to_owned()).unwrap_or_default()
}

fn created(subject: &Subject<'_>) -> Vec<Row> {
    let row = |name: &str, schema: i64, version: &str| {
        Row::default()
            .number("oid", numbers::extension(name))
            .text("extname", name)
            .number("extnamespace", schema)
            .text("extversion", version)
    };
    let always = row(ALWAYS_THERE, numbers::PG_CATALOG, "1.0").number("extowner", subject.owner());
    let mut rows = vec![always];
    for (name, extension) in &subject.state.extensions {
        let owner = match extension.owner.as_str() {
            "" => subject.owner(),
            owner => numbers::role(owner),
        };
        let row = row(name, numbers::schema(&extension.schema), &extension.version);
        rows.push(row.number("extowner", owner).flag("extrelocatable", true));
    }
    rows
}

/// The rows of pg_type for the types of extensions that were created, and their arrays.
pub(super) fn types(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for ty in PackedType::ALL {
        let created = ty.extension().and_then(|name| subject.state.extensions.get(name));
        let Some(extension) = created else { continue };
        let (category, collation) = match ty {
            PackedType::CiText => ("S", 100),
            _ => ("U", 0),
        };
        let shown = match extension.schema.as_str() {
            SCHEMA_NAME => ty.name().to_owned(),
            schema => format!("{}.{}", kernels::text_fn::quoted(schema), ty.name()),
        };
        let row = |number: u32, name: &str, function: &str| {
            Row::default()
                .number("oid", i64::from(number))
                .text("typname", name)
                .number("typnamespace", numbers::schema(&extension.schema))
                .number("typowner", subject.owner())
                .number("typlen", -1)
                .text("typtype", "b")
                .flag("typisdefined", true)
                .text("typdelim", ",")
                .number("typtypmod", -1)
                .text("typalign", "i")
                .text("typstorage", "x")
                .number("typcollation", collation)
                .text("typinput", &format!("{function}in"))
                .text("typoutput", &format!("{function}out"))
                .text("typreceive", &format!("{function}recv"))
                .text("typsend", &format!("{function}send"))
        };
        let function = if ty == PackedType::HStore { "hstore_" } else { "citext" };
        let of_type = row(ty.number(), ty.name(), function)
            .text("typcategory", category)
            .number("typarray", i64::from(ty.array_number()))
            .text("formatted", &shown);
        let of_array = row(ty.array_number(), &format!("_{}", ty.name()), "array_")
            .text("typcategory", "A")
            .text("typsubscript", "array_subscript_handler")
            .number("typelem", i64::from(ty.number()))
            .text("typanalyze", "array_typanalyze")
            .text("formatted", &format!("{shown}[]"));
        rows.extend([of_type, of_array]);
    }
    rows
}

impl Seen<'_> {
    /// The types of extensions that were created, with the schemas of these.
    fn extension_types(&self) -> impl Iterator<Item = (PackedType, &str)> {
        PackedType::ALL.into_iter().filter_map(|ty| {
            let extension = self.state.extensions.get(ty.extension()?)?;
            Some((ty, extension.schema.as_str()))
        })
    }

    /// The number of the type of an extension that `name` means, or of arrays of it.
    pub(super) fn extension_type_named(&self, name: &RelationName, is_array: bool) -> Option<u32> {
        let finds = |schema: &str| match &name.schema {
            Some(named) => named == schema,
            None => self.settings.schemas().any(|in_path| in_path == schema),
        };
        let element = name.name.strip_prefix('_').filter(|_| !is_array);
        self.extension_types().filter(|(_, schema)| finds(schema)).find_map(|(ty, _)| {
            if ty.name() == name.name {
                Some(if is_array { ty.array_number() } else { ty.number() })
            } else {
                (element == Some(ty.name())).then(|| ty.array_number())
            }
        })
    }

    /// The type of an extension with this number, as messages show it.
    pub(super) fn extension_type_numbered(&self, number: u32) -> Option<String> {
        let mut all = self.extension_types();
        let is_it = |ty: &PackedType| [ty.number(), ty.array_number()].contains(&number);
        let (ty, schema) = all.find(|(ty, _)| is_it(ty))?;
        let suffix = if ty.number() == number { "" } else { "[]" };
        Some(if self.settings.schemas().any(|in_path| in_path == schema) {
            format!("{}{suffix}", ty.name())
        } else {
            format!("{}.{}{suffix}", kernels::text_fn::quoted(schema), ty.name())
        })
    }
}

/// True for one that was created.
fn is_created(subject: &Subject<'_>, name: &str) -> bool {
    name == ALWAYS_THERE || subject.state.extensions.contains_key(name)
}

fn available(subject: &Subject<'_>) -> Vec<Row> {
    let row = |info: &ExtensionInfo| {
        let row = Row::default()
            .text("name", info.name)
            .text("default_version", info.version)
            .text("comment", info.comment);
        if is_created(subject, info.name) {
            row.text("installed_version", info.version)
        } else {
            row
        }
    };
    EXTENSIONS.iter().map(row).collect()
}

fn versions(subject: &Subject<'_>) -> Vec<Row> {
    let row = |info: &ExtensionInfo| {
        Row::default()
            .text("name", info.name)
            .text("version", info.version)
            .flag("installed", is_created(subject, info.name))
            .flag("superuser", true)
            .flag("trusted", true)
            .flag("relocatable", info.name != ALWAYS_THERE)
            .text("comment", info.comment)
    };
    EXTENSIONS.iter().map(row).collect()
}
