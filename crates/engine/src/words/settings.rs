//! SET and SHOW: what a session may say about itself.
//!
//! Elsewhere: settings that change nothing (`postgres`), values as text (`value`).

mod left;
mod postgres;
mod value;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use catalog::who::Who;
use plan::{
    AggregatePlace, IndexJoinCost, IndexPaths, JoinOrder, NearSearch, PlanOptions, Switches,
    Technique, WideTables,
};
use sched::Priority;
use storage::BlockPaths;
use types::calendar::{DateOrder, TimeZone};
use types::charset::Charset;
use types::text::{BytesForm, DateForm, IntervalStyle, TextStyle};
use types::{Error, Result, SqlState};

use value::{Unit, date_style, encoding, integer, no_such_value, one_of, real, shown, switch};

pub(crate) use value::{parse_bytes, shown_name};

/// A setting: its name, default, and whether SET may change it.
struct Known {
    name: &'static str,
    default: &'static str,
    access: Access,
}

#[derive(Clone, Copy, PartialEq)]
enum Access {
    /// Any value is kept.
    Any,
    /// Only the default is accepted: other behaviour does not exist.
    Fixed,
    /// A boolean of which only the default is accepted.
    FixedSwitch,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A number of kilobytes, or one with a unit; 0 stands for no limit.
    Kilobytes,
    /// A boolean, kept as on or off.
    Switch,
    /// SHOW only.
    ReadOnly,
    /// A whole number from the first to the second, in a unit.
    Integer(i64, i64, Unit),
    /// A number from the first to the second.
    Real(f64, f64),
    /// A number of milliseconds, likewise.
    Delay(f64, f64),
    /// An encoding, kept by its name.
    Encoding,
    /// A time zone, kept by its name.
    Zone,
    /// How dates are read and written.
    DateStyle,
    /// How intervals are written.
    IntervalStyle,
}

const fn known(name: &'static str, default: &'static str, access: Access) -> Known {
    Known { name, default, access }
}

/// Values of `client_min_messages`.
const LEVELS: &[&str] = &[
    "debug", "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error",
];

/// Values of `default_transaction_isolation`.
const ISOLATIONS: &[&str] =
    &["serializable", "repeatable read", "read committed", "read uncommitted"];

/// Values of `intervalstyle`.
const INTERVAL_STYLES: &[&str] = &["postgres", "postgres_verbose", "sql_standard", "iso_8601"];

/// The largest `priority`.
const PRIORITY_MAX: i64 = 1000;

/// Default of `admission_timeout`: a burst of queries passes, and who would wait longer is told.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(60);

const MILLISECONDS: Access = Access::Integer(0, i32::MAX as i64, Unit::Milliseconds);

