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
use std::sync::Arc;

use sql::statement::{Access, Persistence, Privilege, Privileges, RelationName};
use types::{Error, Result, SqlState};

use crate::catalog::State;

/// On whose behalf something is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// The library, or a user who was let in unasked: everything is allowed.
    All,
    /// A role.
    Role(Arc<str>),
}

/// What rights are about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {
    /// A permanent table, view or sequence, by name.
    Relation(String),
    /// A schema.
    Schema(String),
    /// The database.
    Database,
}

/// Privileges that one role granted to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// Who has them; None is PUBLIC.
    pub(crate) grantee: Option<String>,
    /// Who granted them; nothing stands for the superusers.
    pub(crate) grantor: String,
    pub(crate) privileges: Privileges,
    /// Those among them that may be granted on.
    pub(crate) grantable: Privileges,
}

/// The rights on an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rights {
    /// The role that owns it; nothing stands for the superusers.
    pub(crate) owner: String,
    /// None as long as nobody changed them: the owner may do everything, others what is usual.
    pub(crate) grants: Option<Vec<Grant>>,
}

/// A role is a member of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The other role.
    pub role: String,
    /// Whether it may make others members.
    pub admin: bool,
}

/// Privileges on tables and views.
pub(crate) const TABLE: Privileges = Privileges::of(&[
    Privilege::Insert,
    Privilege::Select,
    Privilege::Update,
    Privilege::Delete,
    Privilege::Truncate,
    Privilege::References,
    Privilege::Trigger,
]);

/// Privileges on sequences.
pub(crate) const SEQUENCE: Privileges =
    Privileges::of(&[Privilege::Select, Privilege::Update, Privilege::Usage]);

/// Privileges on schemas.
pub(crate) const SCHEMA: Privileges = Privileges::of(&[Privilege::Usage, Privilege::Create]);

/// Privileges on databases.
pub(crate) const DATABASE: Privileges =
    Privileges::of(&[Privilege::Create, Privilege::Connect, Privilege::Temporary]);

/// 42501.
pub(crate) fn denied(message: impl Into<String>) -> Error {
    Error::new(SqlState(*b"42501"), message)
}

/// The name of the schema that is always there, and of the database.
pub(crate) const SCHEMA_NAME: &str = "public";
pub(crate) const DATABASE_NAME: &str = "tessera";

impl Object {
    /// The schema of the relation that the catalog calls `key`.
    pub(crate) fn schema_of(key: &str) -> Self {
        Self::Schema(RelationName::schema_of_key(key).to_owned())
    }
}

