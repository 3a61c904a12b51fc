//! Tables that nodes work on: accounts with amounts and unique names, lists, and rows that refer to
//! others.

use shared::{IndexKeys, IndexPlan, Node, Result, SharedTable, Uniqueness};
use store::{Field, FieldId, FieldType, Schema, TableKind, Tuple};
use testkit::histories::Value as Element;
use types::Value;

pub(crate) struct Tables {
    pub(crate) accounts: SharedTable,
    pub(crate) lists: SharedTable,
    /// Rows that others refer to, by their keys.
    pub(crate) parents: SharedTable,
    /// The others, with an index of whom they refer to.
    pub(crate) children: SharedTable,
}

impl Tables {
    /// The tables, made where they are missing; accounts have these indexes behind that of names.
    pub(crate) async fn open(node: &Node, further: &[IndexPlan]) -> Result<Self> {
        let schema = |fields| Schema::new(TableKind::Transactional, fields).expect("fits");
        let accounts = schema(vec![
            Field::new("amount", FieldType::I64),
            Field::new("name", FieldType::Bytes),
        ]);
        let by_name = IndexPlan {
            name: "by_name".into(),
            keys: IndexKeys::Fields(vec![FieldId(1)]),
            uniqueness: Uniqueness::Unique,
        };
        let indexes: Vec<IndexPlan> =
            std::iter::once(by_name).chain(further.iter().cloned()).collect();
        let lists = schema(vec![Field::new("elements", FieldType::Bytes)]);
        let parents = schema(vec![Field::new("parent", FieldType::I64)]);
        let by_parent = IndexPlan {
            name: "by_parent".into(),
            keys: IndexKeys::Fields(vec![FieldId(0)]),
            uniqueness: Uniqueness::Many,
        };
        Ok(Self {
            accounts: node.table("accounts", &accounts, &indexes).await?,
            lists: node.table("lists", &lists, &[]).await?,
            parents: node.table("parents", &parents, &[]).await?,
            children: node.table("children", &parents, &[by_parent]).await?,
        })
    }

    pub(crate) fn all(&self) -> Vec<&SharedTable> {
        vec![&self.accounts, &self.lists, &self.parents, &self.children]
    }

    pub(crate) fn account(&self, amount: i64, name: &[u8]) -> Tuple {
        let values = [Value::I64(amount), Value::Str(name.into())];
        Tuple::encode(self.accounts.schema(), &values).expect("fits")
    }

    pub(crate) fn amount_and_name(&self, tuple: &Tuple) -> (i64, Vec<u8>) {
        match &tuple.decode(self.accounts.schema())[..] {
            [Value::I64(amount), Value::Str(name)] => (*amount, name.to_vec()),
            other => panic!("no account: {other:?}"),
        }
    }

    pub(crate) fn list(&self, elements: &[Element]) -> Tuple {
        let bytes: Vec<u8> = elements.iter().flat_map(|e| e.0.to_le_bytes()).collect();
        Tuple::encode(self.lists.schema(), &[Value::Str(bytes.into())]).expect("fits")
    }

    pub(crate) fn elements(&self, tuple: Option<&Tuple>) -> Vec<Element> {
        let Some(tuple) = tuple else { return Vec::new() };
        let Value::Str(bytes) = tuple.value(self.lists.schema(), FieldId(0)) else {
            panic!("no list")
        };
        let element = |bytes: &[u8]| Element(u32::from_le_bytes(bytes.try_into().expect("4")));
        bytes.chunks(4).map(element).collect()
    }
}
