//! The nine tables: columns, keys, secondary indexes, and their DDL.
//!
//! The columns of each primary key stand first, in the order of the key. Totals that grow with
//! every
//! Payment have 16 digits where the specification asks for at least 12: at main-memory speed 12 are
//! used up within minutes.
//! Source: TPC-C 5.11, clauses 1.2 and 1.3.

use types::DataType;

/// A table; its number is its place in loading order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Table {
    /// Warehouses.
    Warehouse,
    /// Ten districts a warehouse.
    District,
    /// 3,000 customers a district.
    Customer,
    /// Payments; one row a customer to begin with.
    History,
    /// Orders not delivered yet.
    NewOrder,
    /// Orders; one a customer to begin with.
    Orders,
    /// 5 to 15 lines an order.
    OrderLine,
    /// 100,000 items.
    Item,
    /// Items of each warehouse.
    Stock,
}

impl Table {
    /// All tables in loading order.
    pub const ALL: [Self; 9] = [
        Self::Warehouse,
        Self::District,
        Self::Customer,
        Self::History,
        Self::NewOrder,
        Self::Orders,
        Self::OrderLine,
        Self::Item,
        Self::Stock,
    ];

    /// The table's name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warehouse => "warehouse",
            Self::District => "district",
            Self::Customer => "customer",
            Self::History => "history",
            Self::NewOrder => "new_order",
            Self::Orders => "orders",
            Self::OrderLine => "order_line",
            Self::Item => "item",
            Self::Stock => "stock",
        }
    }

    /// Names and types of its columns.
    pub fn columns(self) -> &'static [(&'static str, DataType)] {
        match self {
            Self::Warehouse => warehouse::COLUMNS,
            Self::District => district::COLUMNS,
            Self::Customer => customer::COLUMNS,
            Self::History => history::COLUMNS,
            Self::NewOrder => new_order::COLUMNS,
            Self::Orders => orders::COLUMNS,
            Self::OrderLine => order_line::COLUMNS,
            Self::Item => item::COLUMNS,
            Self::Stock => stock::COLUMNS,
        }
    }

    /// Ordinals of its primary key; history has none.
    pub fn key(self) -> &'static [usize] {
        match self {
            Self::History => &[],
            Self::Warehouse | Self::Item => &[0],
            Self::Stock => &[0, 1],
            Self::District => &[0, 1],
            Self::Customer | Self::NewOrder | Self::Orders => &[0, 1, 2],
            Self::OrderLine => &[0, 1, 2, 3],
        }
    }

    /// Ordinals of the columns that may be NULL: they are, until an order is delivered.
    pub fn nullable(self) -> &'static [usize] {
        match self {
            Self::Orders => &[orders::CARRIER_ID],
            Self::OrderLine => &[order_line::DELIVERY_D],
            _ => &[],
        }
    }
}

/// An index the transactions use beside the primary keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondaryIndex {
    /// Its name in SQL.
    pub name: &'static str,
    /// The table.
    pub table: Table,
    /// Ordinals of its columns, all ascending.
    pub columns: &'static [usize],
}

/// Customers by last and first name.
pub const CUSTOMER_BY_NAME: SecondaryIndex = SecondaryIndex {
    name: "customer_by_name",
    table: Table::Customer,
    columns: &[customer::W_ID, customer::D_ID, customer::LAST, customer::FIRST],
};

/// Orders of a customer.
pub const ORDERS_BY_CUSTOMER: SecondaryIndex = SecondaryIndex {
    name: "orders_by_customer",
    table: Table::Orders,
    columns: &[orders::W_ID, orders::D_ID, orders::C_ID, orders::ID],
};

/// Both secondary indexes.
pub const SECONDARY: [SecondaryIndex; 2] = [CUSTOMER_BY_NAME, ORDERS_BY_CUSTOMER];

/// Whose SQL to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Tessera and PostgreSQL.
    Standard,
    /// SQLite: its NUMERIC is floating point, so decimals are integers of their last digit and
    /// times integers of microseconds; narrow tables are clustered by their keys.
    Sqlite,
}

