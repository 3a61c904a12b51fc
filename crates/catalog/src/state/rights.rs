//! Rights: who owns what, who may do what with it.
//!
//! ```text
//! Who -> roles whose rights it has (itself, those it inherits) -> grants to them or PUBLIC
//! ```
//! Rights are a part of the catalog: they change by transactions, are logged with them, and move
//! its version, so that no kept plan outlives a REVOKE. Invariant: a permanent relation that a role
//! made has an entry; one without belongs to the superusers, as does what the library made.
//! Elsewhere: the statements that change rights (`privilege`), what statements need (`sql::bind`).

use std::collections::BTreeSet;

use sql::statement::{
    Access, DefaultKind, Extent, Persistence, Privilege, Privileges, RelationName,
};
use types::Result;

use crate::state::comments::Commented;
use crate::state::{State, predefined};
use crate::who::{Who, denied};

/// Object that rights are on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// A permanent table, view or sequence, by name.
    Relation(String),
    /// A schema.
    Schema(String),
    /// The database.
    Database,
    /// A type that users made, by its key.
    Type(String),
    /// A function or procedure, by its key.
    Routine(String),
}

/// Privileges that one role granted to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Role that has the privileges; None is PUBLIC.
    pub grantee: Option<String>,
    /// Role that granted them; empty for the superusers.
    pub grantor: String,
    /// Privileges that were granted.
    pub privileges: Privileges,
    /// Privileges among them that the grantee may grant to others.
    pub grantable: Privileges,
}

/// The rights on an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// The role that owns it; nothing stands for the superusers.
    pub owner: String,
    /// None as long as nobody changed them: the owner may do everything, others what is usual.
    pub grants: Option<Vec<Grant>>,
    /// Grants on columns of a relation, by name of the column.
    pub columns: Vec<(String, Vec<Grant>)>,
}

impl Rights {
    /// All its grants, those on columns too.
    pub fn all_grants_mut(&mut self) -> impl Iterator<Item = &mut Grant> {
        let columns = self.columns.iter_mut().flat_map(|(_, grants)| grants);
        self.grants.iter_mut().flatten().chain(columns)
    }
}

/// An object, or a column of a relation.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    /// The object.
    pub object: &'a Object,
    /// Name of the column; None for the object as a whole.
    pub column: Option<&'a str>,
}

/// Objects that ALTER DEFAULT PRIVILEGES is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DefaultsOf {
    /// Role that makes the objects; empty for the superusers.
    pub role: String,
    /// Schema whose objects are meant; None for all.
    pub schema: Option<String>,
    /// Kind of the objects.
    pub kind: DefaultKind,
}

/// A role is a member of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The other role.
    pub role: String,
    /// True when the member may make others members.
    pub admin: bool,
}

/// Privileges on tables and views.
pub const TABLE: Privileges = Privileges::of(&[
    Privilege::Insert,
    Privilege::Select,
    Privilege::Update,
    Privilege::Delete,
    Privilege::Truncate,
    Privilege::References,
    Privilege::Trigger,
]);

/// Privileges on columns.
pub const COLUMN: Privileges = Privileges::of(&[
    Privilege::Insert,
    Privilege::Select,
    Privilege::Update,
    Privilege::References,
]);

/// Privileges on sequences.
pub const SEQUENCE: Privileges =
    Privileges::of(&[Privilege::Select, Privilege::Update, Privilege::Usage]);

/// Privileges on schemas.
pub const SCHEMA: Privileges = Privileges::of(&[Privilege::Usage, Privilege::Create]);

/// Privileges on databases.
pub(crate) const DATABASE: Privileges =
    Privileges::of(&[Privilege::Create, Privilege::Connect, Privilege::Temporary]);

/// Privileges on functions and procedures.
pub const ROUTINE: Privileges = Privileges::of(&[Privilege::Execute]);

/// Privileges on types.
pub(crate) const TYPE: Privileges = Privileges::of(&[Privilege::Usage]);

/// Privileges on objects of a kind.
pub(crate) const fn privileges_by_default(kind: DefaultKind) -> Privileges {
    match kind {
        DefaultKind::Tables => TABLE,
        DefaultKind::Sequences => SEQUENCE,
        DefaultKind::Schemas => SCHEMA,
        DefaultKind::Routines => ROUTINE,
    }
}

/// The name of the schema that a new database has.
pub const SCHEMA_NAME: &str = "public";