/// Settings with text values; `threads` and `memory_limit` are the session's. Beside them each
/// technique of queries has a switch (`plan::Technique`).
const KNOWN: &[Known] = &[
    known("admission_timeout", "60000", MILLISECONDS),
    known("aggregate_place", "cost", Access::OneOf(&["cost", "early"])),
    known("application_name", "", Access::Any),
    known("array_nulls", "on", Access::FixedSwitch),
    known("bytea_output", "hex", Access::OneOf(&["escape", "hex"])),
    known("check_function_bodies", "on", Access::Switch),
    known("client_encoding", "UTF8", Access::Encoding),
    known("client_min_messages", "notice", Access::OneOf(LEVELS)),
    known("datestyle", "ISO, MDY", Access::DateStyle),
    known("default_table_access_method", "heap", Access::Fixed),
    known("default_tablespace", "", Access::Fixed),
    known("default_transaction_deferrable", "off", Access::Switch),
    known("default_transaction_isolation", "repeatable read", Access::OneOf(ISOLATIONS)),
    known("default_transaction_read_only", "off", Access::Switch),
    known("default_with_oids", "off", Access::FixedSwitch),
    known("escape_string_warning", "on", Access::Switch),
    known("extra_float_digits", "1", Access::Integer(-15, 3, Unit::None)),
    known("hnsw.ef_search", "40", Access::Integer(1, 1000, Unit::None)),
    known("hnsw.max_scan_tuples", "20000", Access::Integer(1, i32::MAX as i64, Unit::None)),
    known("idle_in_transaction_session_timeout", "0", MILLISECONDS),
    known("idle_session_timeout", "0", MILLISECONDS),
    known("in_hot_standby", "off", Access::ReadOnly),
    known("index_join_cost", "-1", Access::Integer(-1, i32::MAX as i64, Unit::None)),
    known("index_paths", "on", Access::OneOf(&["off", "on", "prefer"])),
    known("integer_datetimes", "on", Access::ReadOnly),
    known("intervalstyle", "postgres", Access::IntervalStyle),
    known("is_superuser", "on", Access::ReadOnly),
    known("join_order", "cost", Access::OneOf(&["cost", "worst", "text"])),
    known("lc_collate", "C", Access::ReadOnly),
    known("lc_ctype", "C", Access::ReadOnly),
    known("lc_messages", "C", Access::Any),
    known("lock_timeout", "0", MILLISECONDS),
    known("max_identifier_length", "63", Access::ReadOnly),
    known("max_index_keys", "32", Access::ReadOnly),
    known("max_prepared_transactions", "64", Access::ReadOnly),
    known("priority", "1", Access::Integer(1, PRIORITY_MAX, Unit::None)),
    known("password_encryption", "scram-sha-256", Access::Fixed),
    known("role", "none", Access::Any),
    known("search_path", "\"$user\", public", Access::Any),
    known("server_encoding", "UTF8", Access::ReadOnly),
    known("server_version", "15.0 (Tessera 0.1.0)", Access::ReadOnly),
    known("server_version_num", "150000", Access::ReadOnly),
    known("session_authorization", "tessera", Access::Any),
    known("session_replication_role", "origin", Access::OneOf(&["origin", "replica", "local"])),
    known("standard_conforming_strings", "on", Access::Switch),
    known("statement_timeout", "0", MILLISECONDS),
    known("temp_directory", "", Access::Any),
    known("timezone", "UTC", Access::Zone),
    known("transform_null_equals", "off", Access::FixedSwitch),
    known("wide_tables", "on", Access::OneOf(&["off", "on", "prefer"])),
    known("work_mem", "0", Access::Kilobytes),
];

/// Values that a setting takes.
pub(crate) struct Domain {
    /// bool, integer, real, string or enum.
    pub(crate) vartype: &'static str,
    /// The least and the largest number.
    pub(crate) limits: Option<[String; 2]>,
}

/// A name that is known, or one of those with a point that clients make up.
type Name = Cow<'static, str>;

/// The values a session changed.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    changed: Vec<(Name, String)>,
    /// SET LOCAL: until the transaction ends these count.
    local: Vec<(Name, String)>,
    /// Values that RESET restores, where they are not the default of all.
    base: Vec<(Name, String)>,
    /// Moves with each change.
    version: u64,
    /// Options for the planner and the executor that the settings make.
    options: PlanOptions,
    zone: TimeZone,
    style: TextStyle,
    charset: Charset,
    /// The schemas of `search_path` as written; None is the default.
    path: Option<Arc<[String]>>,
    /// The schema that comes before those of the default path: that of the attached database.
    attached: Option<Arc<str>>,
    /// User who began the session.
    user: Option<String>,
    /// True when that user is no role: authentication was `trust`.
    trusted: bool,
    /// Role that statements run as.
    who: Who,
}

impl Default for Settings {
    fn default() -> Self {
        let (changed, local, base) = Default::default();
        let options = PlanOptions { index_paths: IndexPaths::Consider, ..PlanOptions::default() };
        let (user, trusted, who) = (None, true, Who::All);
        let (zone, style, path, attached) = (TimeZone::UTC, TextStyle::default(), None, None);
        let (version, charset) = (0, Charset::UTF8);
        Self {
            changed,
            local,
            base,
            version,
            options,
            zone,
            style,
            charset,
            path,
            attached,
            user,
            trusted,
            who,
        }
    }
}

/// Settings that say who the session is.
const IDENTITY: [&str; 2] = ["role", "session_authorization"];