/// The nine CREATE TABLE statements in loading order.
pub fn create_tables(dialect: Dialect) -> Vec<String> {
    Table::ALL.iter().map(|table| create_table(*table, dialect)).collect()
}

/// The CREATE INDEX statements of the secondary indexes; faster after loading.
pub fn create_indexes() -> Vec<String> {
    let create = |index: &SecondaryIndex| {
        let columns = names(index.table, index.columns);
        format!("CREATE INDEX {} ON {} ({columns})", index.name, index.table.name())
    };
    SECONDARY.iter().map(create).collect()
}

fn create_table(table: Table, dialect: Dialect) -> String {
    let mut sql = format!("CREATE TABLE {} (", table.name());
    for (i, (name, ty)) in table.columns().iter().enumerate() {
        let null = if table.nullable().contains(&i) { "" } else { " NOT NULL" };
        sql += &format!("{name} {}{null}, ", type_name(*ty, dialect));
    }
    match table.key() {
        [] => sql.truncate(sql.len() - 2),
        key => sql += &format!("PRIMARY KEY ({})", names(table, key)),
    }
    sql.push(')');
    // SQLite's manual advises against it for rows above a twentieth of a page.
    let clustered = matches!(table, Table::NewOrder | Table::Orders | Table::OrderLine);
    if dialect == Dialect::Sqlite && clustered {
        sql += " WITHOUT ROWID";
    }
    sql
}

pub(super) fn names(table: Table, columns: &[usize]) -> String {
    let names: Vec<&str> = columns.iter().map(|i| table.columns()[*i].0).collect();
    names.join(", ")
}

fn type_name(ty: DataType, dialect: Dialect) -> String {
    match (ty, dialect) {
        (DataType::Integer, _) => "INTEGER".into(),
        (DataType::Numeric(_) | DataType::Timestamp(_), Dialect::Sqlite) => "INTEGER".into(),
        (_, Dialect::Sqlite) => "TEXT".into(),
        (DataType::Numeric(ty), _) => format!("NUMERIC({},{})", ty.precision, ty.scale),
        (DataType::Timestamp(_), _) => "TIMESTAMP".into(),
        (DataType::Char(n), _) => format!("CHAR({n})"),
        (DataType::Varchar(Some(n)), _) => format!("VARCHAR({n})"),
        (other, _) => unreachable!("no column is of type {other:?}"),
    }
}

/// A module for a table: `COLUMNS`, and a constant with the ordinal of each column.
macro_rules! table {
    ($table:ident { $($constant:ident $name:literal $ty:expr,)* }) => {
        #[allow(dead_code)] // Not every column is named by a transaction.
        pub(crate) mod $table {
            use super::*;

            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            enum Ordinal { $($constant,)* }

            pub(crate) const COLUMNS: &[(&str, DataType)] = &[$(($name, $ty),)*];
            $(pub(crate) const $constant: usize = Ordinal::$constant as usize;)*
        }
    };
}

const INTEGER: DataType = DataType::Integer;
const TIME: DataType = DataType::TIMESTAMP;
/// Tax or discount.
const RATE: DataType = DataType::numeric(4, 4);
const MONEY: DataType = DataType::numeric(6, 2);
const CENTS: DataType = DataType::numeric(5, 2);
const LIMIT: DataType = DataType::numeric(12, 2);
const TOTAL: DataType = DataType::numeric(16, 2);

const fn char(n: u32) -> DataType {
    DataType::Char(n)
}

const fn varchar(n: u32) -> DataType {
    DataType::Varchar(Some(n))
}

table!(warehouse {
    ID "w_id" INTEGER,
    NAME "w_name" varchar(10),
    STREET_1 "w_street_1" varchar(20),
    STREET_2 "w_street_2" varchar(20),
    CITY "w_city" varchar(20),
    STATE "w_state" char(2),
    ZIP "w_zip" char(9),
    TAX "w_tax" RATE,
    YTD "w_ytd" TOTAL,
});