impl State {
    /// What the object is called in messages: kind and name.
    pub(crate) fn described<'a>(&self, object: &'a Object) -> (&'static str, &'a str) {
        match object {
            Object::Relation(name) => {
                (self.kind_of(name).unwrap_or("relation"), RelationName::name_of_key(name))
            }
            Object::Schema(name) => ("schema", name),
            Object::Database => ("database", DATABASE_NAME),
        }
    }

    /// All privileges there are on the object.
    pub(crate) fn privileges_of(&self, object: &Object) -> Privileges {
        match object {
            Object::Relation(name) if self.sequences.contains_key(name) => SEQUENCE,
            Object::Relation(_) => TABLE,
            Object::Schema(_) => SCHEMA,
            Object::Database => DATABASE,
        }
    }

    /// The owner; nothing for the superusers.
    pub(crate) fn owner_of(&self, object: &Object) -> &str {
        self.rights.get(object).map_or("", |rights| rights.owner.as_str())
    }

    /// The grants on an object, those that nobody spelled out included.
    pub(crate) fn grants_of(&self, object: &Object) -> Vec<Grant> {
        let rights = self.rights.get(object);
        if let Some(grants) = rights.and_then(|rights| rights.grants.as_ref()) {
            return grants.clone();
        }
        let owner = rights.map_or(String::new(), |rights| rights.owner.clone());
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
            Object::Schema(name) if name == SCHEMA_NAME => {
                grants.push(grant(None, Privileges::of(&[Privilege::Usage])));
            }
            Object::Schema(_) => {}
            Object::Database => {
                let usual = Privileges::of(&[Privilege::Connect, Privilege::Temporary]);
                grants.push(grant(None, usual));
            }
        }
        grants
    }

    /// Whether everything is allowed.
    pub(crate) fn is_superuser(&self, who: &Who) -> bool {
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
            let Some(known) = self.roles.get(next) else { continue };
            if inherited == Inherited::Only && !known.inherits {
                continue;
            }
            for membership in &known.member_of {
                if all.insert(&membership.role) {
                    open.push(&membership.role);
                }
            }
        }
        all
    }

    /// Whether `member` is in `role`, itself or through others.
    pub(crate) fn is_member(&self, member: &str, role: &str) -> bool {
        self.closure(member, Inherited::OrNot).contains(role)
    }

    /// Whether `who` has the rights of `role`.
    pub(crate) fn has_rights_of(&self, who: &Who, role: &str) -> bool {
        match who {
            _ if self.is_superuser(who) => true,
            Who::All => true,
            Who::Role(own) => self.closure(own, Inherited::Only).contains(role),
        }
    }

    /// Whether `who` owns the object, itself or by a role whose rights it has.
    pub(crate) fn owns(&self, who: &Who, object: &Object) -> bool {
        self.has_rights_of(who, self.owner_of(object))
    }

    /// What `who` may do with the object.
    pub(crate) fn allowed(&self, who: &Who, object: &Object) -> Privileges {
        let Who::Role(role) = who else { return self.privileges_of(object) };
        if self.is_superuser(who) {
            return self.privileges_of(object);
        }
        let roles = self.closure(role, Inherited::Only);
        let counts = |grant: &&Grant| grant.grantee.as_deref().is_none_or(|g| roles.contains(g));
        let grants = self.grants_of(object);
        let privileges = grants.iter().filter(counts).map(|grant| grant.privileges);
        privileges.fold(Privileges::NONE, Privileges::with)
    }

    /// What `who` may let others do with the object.
    pub(crate) fn grantable(&self, who: &Who, object: &Object) -> Privileges {
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

    /// Whether the relation goes with its session, which may do everything with it.
    fn is_temporary(&self, name: &str) -> bool {
        let table = self.tables.get(name).map(|table| table.def.persistence);
        let view = || self.views.get(name).map(|view| view.persistence);
        let sequence = || self.sequences.get(name).map(|sequence| sequence.persistence);
        table.or_else(view).or_else(sequence) == Some(Persistence::Temporary)
    }

    /// # Errors
    /// 42501 unless `who` may do one of `any_of` with the object.
    pub(crate) fn check(&self, who: &Who, object: &Object, any_of: Privileges) -> Result<()> {
        if let Object::Relation(name) = object
            && self.is_temporary(name)
        {
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
    pub(crate) fn check_usage(&self, who: &Who, relation: &str) -> Result<()> {
        match self.is_temporary(relation) {
            true => Ok(()),
            false => {
                let usage = Privileges::of(&[Privilege::Usage]);
                self.check(who, &Object::schema_of(relation), usage)
            }
        }
    }

    /// # Errors
    /// 42501 for the first of `needed` that `who` may not do.
    pub(crate) fn check_access(&self, who: &Who, needed: &[Access]) -> Result<()> {
        let asks_all = self.is_superuser(who);
        for Access { relation, any_of, on_behalf } in needed {
            let owner = on_behalf.as_deref().map(|owner| match owner {
                "" => Who::All,
                owner => Who::Role(owner.into()),
            });
            match &owner {
                None if asks_all => {}
                owner => {
                    let who = owner.as_ref().unwrap_or(who);
                    self.check_usage(who, relation)?;
                    self.check(who, &Object::Relation(relation.clone()), *any_of)?;
                }
            }
        }
        Ok(())
    }

    /// # Errors
    /// 42501 unless `who` owns the relation, which messages call `kind`.
    pub(crate) fn check_owner(&self, who: &Who, kind: &str, name: &str) -> Result<()> {
        let of = self.table_of_index(name).map_or(name, |table| table.def.name.as_str());
        let owned = self.is_temporary(of) || self.owns(who, &Object::Relation(of.to_owned()));
        if owned || self.is_superuser(who) {
            return Ok(());
        }
        Err(denied(format!("must be owner of {kind} {}", RelationName::name_of_key(name))))
    }

    /// Rights follow a permanent relation's new name.
    pub(crate) fn rename_rights(&mut self, from: &str, to: &str) {
        if let Some(rights) = self.rights.remove(&Object::Relation(from.to_owned())) {
            self.rights.insert(Object::Relation(to.to_owned()), rights);
        }
    }

    /// Rights after the relations of `before` became these: those of what is gone go, and `who`
    /// owns what is new.
    pub(crate) fn settle_rights(&mut self, before: &Self, who: &Who) {
        let has = |state: &Self, name: &str| {
            state.tables.contains_key(name)
                || state.views.contains_key(name)
                || state.sequences.contains_key(name)
        };
        let gone = |object: &Object| match object {
            Object::Relation(name) => !has(self, name),
            Object::Schema(name) => !self.has_schema(name),
            Object::Database => false,
        };
        let gone: Vec<Object> = self.rights.keys().filter(|object| gone(object)).cloned().collect();
        gone.iter().for_each(|object| drop(self.rights.remove(object)));
        let Who::Role(owner) = who else { return };
        let names = self.tables.keys().chain(self.views.keys()).chain(self.sequences.keys());
        let is_new = |name: &&String| !has(before, name);
        let new: Vec<String> = names.filter(is_new).cloned().collect();
        let schemas = self.schemas.keys().filter(|name| !before.schemas.contains_key(*name));
        let schemas: Vec<Object> = schemas.cloned().map(Object::Schema).collect();
        for object in new.into_iter().map(Object::Relation).chain(schemas) {
            let rights = || Rights { owner: owner.to_string(), grants: None };
            self.rights.entry(object).or_insert_with(rights);
        }
    }
}

/// Which memberships count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inherited {
    /// Those whose rights a role has.
    Only,
    /// All.
    OrNot,
}