/// The settings that have a default.
fn known_settings() -> impl Iterator<Item = &'static Known> {
    KNOWN.iter().chain(postgres::WITHOUT_EFFECT)
}

fn is_word(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

/// A setting by its name, which is case-folded; one that clients made up has any value.
fn find(name: &str) -> Result<(Name, &'static str, Access)> {
    let name = name.strip_prefix("tessera.").unwrap_or(name);
    if let Some(known) = known_settings().find(|k| k.name == name) {
        return Ok((Cow::Borrowed(known.name), known.default, known.access));
    }
    if let Some(technique) = Technique::named(name) {
        return Ok((Cow::Borrowed(technique.name()), "on", Access::Switch));
    }
    if name.contains('.') && name.split('.').all(is_word) {
        Ok((Cow::Owned(name.to_owned()), "", Access::Any))
    } else {
        Err(unknown(name))
    }
}

/// 42704 for a setting that does not exist.
pub(crate) fn unknown(name: &str) -> Error {
    let message = format!("unrecognized configuration parameter \"{name}\"");
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

/// The form and the order that a value of `datestyle` says.
fn date_style_of(text: &str) -> (DateForm, DateOrder) {
    let (form, order) = text.split_once(", ").unwrap_or((text, ""));
    let form = match form {
        "SQL" => DateForm::Sql,
        "Postgres" => DateForm::Postgres,
        "German" => DateForm::German,
        _ => DateForm::Iso,
    };
    let order = match order {
        "DMY" => DateOrder::Dmy,
        "YMD" => DateOrder::Ymd,
        _ => DateOrder::Mdy,
    };
    (form, order)
}

/// Purpose of a setting in SHOW ALL.
pub(crate) fn meaning(name: &str) -> &'static str {
    match name {
        "admission_queries" => "how many queries that ask for memory run at once; 0: by workers",
        "admission_timeout" => "how long a query waits for the memory that it asks for",
        "freezing" => "when blocks that nobody writes are frozen: on, off or eager",
        "hnsw.ef_search" => "how many of the nearest vectors a search by index looks for at least",
        "hnsw.max_scan_tuples" => "entries of an index that are read before all rows are sorted",
        "index_join_cost" => {
            "cost of look-ups with which a join by index goes over to a hash join; -1: by its cost"
        }
        "index_paths" => "whether queries find rows by indexes",
        "priority" => "the weight of the session's queries when workers are shared",
        "scheduler_dispatch" => "how work orders reach workers: monitor or bus",
        "scheduler_policy" => "how workers are shared: proportional, fair or highest_first",
        "join_order" => "who orders joins: cost, text, or worst to see what that costs",
        name => Technique::named(name).map_or("", Technique::meaning),
    }
}

/// The identifiers of a list, folded where they are not quoted; two quotes inside are one.
fn names_in(list: &str) -> Vec<String> {
    let (mut names, mut name, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = list.chars().chain([',']).peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => name.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => {
                let name = std::mem::take(&mut name);
                names.extend((!name.is_empty()).then_some(name));
            }
            c if quoted => name.push(c),
            c if c.is_whitespace() => {}
            c => name.extend(c.to_lowercase()),
        }
    }
    names
}