table!(district {
    W_ID "d_w_id" INTEGER,
    ID "d_id" INTEGER,
    NAME "d_name" varchar(10),
    STREET_1 "d_street_1" varchar(20),
    STREET_2 "d_street_2" varchar(20),
    CITY "d_city" varchar(20),
    STATE "d_state" char(2),
    ZIP "d_zip" char(9),
    TAX "d_tax" RATE,
    YTD "d_ytd" TOTAL,
    NEXT_O_ID "d_next_o_id" INTEGER,
});

table!(customer {
    W_ID "c_w_id" INTEGER,
    D_ID "c_d_id" INTEGER,
    ID "c_id" INTEGER,
    FIRST "c_first" varchar(16),
    MIDDLE "c_middle" char(2),
    LAST "c_last" varchar(16),
    STREET_1 "c_street_1" varchar(20),
    STREET_2 "c_street_2" varchar(20),
    CITY "c_city" varchar(20),
    STATE "c_state" char(2),
    ZIP "c_zip" char(9),
    PHONE "c_phone" char(16),
    SINCE "c_since" TIME,
    CREDIT "c_credit" char(2),
    CREDIT_LIM "c_credit_lim" LIMIT,
    DISCOUNT "c_discount" RATE,
    BALANCE "c_balance" TOTAL,
    YTD_PAYMENT "c_ytd_payment" TOTAL,
    PAYMENT_CNT "c_payment_cnt" INTEGER,
    DELIVERY_CNT "c_delivery_cnt" INTEGER,
    DATA "c_data" varchar(500),
});

table!(history {
    C_ID "h_c_id" INTEGER,
    C_D_ID "h_c_d_id" INTEGER,
    C_W_ID "h_c_w_id" INTEGER,
    D_ID "h_d_id" INTEGER,
    W_ID "h_w_id" INTEGER,
    DATE "h_date" TIME,
    AMOUNT "h_amount" MONEY,
    DATA "h_data" varchar(24),
});

table!(new_order {
    W_ID "no_w_id" INTEGER,
    D_ID "no_d_id" INTEGER,
    O_ID "no_o_id" INTEGER,
});

table!(orders {
    W_ID "o_w_id" INTEGER,
    D_ID "o_d_id" INTEGER,
    ID "o_id" INTEGER,
    C_ID "o_c_id" INTEGER,
    ENTRY_D "o_entry_d" TIME,
    CARRIER_ID "o_carrier_id" INTEGER,
    OL_CNT "o_ol_cnt" INTEGER,
    ALL_LOCAL "o_all_local" INTEGER,
});

table!(order_line {
    W_ID "ol_w_id" INTEGER,
    D_ID "ol_d_id" INTEGER,
    O_ID "ol_o_id" INTEGER,
    NUMBER "ol_number" INTEGER,
    I_ID "ol_i_id" INTEGER,
    SUPPLY_W_ID "ol_supply_w_id" INTEGER,
    DELIVERY_D "ol_delivery_d" TIME,
    QUANTITY "ol_quantity" INTEGER,
    AMOUNT "ol_amount" MONEY,
    DIST_INFO "ol_dist_info" char(24),
});

table!(item {
    ID "i_id" INTEGER,
    IM_ID "i_im_id" INTEGER,
    NAME "i_name" varchar(24),
    PRICE "i_price" CENTS,
    DATA "i_data" varchar(50),
});

table!(stock {
    W_ID "s_w_id" INTEGER,
    I_ID "s_i_id" INTEGER,
    QUANTITY "s_quantity" INTEGER,
    DIST_01 "s_dist_01" char(24),
    DIST_02 "s_dist_02" char(24),
    DIST_03 "s_dist_03" char(24),
    DIST_04 "s_dist_04" char(24),
    DIST_05 "s_dist_05" char(24),
    DIST_06 "s_dist_06" char(24),
    DIST_07 "s_dist_07" char(24),
    DIST_08 "s_dist_08" char(24),
    DIST_09 "s_dist_09" char(24),
    DIST_10 "s_dist_10" char(24),
    YTD "s_ytd" INTEGER,
    ORDER_CNT "s_order_cnt" INTEGER,
    REMOTE_CNT "s_remote_cnt" INTEGER,
    DATA "s_data" varchar(50),
});