impl Object {
    /// The schema of the relation that the catalog calls `key`.
    pub fn schema_of(key: &str) -> Self {
        Self::Schema(RelationName::schema_of_key(key).to_owned())
    }
}

impl State {
    /// True for `public` as a new database has it.
    fn is_first_public(&self, schema: &str) -> bool {
        schema == SCHEMA_NAME && self.has_first_public()
    }

    /// Kind and name of the object in messages.
    pub fn described<'a>(&'a self, object: &'a Object) -> (&'static str, &'a str) {
        match object {
            Object::Relation(name) => {
                (self.kind_of(name).unwrap_or("relation"), RelationName::name_of_key(name))
            }
            Object::Schema(name) => ("schema", name),
            Object::Database => ("database", &self.database.0),
            Object::Type(key) => ("type", RelationName::name_of_key(key)),
            Object::Routine(key) => {
                let kind = self.routines.get(key).map_or("function", |found| found.kind.name());
                let name = key.split('(').next().unwrap_or(key);
                (kind, RelationName::name_of_key(name))
            }
        }
    }

    /// All privileges there are on the object.
    pub fn privileges_of(&self, object: &Object) -> Privileges {
        match object {
            Object::Relation(name) if self.sequences.contains_key(name) => SEQUENCE,
            Object::Relation(_) => TABLE,
            Object::Schema(_) => SCHEMA,
            Object::Database => DATABASE,
            Object::Type(_) => TYPE,
            Object::Routine(_) => ROUTINE,
        }
    }

    /// The owner; nothing for the superusers.
    pub fn owner_of(&self, object: &Object) -> &str {
        match (self.rights.get(object), object) {
            (Some(rights), _) => &rights.owner,
            // As pg_database_owner, a role of PostgreSQL.
            (None, Object::Schema(name)) if self.is_first_public(name) => {
                self.owner_of(&Object::Database)
            }
            (None, _) => "",
        }
    }

    /// All privileges there are on the spot.
    pub(crate) fn privileges_on(&self, spot: Spot<'_>) -> Privileges {
        match spot.column {
            Some(_) => COLUMN,
            None => self.privileges_of(spot.object),
        }
    }

    /// The grants on a column, or those of the object.
    pub fn grants_on(&self, spot: Spot<'_>) -> Vec<Grant> {
        let Some(column) = spot.column else { return self.grants_of(spot.object) };
        let columns = self.rights.get(spot.object).map_or(&[][..], |rights| &rights.columns);
        let found = columns.iter().find(|(name, _)| name == column);
        found.map_or_else(Vec::new, |(_, grants)| grants.clone())
    }

    /// Privileges of `who` there, by grants on the object or the column.
    pub fn allowed_on(&self, who: &Who, spot: Spot<'_>) -> Privileges {
        let whole = self.allowed(who, spot.object).common(self.privileges_on(spot));
        match (who, spot.column) {
            (Who::Role(role), Some(_)) => {
                let roles = self.closure(role, Inherited::Only);
                let counts = |grant: &Grant| match &grant.grantee {
                    Some(grantee) => roles.contains(grantee.as_str()),
                    None => true,
                };
                let grants = self.grants_on(spot).into_iter();
                let found = grants.filter(counts).map(|grant| grant.privileges);
                found.fold(whole, Privileges::with)
            }
            _ => whole,
        }
    }

    /// Privileges there that `who` may grant to others.
    pub fn grantable_on(&self, who: &Who, spot: Spot<'_>) -> Privileges {
        let whole = self.grantable(who, spot.object).common(self.privileges_on(spot));
        match (who, spot.column) {
            (Who::Role(role), Some(_)) => {
                let roles = self.closure(role, Inherited::Only);
                let counts = |grant: &Grant| {
                    grant.grantee.as_deref().is_some_and(|grantee| roles.contains(grantee))
                };
                let grants = self.grants_on(spot).into_iter();
                let found = grants.filter(counts).map(|grant| grant.grantable);
                found.fold(whole, Privileges::with)
            }
            _ => whole,
        }
    }

    /// Which of the roles whose rights `role` has grants `wanted` there: the first that may grant
    /// all of them, else the one that may grant the most.
    pub fn best_grantor(&self, role: &str, spot: Spot<'_>, wanted: Privileges) -> String {
        let mut grants = self.grants_of(spot.object);
        grants.extend(self.grants_on(spot));
        let mut roles: Vec<&str> = self.closure(role, Inherited::Only).into_iter().collect();
        roles.sort_by_key(|other| *other != role);
        let may = |role: &str| {
            let own = grants.iter().filter(|grant| grant.grantee.as_deref() == Some(role));
            let all = own.map(|grant| grant.grantable).fold(Privileges::NONE, Privileges::with);
            all.common(wanted).iter().count()
        };
        // Of several that may grant as many the first.
        let best = roles.iter().rev().max_by_key(|role| may(role));
        best.map_or(role, |best| *best).to_owned()
    }

    /// The grants that an object of `role` has when nothing was said.
    pub fn usual_grants(role: &str, kind: DefaultKind) -> Vec<Grant> {
        let privileges = privileges_by_default(kind);
        let grant = |grantee| Grant {
            grantee,
            grantor: role.to_owned(),
            privileges,
            grantable: Privileges::NONE,
        };
        // Everybody may call.
        let everybody = (kind == DefaultKind::Routines).then(|| grant(None));
        let own = (!role.is_empty()).then(|| grant(Some(role.to_owned())));
        everybody.into_iter().chain(own).collect()
    }

    /// The rights on a new schema of `owner`.
    pub fn new_schema_rights(&self, owner: &str) -> Rights {
        let grants = self.default_grants(owner, None, DefaultKind::Schemas);
        Rights { owner: owner.to_owned(), grants, columns: Vec::new() }
    }

    /// The grants of a new object of `role` in `schema`, where ALTER DEFAULT PRIVILEGES says so.
    fn default_grants(
        &self,
        role: &str,
        schema: Option<&str>,
        kind: DefaultKind,
    ) -> Option<Vec<Grant>> {
        let of = |schema: Option<&str>| {
            let (role, schema) = (role.to_owned(), schema.map(str::to_owned));
            self.default_privileges.get(&DefaultsOf { role, schema, kind })
        };
        let (anywhere, here) = (of(None), schema.and_then(|schema| of(Some(schema))));
        let usual = Self::usual_grants(role, kind);
        let mut grants = anywhere.cloned().unwrap_or_else(|| usual.clone());
        for more in here.into_iter().flatten() {
            let is_same =
                |grant: &&mut Grant| grant.grantee == more.grantee && grant.grantor == more.grantor;
            match grants.iter_mut().find(is_same) {
                Some(grant) => {
                    grant.privileges = grant.privileges.with(more.privileges);
                    grant.grantable = grant.grantable.with(more.grantable);
                }
                None => grants.push(more.clone()),
            }
        }
        public_first(&mut grants);
        (grants != usual).then_some(grants)
    }

    /// The names of a relation's columns.
    pub fn column_names(&self, relation: &str) -> Vec<&str> {
        if let Some(table) = self.tables.get(relation) {
            return table.def.columns.iter().map(|column| column.name.as_str()).collect();
        }
        let view = self.views.get(relation);
        view.map_or_else(Vec::new, |view| view.output.iter().map(|(n, _)| n.as_str()).collect())
    }

    /// Types and routines that are new belong to `owner`.
    fn settle_others(&mut self, before: &Self, owner: &str) {
        let types = self.types.keys().filter(|key| !before.types.contains_key(*key));
        let routines = self.routines.keys().filter(|key| !before.routines.contains_key(*key));
        let types: Vec<Object> = types.cloned().map(Object::Type).collect();
        let routines: Vec<String> = routines.cloned().collect();
        for object in types.into_iter().filter(|_| !owner.is_empty()) {
            let rights = || Rights { owner: owner.to_owned(), ..Rights::default() };
            self.rights.entry(object).or_insert_with(rights);
        }
        for key in routines {
            let schema = RelationName::schema_of_key(&key);
            let grants = self.default_grants(owner, Some(schema), DefaultKind::Routines);
            if grants.is_none() && owner.is_empty() {
                continue;
            }
            let rights = || Rights { owner: owner.to_owned(), grants, columns: Vec::new() };
            self.rights.entry(Object::Routine(key)).or_insert_with(rights);
        }
    }

    /// The grants on an object, those that nobody spelled out included.
    pub fn grants_of(&self, object: &Object) -> Vec<Grant> {
        let rights = self.rights.get(object);
        if let Some(grants) = rights.and_then(|rights| rights.grants.as_ref()) {
            return grants.clone();
        }
        let owner = self.owner_of(object).to_owned();
        let grant = |grantee, privileges| Grant {
            grantee,
            grantor: owner.clone(),
            privileges,
            grantable: Privileges::NONE,
        };
        let mut grants = Vec::new();
        if !owner.is_empty() {
            grants.push(grant(Some(owner.clone()), self.privileges_of(object)));
        }
        match object {
            Object::Relation(_) => {}
            Object::Schema(name) if self.is_first_public(name) => {
                grants.push(grant(None, Privileges::of(&[Privilege::Usage])));
            }
            Object::Schema(_) => {}
            Object::Type(_) => grants.push(grant(None, TYPE)),
            Object::Routine(_) => grants.push(grant(None, ROUTINE)),
            Object::Database => {
                let usual = Privileges::of(&[Privilege::Connect, Privilege::Temporary]);
                grants.push(grant(None, usual));
            }
        }
        grants
    }

    /// True when everything is allowed.
    pub fn is_superuser(&self, who: &Who) -> bool {
        match who {
            Who::All => true,
            Who::Role(role) => self.roles.get(&**role).is_some_and(|role| role.is_superuser),
        }
    }

    /// `role` and the roles that it is a member of, also through others; only those whose rights it
    /// has without SET ROLE when `inherited`.
    fn closure<'a>(&'a self, role: &'a str, inherited: Inherited) -> BTreeSet<&'a str> {
        let mut all = BTreeSet::from([role]);
        let mut open = vec![role];
        while let Some(next) = open.pop() {
            let Some(known) = self.roles.get(next) else {
                let of = predefined::named(next).map_or(&[][..], |known| known.member_of);
                open.extend(of.iter().filter(|role| all.insert(role)));
                continue;
            };
            if inherited == Inherited::Only && !known.inherits {
                continue;
            }
            for membership in &known.member_of {
                if all.insert(&membership.role) {
                    open.push(&membership.role);
                }
            }
            if next == self.owner_of(&Object::Database) {
                all.insert(predefined::DATABASE_OWNER);
            }
        }
        all
    }

    /// True when `member` is in `role`, itself or through others.
    pub fn is_member(&self, member: &str, role: &str) -> bool {
        self.closure(member, Inherited::OrNot).contains(role)
    }

    /// True when `who` has the rights of `role`.
    pub fn has_rights_of(&self, who: &Who, role: &str) -> bool {
        match who {
            _ if self.is_superuser(who) => true,
            Who::All => true,
            Who::Role(own) => self.closure(own, Inherited::Only).contains(role),
        }
    }

    /// True when `who` owns the object, itself or by a role whose rights it has.
    pub fn owns(&self, who: &Who, object: &Object) -> bool {
        is_temporary_routine(object) || self.has_rights_of(who, self.owner_of(object))
    }

    /// Privileges of `who` on the object.
    pub(crate) fn allowed(&self, who: &Who, object: &Object) -> Privileges {
        let Who::Role(role) = who else { return self.privileges_of(object) };
        if self.is_superuser(who) {
            return self.privileges_of(object);
        }
        let roles = self.closure(role, Inherited::Only);
        let counts = |grant: &&Grant| grant.grantee.as_deref().is_none_or(|g| roles.contains(g));
        let grants = self.grants_of(object);
        let privileges = grants.iter().filter(counts).map(|grant| grant.privileges);
        let usual = predefined::privileges(&roles, object).common(self.privileges_of(object));
        privileges.fold(usual, Privileges::with)
    }

    /// Privileges on the object that `who` may grant to others.
    pub fn grantable(&self, who: &Who, object: &Object) -> Privileges {
        let Who::Role(role) = who else { return self.privileges_of(object) };
        if self.owns(who, object) {
            return self.privileges_of(object);
        }
        let roles = self.closure(role, Inherited::Only);
        let counts = |grant: &&Grant| grant.grantee.as_deref().is_some_and(|g| roles.contains(g));
        let grants = self.grants_of(object);
        let privileges = grants.iter().filter(counts).map(|grant| grant.grantable);
        privileges.fold(Privileges::NONE, Privileges::with)
    }

    /// True when the relation goes with its session, which may do everything with it.
    fn is_temporary(&self, name: &str) -> bool {
        let table = self.tables.get(name).map(|table| table.def.persistence);
        let view = || self.views.get(name).map(|view| view.persistence);
        let sequence = || self.sequences.get(name).map(|sequence| sequence.persistence);
        table.or_else(view).or_else(sequence) == Some(Persistence::Temporary)
    }

    /// # Errors
    /// 42501 unless `who` may do one of `any_of` with the object.
    pub fn check(&self, who: &Who, object: &Object, any_of: Privileges) -> Result<()> {
        if let Object::Relation(name) = object
            && self.is_temporary(name)
        {
            return Ok(());
        }
        if is_temporary_routine(object) {
            return Ok(());
        }
        if self.is_superuser(who) || self.allowed(who, object).meets(any_of) {
            return Ok(());
        }
        let (kind, name) = self.described(object);
        Err(denied(format!("permission denied for {kind} {name}")))
    }

    /// # Errors
    /// 42501 unless `who` may look into the schema of the relation.
    pub fn check_usage(&self, who: &Who, relation: &str) -> Result<()> {
        if self.is_temporary(relation) {
            Ok(())
        } else {
            let usage = Privileges::of(&[Privilege::Usage]);
            self.check(who, &Object::schema_of(relation), usage)
        }
    }

    /// # Errors
    /// 42501 for the first of `needed` that `who` may not do.
    pub fn check_access(&self, who: &Who, needed: &[Access]) -> Result<()> {
        let asks_all = self.is_superuser(who);
        for access in needed {
            let Access { relation, any_of, extent, on_behalf } = access;
            let owner = on_behalf.as_deref().map(|owner| match owner {
                "" => Who::All,
                owner => Who::Role(owner.into()),
            });
            match &owner {
                None if asks_all => {}
                owner => {
                    let who = owner.as_ref().unwrap_or(who);
                    // Views were looked into when they were made.
                    if on_behalf.is_none() {
                        self.check_usage(who, relation)?;
                    }
                    let object = Object::Relation(relation.clone());
                    if !any_of.is_empty() && !self.may_columns(who, &object, *any_of, extent) {
                        self.check(who, &object, *any_of)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// True when grants on columns are enough.
    fn may_columns(&self, who: &Who, object: &Object, any_of: Privileges, used: &Extent) -> bool {
        let columns = match used {
            Extent::Whole => return false,
            Extent::Read(columns) if columns.is_empty() => return true,
            Extent::Columns(columns) | Extent::Read(columns) => columns,
        };
        if self.rights.get(object).is_none_or(|rights| rights.columns.is_empty()) {
            return false;
        }
        let Object::Relation(relation) = object else { return false };
        let names = self.column_names(relation);
        let may = |column: &str| {
            let spot = Spot { object, column: Some(column) };
            self.allowed_on(who, spot).meets(any_of)
        };
        if columns.is_empty() {
            names.iter().any(|name| may(name))
        } else {
            columns.iter().all(|at| names.get(*at).is_some_and(|name| may(name)))
        }
    }

    /// # Errors
    /// 42501 unless `who` owns the relation, which messages call `kind`.
    pub fn check_owner(&self, who: &Who, kind: &str, name: &str) -> Result<()> {
        let of = self.table_of_index(name).map_or(name, |table| table.def.name.as_str());
        let owned = self.is_temporary(of) || self.owns(who, &Object::Relation(of.to_owned()));
        if owned || self.is_superuser(who) {
            return Ok(());
        }
        Err(denied(format!("must be owner of {kind} {}", RelationName::name_of_key(name))))
    }

    /// Rights follow a permanent relation's new name.
    pub fn rename_rights(&mut self, from: &str, to: &str) {
        self.move_policies(from, to);
        self.move_triggers(from, to);
        self.move_rights(&Object::Relation(from.to_owned()), Object::Relation(to.to_owned()));
    }

    /// Rights follow an object that is not new under its new name: they are written down there,
    /// those of the superusers too.
    pub fn move_rights(&mut self, from: &Object, to: Object) {
        let rights = self.rights.remove(from).unwrap_or_default();
        self.rights.insert(to, rights);
    }

    /// Rights after the relations of `before` became these: those of what is gone go, and `who`
    /// owns what is new.
    pub fn settle_rights(&mut self, before: &Self, who: &Who) {
        let has = |state: &Self, name: &str| {
            state.tables.contains_key(name)
                || state.views.contains_key(name)
                || state.sequences.contains_key(name)
        };
        let gone = |object: &Object| match object {
            Object::Relation(name) => !has(self, name),
            Object::Schema(name) => !self.has_schema(name),
            Object::Database => false,
            Object::Type(key) => !self.types.contains_key(key),
            Object::Routine(key) => !self.routines.contains_key(key),
        };
        let gone: Vec<Object> = self.rights.keys().filter(|object| gone(object)).cloned().collect();
        gone.iter().for_each(|object| drop(self.rights.remove(object)));
        self.settle_columns();
        let owner = match who {
            Who::Role(owner) => &**owner,
            Who::All => "",
        };
        let names = self.tables.keys().chain(self.views.keys()).chain(self.sequences.keys());
        let is_new = |name: &&String| !has(before, name);
        let new: Vec<String> = names.filter(is_new).cloned().collect();
        for name in new {
            let kind = if self.sequences.contains_key(&name) {
                DefaultKind::Sequences
            } else {
                DefaultKind::Tables
            };
            // The sequence of a column belongs to who owns the table.
            let table = self.sequences.get(&name).and_then(|sequence| sequence.owner.as_ref());
            let owner = match table {
                Some((table, _)) if has(before, table) => {
                    self.owner_of(&Object::Relation(table.clone())).to_owned()
                }
                _ => owner.to_owned(),
            };
            let schema = RelationName::schema_of_key(&name);
            let grants = self.default_grants(&owner, Some(schema), kind);
            if grants.is_none() && owner.is_empty() {
                continue;
            }
            let rights = || Rights { owner, grants, columns: Vec::new() };
            self.rights.entry(Object::Relation(name)).or_insert_with(rights);
        }
        self.settle_others(before, owner);
        let is_new = |name: &&str| !before.has_schema(name);
        let new: Vec<String> = self.schema_names().filter(is_new).map(str::to_owned).collect();
        for name in new {
            let rights = self.new_schema_rights(owner);
            if rights != Rights::default() {
                self.rights.entry(Object::Schema(name)).or_insert(rights);
            }
        }
        let mut defaults = std::mem::take(&mut self.default_privileges);
        defaults.retain(|of, _| of.schema.as_ref().is_none_or(|name| self.has_schema(name)));
        self.default_privileges = defaults;
    }

    /// Grants on columns that are gone go.
    fn settle_columns(&mut self) {
        let with_columns = self.rights.iter().filter(|(_, rights)| !rights.columns.is_empty());
        let objects: Vec<Object> = with_columns.map(|(object, _)| object.clone()).collect();
        for object in objects {
            let Object::Relation(relation) = &object else { continue };
            let names: Vec<String> =
                self.column_names(relation).into_iter().map(str::to_owned).collect();
            if let Some(rights) = self.rights.get_mut(&object) {
                rights.columns.retain(|(column, _)| names.contains(column));
            }
        }
    }

    /// Grants and the comment on a column go with it: one that is made at once is another one.
    pub fn forget_column(&mut self, relation: &str, column: &str) {
        self.comments.remove(&Commented::Column(relation.to_owned(), column.to_owned()));
        if let Some(rights) = self.rights.get_mut(&Object::Relation(relation.to_owned())) {
            rights.columns.retain(|(known, _)| known != column);
        }
    }

    /// Grants on columns follow their new names.
    pub fn rename_column_rights(&mut self, relation: &str, renamed: &[(String, String)]) {
        self.rename_in_conditions(relation, renamed);
        let Some(rights) = self.rights.get_mut(&Object::Relation(relation.to_owned())) else {
            return;
        };
        for (column, _) in &mut rights.columns {
            if let Some((_, to)) = renamed.iter().find(|(from, _)| from == column) {
                column.clone_from(to);
            }
        }
    }
}

/// Grants to PUBLIC come first in default privileges and what is made of them, as in PostgreSQL.
pub fn public_first(grants: &mut [Grant]) {
    grants.sort_by_key(|grant| grant.grantee.is_some());
}

/// Which memberships count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inherited {
    /// Memberships that inherit the rights of the role.
    Only,
    /// All memberships.
    OrNot,
}

/// True for a routine that goes with its session, which may do everything with it.
fn is_temporary_routine(object: &Object) -> bool {
    matches!(object, Object::Routine(key) if RelationName::schema_of_key(key) == "pg_temp")
}