impl Settings {
    /// The value of `name` if it was changed: cheaper than [`Self::get`].
    pub(crate) fn changed(&self, name: &str) -> Option<&str> {
        let mut all = self.local.iter().chain(&self.changed);
        all.find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// How queries are planned and run.
    pub(crate) fn plan_options(&self) -> PlanOptions {
        self.options
    }

    /// The priority of the session's queries at the scheduler.
    pub(crate) fn priority(&self) -> Priority {
        let changed = self.changed("priority").and_then(|text| text.parse().ok());
        changed.map_or_else(Priority::default, Priority)
    }

    /// Whose clocks it goes by.
    pub(crate) fn time_zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The schemas of `search_path` as written; None is the default.
    pub(crate) fn path(&self) -> Option<&Arc<[String]>> {
        self.path.as_ref()
    }

    /// Settings with `schema` before those of the default path.
    pub(crate) fn attached_to(schema: Option<&str>) -> Self {
        Self { attached: schema.map(Arc::from), ..Self::default() }
    }

    /// The schemas of `search_path`, whether they exist or not.
    pub(crate) fn schemas(&self) -> impl Iterator<Item = &str> {
        let user = self.current_user();
        let given = self.path.iter().flat_map(|path| path.iter().map(String::as_str));
        let usual = self.path.is_none().then_some(["$user", "public"]).into_iter().flatten();
        let attached = self.attached.as_deref().filter(|_| self.path.is_none());
        given.chain(attached).chain(usual).map(move |name| match name {
            "$user" => user,
            "main" => "public",
            name => name,
        })
    }

    /// The schema of temporary relations, where the path does not name it: then it comes first.
    pub(crate) fn implied_temporary(&self) -> Option<&'static str> {
        let is_named = self.schemas().any(|schema| schema == "pg_temp");
        (!is_named).then_some("pg_temp")
    }

    /// How values are written.
    pub(crate) fn text_style(&self) -> TextStyle {
        self.style
    }

    /// The encoding of the client's texts.
    pub(crate) fn charset(&self) -> Charset {
        self.charset
    }

    fn text_style_now(&self) -> TextStyle {
        let intervals = self.changed("intervalstyle").and_then(IntervalStyle::from_name);
        let (dates, order) = date_style_of(self.changed("datestyle").unwrap_or("ISO, MDY"));
        let bytes = match self.changed("bytea_output") {
            Some("escape") => BytesForm::Escape,
            _ => BytesForm::Hex,
        };
        let digits = self.changed("extra_float_digits").and_then(|text| text.parse().ok());
        TextStyle {
            intervals: intervals.unwrap_or_default(),
            dates,
            order,
            bytes,
            float_digits: digits.unwrap_or(1),
        }
    }

    /// Which index sub-blocks scans use.
    pub(crate) fn block_paths(&self) -> BlockPaths {
        match self.options.index_paths {
            IndexPaths::Consider => BlockPaths::Consider,
            IndexPaths::Avoid => BlockPaths::Avoid,
            IndexPaths::Prefer => BlockPaths::Prefer,
        }
    }

    fn plan_options_now(&self) -> PlanOptions {
        let index_paths = match self.changed("index_paths") {
            Some("off") => IndexPaths::Avoid,
            Some("prefer") => IndexPaths::Prefer,
            _ => IndexPaths::Consider,
        };
        let join_order = match self.changed("join_order") {
            Some("worst") => JoinOrder::Worst,
            Some("text") => JoinOrder::Text,
            _ => JoinOrder::Cost,
        };
        let wide_tables = match self.changed("wide_tables") {
            Some("off") => WideTables::Avoid,
            Some("prefer") => WideTables::Prefer,
            _ => WideTables::Consider,
        };
        let aggregate_place = match self.changed("aggregate_place") {
            Some("early") => AggregatePlace::Early,
            _ => AggregatePlace::Cost,
        };
        let cost = self.changed("index_join_cost").and_then(|text| text.parse().ok());
        let index_join_cost = cost.map_or(IndexJoinCost::ByBuild, IndexJoinCost::At);
        let number = |name| self.changed(name).and_then(|text| text.parse().ok());
        let near = NearSearch::new(number("hnsw.ef_search"), number("hnsw.max_scan_tuples"));
        let is_off = |t: &Technique| self.changed(t.name()) == Some("off");
        let off = Technique::ALL.into_iter().filter(is_off);
        let switches = off.fold(Switches::default(), Switches::without);
        PlanOptions {
            index_paths,
            switches,
            join_order,
            wide_tables,
            aggregate_place,
            index_join_cost,
            near,
            ..PlanOptions::default()
        }
    }

    /// Bytes that an operator of a worker may hold before it spills, if that was said.
    pub(crate) fn work_bytes(&self) -> Option<u64> {
        let text = self.changed("work_mem")?;
        parse_bytes("work_mem", text).ok().filter(|bytes| *bytes > 0)
    }

