//! Extensions: those that were created, and those that can be.

use catalog::State;
use catalog::rights::SCHEMA_NAME;
use sql::statement::{ALWAYS_THERE, EXTENSIONS, ExtensionInfo, RelationName};

use types::PackedType;
use types::packed::distance::Metric;

use super::objects::Seen;
use super::{Row, Subject, numbers};

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

/// The types of extensions that were created, with the schemas of those.
fn created_types(state: &State) -> impl Iterator<Item = (PackedType, &str)> {
    PackedType::ALL.into_iter().filter_map(|ty| {
        let extension = state.extensions.get(ty.extension()?)?;
        Some((ty, extension.schema.as_str()))
    })
}

/// A name with its schema, unless that is the usual one.
fn shown_in(schema: &str, name: &str) -> String {
    match schema {
        SCHEMA_NAME => name.to_owned(),
        schema => format!("{}.{name}", kernels::text_fn::quoted(schema)),
    }
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
        let shown = shown_in(&extension.schema, ty.name());
        let row = |number: u32, name: &str, function: &str, storage: &str| {
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
                .text("typstorage", storage)
                .number("typcollation", collation)
                .text("typinput", &format!("{function}in"))
                .text("typoutput", &format!("{function}out"))
                .text("typreceive", &format!("{function}recv"))
                .text("typsend", &format!("{function}send"))
        };
        let function = match ty {
            PackedType::HStore => "hstore_",
            PackedType::Vector(_) => "vector_",
            _ => "citext",
        };
        // As CREATE TYPE of these extensions says.
        let storage = if let PackedType::Vector(_) = ty { "e" } else { "x" };
        let of_type = row(ty.number(), ty.name(), function, storage)
            .text("typcategory", category)
            .number("typarray", i64::from(ty.array_number()))
            .text("formatted", &shown);
        let of_type = match ty {
            PackedType::Vector(_) => of_type.text("typmodin", "vector_typmod_in"),
            _ => of_type,
        };
        let of_array = row(ty.array_number(), &format!("_{}", ty.name()), "array_", "x")
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
    /// The number of the type of an extension that `name` means, or of arrays of it.
    pub(super) fn extension_type_named(&self, name: &RelationName, is_array: bool) -> Option<u32> {
        let finds = |schema: &str| match &name.schema {
            Some(named) => named == schema,
            None => self.settings.schemas().any(|in_path| in_path == schema),
        };
        let element = name.name.strip_prefix('_').filter(|_| !is_array);
        created_types(self.state).filter(|(_, schema)| finds(schema)).find_map(|(ty, _)| {
            if ty.name() == name.name {
                Some(if is_array { ty.array_number() } else { ty.number() })
            } else {
                (element == Some(ty.name())).then(|| ty.array_number())
            }
        })
    }

    /// The type of an extension with this number, as messages show it.
    pub(super) fn extension_type_numbered(&self, number: u32) -> Option<String> {
        let mut all = created_types(self.state);
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

/// Number of the first operator class of vectors, and of its family: those of the others follow.
const NEAR_CLASSES: i64 = 15_970;
const NEAR_FAMILIES: i64 = 15_980;

/// The place of a metric in the list of all.
fn place_of(metric: Metric) -> i64 {
    // There are four.
    Metric::ALL.iter().position(|known| *known == metric).unwrap_or(0) as i64
}

/// The number of the operator class of near indexes that has a metric.
pub(super) fn near_class(metric: Metric) -> i64 {
    NEAR_CLASSES + place_of(metric)
}

/// The schema of the extension that has vectors, and who owns what it has, where it was created.
fn near_home(subject: &Subject<'_>) -> Option<(i64, i64)> {
    let extension = subject.state.extensions.get("vector")?;
    Some((numbers::schema(&extension.schema), subject.owner()))
}

/// Rows of pg_opclass for the operator classes of near indexes.
pub(super) fn classes(subject: &Subject<'_>) -> Vec<Row> {
    let Some((schema, owner)) = near_home(subject) else { return Vec::new() };
    let vector = i64::from(PackedType::Vector(None).number());
    let row = |metric: Metric| {
        Row::default()
            .number("oid", near_class(metric))
            .number("opcmethod", numbers::NEAR_METHOD)
            .text("opcname", metric.class())
            .number("opcnamespace", schema)
            .number("opcowner", owner)
            .number("opcfamily", NEAR_FAMILIES + place_of(metric))
            .number("opcintype", vector)
            .flag("opcdefault", false)
            .number("opckeytype", 0)
    };
    Metric::ALL.into_iter().map(row).collect()
}

/// Rows of pg_opfamily, likewise.
pub(super) fn families(subject: &Subject<'_>) -> Vec<Row> {
    let Some((schema, owner)) = near_home(subject) else { return Vec::new() };
    let row = |metric: Metric| {
        Row::default()
            .number("oid", NEAR_FAMILIES + place_of(metric))
            .number("opfmethod", numbers::NEAR_METHOD)
            .text("opfname", metric.class())
            .number("opfnamespace", schema)
            .number("opfowner", owner)
    };
    Metric::ALL.into_iter().map(row).collect()
}

/// True where the extension that has near indexes was created.
pub(super) fn has_near(subject: &Subject<'_>) -> bool {
    near_home(subject).is_some()
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