    /// How long a statement waits for a lock, if not for ever.
    pub(crate) fn lock_limit(&self) -> Option<Duration> {
        self.time_limit("lock_timeout")
    }

    /// How long a query waits until there is room for the memory that it asks for, if not for ever.
    pub(crate) fn admission_limit(&self) -> Option<Duration> {
        match self.changed("admission_timeout") {
            Some(_) => self.time_limit("admission_timeout"),
            None => Some(ADMISSION_TIMEOUT),
        }
    }

    /// The value of `name`, as SHOW has it.
    ///
    /// # Errors
    /// 42704 when there is no such setting.
    pub(crate) fn get(&self, name: &str) -> Result<String> {
        let value = self.kept(name)?;
        Ok(match find(name)? {
            (_, _, Access::Integer(_, _, unit)) => shown(&value, unit),
            (_, _, Access::Delay(..)) => shown(&value, Unit::Milliseconds),
            _ => value,
        })
    }

    /// The value of `name`, as it is kept.
    fn kept(&self, name: &str) -> Result<String> {
        let (known, default, _) = find(name)?;
        if known == "session_authorization" {
            return Ok(self.session_user().to_owned());
        }
        match (self.changed(&known), &known) {
            (Some(value), _) => Ok(value.to_owned()),
            (None, name) if name == "search_path" => Ok(match &self.attached {
                Some(schema) => format!("{schema}, {default}"),
                None => default.to_owned(),
            }),
            (None, Cow::Owned(name)) => Err(unknown(name)),
            (None, _) => Ok(default.to_owned()),
        }
    }

    /// Changes `name` for the session; None resets it.
    ///
    /// # Errors
    /// 42704 when there is no such setting, 22023 and others for the value.
    pub(crate) fn set(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let (known, ..) = find(name)?;
        let value = match value {
            Some(value) => self.checked_now(name, value)?,
            None => self.base.iter().find(|(n, _)| *n == known).map(|(_, value)| value.clone()),
        };
        // What only its name makes a setting stays one, without a value.
        let is_owned = matches!(known, Cow::Owned(_)) && self.changed(&known).is_some();
        let value = value.or_else(|| is_owned.then(String::new));
        self.local.retain(|(n, _)| *n != known);
        self.changed.retain(|(n, _)| *n != known);
        self.changed.extend(value.map(|value| (known, value)));
        self.moved();
        Ok(())
    }

    /// Changes `name` until the transaction ends; None is what RESET makes of it.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub(crate) fn set_local(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let (known, default, _) = find(name)?;
        let base = || self.base.iter().find(|(n, _)| *n == known).map(|(_, v)| v.clone());
        let value = match value {
            Some(value) => self.checked_now(name, value)?,
            None => base(),
        };
        let value = value.unwrap_or_else(|| default.to_owned());
        self.local.retain(|(n, _)| *n != known);
        self.local.push((known, value));
        self.moved();
        Ok(())
    }

    /// The transaction has ended: what was said for it alone counts no longer.
    pub(crate) fn end_local(&mut self) {
        if !self.local.is_empty() {
            self.local.clear();
            self.moved();
        }
    }

    /// Takes back all changes since these settings were `before`.
    pub(crate) fn go_back(&mut self, before: Self) {
        let version = self.version;
        *self = Self { version, ..before };
        self.moved();
    }

    /// # Errors
    /// Errors of [`Self::set`] for the value.
    pub(crate) fn check(name: &str, value: &str) -> Result<()> {
        match name {
            // The server's.
            "threads"
            | "checkpoint_wal_bytes"
            | "scheduler_policy"
            | "scheduler_dispatch"
            | "freezing"
            | "admission_queries" => Err(Error::unsupported(format!("set_config of {name}"))),
            name => Self::checked(name, value).map(|_| ()),
        }
    }

    fn moved(&mut self) {
        self.version += 1;
        self.options = self.plan_options_now();
        self.path = self.changed("search_path").map(|text| names_in(text).into());
        let zone = self.changed("timezone").unwrap_or("UTC");
        let style = self.text_style_now();
        if zone != self.zone.name() || style.order != self.zone.order() {
            // The name is one that SET has found.
            self.zone = TimeZone::setting(zone).unwrap_or_default().with_order(style.order);
        }
        self.style = style;
        let charset = self.changed("client_encoding").and_then(Charset::named);
        self.charset = charset.unwrap_or_default();
        let role = self.changed("role").filter(|role| *role != "none");
        self.who = role.map_or_else(|| self.session_who(), |role| Who::Role(role.into()));
    }

    /// As [`Self::checked`]; what `value` leaves open stays as it is.
    fn checked_now(&self, name: &str, value: &str) -> Result<Option<String>> {
        match find(name)? {
            (_, _, Access::DateStyle) => date_style(value, &self.kept(name)?).map(Some),
            _ => Self::checked(name, value),
        }
    }

    /// `value` as it is kept; None for the default of a setting that has no other value.
    fn checked(name: &str, value: &str) -> Result<Option<String>> {
        let (_, default, access) = find(name)?;
        let same = value.eq_ignore_ascii_case(default);
        match access {
            Access::ReadOnly => {
                let message = format!("parameter \"{name}\" cannot be changed");
                Err(Error::new(SqlState::CANT_CHANGE_RUNTIME_PARAM, message))
            }
            Access::Fixed if !same => {
                Err(Error::unsupported(format!("{name} other than '{default}'")))
            }
            Access::Fixed => Ok(None),
            Access::OneOf(values) => one_of(name, value, values).map(Some),
            Access::Switch | Access::FixedSwitch => {
                let Some(value) = switch(value) else {
                    let message = format!("parameter \"{name}\" requires a Boolean value");
                    return Err(Error::new(SqlState::INVALID_PARAMETER, message));
                };
                if access == Access::FixedSwitch && value != default {
                    Err(Error::unsupported(format!("{name} other than '{default}'")))
                } else {
                    Ok(Some(value.to_owned()))
                }
            }
            Access::Kilobytes => {
                let is_plain = value.trim().bytes().all(|byte| byte.is_ascii_digit());
                let unit = if is_plain && value.trim() != "0" { "kB" } else { "" };
                let value = format!("{}{unit}", value.trim());
                parse_bytes(name, &value)?;
                Ok(Some(value))
            }
            Access::DateStyle => date_style(value, default).map(Some),
            Access::IntervalStyle => {
                let value = value.to_ascii_lowercase();
                match IntervalStyle::from_name(&value) {
                    Some(_) => Ok(Some(value)),
                    None => Err(no_such_value(name, &value, INTERVAL_STYLES)),
                }
            }
            Access::Encoding => {
                encoding(name, value).map(|charset| Some(charset.name().to_owned()))
            }
            Access::Zone => Ok(Some(TimeZone::setting(value)?.name().to_owned())),
            Access::Integer(min, max, unit) => {
                Ok(Some(integer(name, value, [min, max], unit)?.to_string()))
            }
            Access::Real(min, max) => {
                Ok(Some(real(name, value, [min, max], Unit::None)?.to_string()))
            }
            Access::Delay(min, max) => {
                Ok(Some(real(name, value, [min, max], Unit::Milliseconds)?.to_string()))
            }
            Access::Any => Ok(Some(value.to_owned())),
        }
    }

    /// Resets everything but who the session is.
    pub(crate) fn reset(&mut self) {
        self.local.retain(|(name, _)| IDENTITY.contains(&&**name));
        self.changed.retain(|(name, _)| IDENTITY.contains(&&**name));
        self.changed.extend(self.base.iter().cloned());
        self.moved();
    }

    /// The session is again who began it.
    pub(crate) fn reset_user(&mut self) {
        self.local.retain(|(name, _)| !IDENTITY.contains(&&**name));
        self.changed.retain(|(name, _)| !IDENTITY.contains(&&**name));
        self.moved();
    }

    /// Makes RESET restore the values set so far.
    pub(crate) fn keep_as_base(&mut self) {
        self.base.clone_from(&self.changed);
    }

    /// Moves with each change.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Role that statements run as.
    pub(crate) fn who(&self) -> &Who {
        &self.who
    }

    /// User who began the session; None when the library did.
    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Role that statements run as after RESET ROLE.
    pub(crate) fn session_who(&self) -> Who {
        match self.changed("session_authorization") {
            Some(user) => Who::Role(user.into()),
            None => self.authenticated_who(),
        }
    }

    /// Role that began the session, or everything for the library and `trust`.
    pub(crate) fn authenticated_who(&self) -> Who {
        let user = self.user.as_deref().filter(|_| !self.trusted);
        user.map_or(Who::All, |user| Who::Role(user.into()))
    }

    /// session_user.
    pub(crate) fn session_user(&self) -> &str {
        self.changed("session_authorization").or(self.user()).unwrap_or("tessera")
    }

    /// current_user.
    pub(crate) fn current_user(&self) -> &str {
        match self.changed("role") {
            None | Some("none") => self.session_user(),
            Some(role) => role,
        }
    }

    /// Says who the session is; `trusted` when that is no role.
    pub(crate) fn set_user(&mut self, user: &str, trusted: bool) {
        self.user = Some(user.to_owned());
        self.trusted = trusted;
        self.moved();
    }

    /// Statements run as this role from now on; as the superusers for none.
    ///
    /// # Errors
    /// Errors of SET.
    pub(crate) fn act_as(&mut self, owner: &str) -> Result<()> {
        if owner.is_empty() {
            self.set("session_authorization", None)?;
            self.set("role", None)?;
            self.trusted = true;
        } else {
            self.set("role", Some(owner))?;
        }
        self.moved();
        Ok(())
    }

    /// The time that `name` says; none for 0, and for what is no time.
    pub(crate) fn time_limit(&self, name: &str) -> Option<Duration> {
        let ms = self.changed(name)?.parse().ok().filter(|ms| *ms > 0)?;
        Some(Duration::from_millis(ms))
    }

    /// The unit of the value of `name`, as [`Self::all`] has it.
    pub(crate) fn unit(name: &str) -> Option<&'static str> {
        match find(name) {
            Ok((_, _, Access::Integer(_, _, unit))) => unit.name(),
            Ok((_, _, Access::Delay(..))) => Unit::Milliseconds.name(),
            _ => None,
        }
    }

    /// The type, and the least and largest value of `name` as `pg_settings` has them.
    pub(crate) fn domain(name: &str) -> Domain {
        let ty = |vartype| Domain { vartype, limits: None };
        match find(name).map(|(_, _, access)| access) {
            Ok(Access::Integer(min, max, _)) => {
                Domain { limits: Some([min.to_string(), max.to_string()]), ..ty("integer") }
            }
            Ok(Access::Real(min, max) | Access::Delay(min, max)) => {
                let max = if max == f64::MAX { "1.79769e+308".into() } else { max.to_string() };
                Domain { limits: Some([min.to_string(), max]), ..ty("real") }
            }
            Ok(Access::Switch | Access::FixedSwitch) => ty("bool"),
            Ok(Access::OneOf(_)) => ty("enum"),
            _ => ty("string"),
        }
    }

    /// Names, values and values after RESET of all settings as they are kept, those that clients
    /// made up behind.
    pub(crate) fn all(&self) -> Vec<(String, String, String)> {
        let reset = |name: &str, default: &str| {
            let base = self.base.iter().find(|(n, _)| *n == name);
            base.map_or_else(|| default.to_owned(), |(_, value)| value.clone())
        };
        let value = |k: &Known| {
            (k.name.to_owned(), self.kept(k.name).unwrap_or_default(), reset(k.name, k.default))
        };
        let switch = |t: Technique| {
            let name = t.name();
            (name.to_owned(), self.kept(name).unwrap_or_default(), reset(name, "on"))
        };
        let mut all: Vec<_> = known_settings().map(value).collect();
        all.extend(Technique::ALL.into_iter().map(switch));
        for (name, _) in self.local.iter().chain(&self.changed) {
            if matches!(name, Cow::Owned(_)) && !all.iter().any(|(known, ..)| known == name) {
                let value = self.changed(name).unwrap_or_default().to_owned();
                all.push((name.to_string(), value, reset(name, "")));
            }
        }
        all
    }
}
