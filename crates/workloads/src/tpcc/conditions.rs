//! The twelve consistency conditions: a query for each, which counts what breaks it.
//!
//! Source: TPC-C 5.11, clauses 3.3.2.1 to 3.3.2.12. Departures: condition 11 speaks of the state
//! after loading; the orders delivered since then, which C_DELIVERY_CNT counts, are added, so that
//! it holds at all times. The conditions with C_BALANCE are checked for all customers.

use super::populate::Scale;

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// 1 to 12: the last part of its clause.
    pub number: usize,
    /// Rule that must hold.
    pub rule: &'static str,
    /// One row, one integer: how many rows break it.
    pub sql: String,
}

/// Rule that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The condition.
    pub number: usize,
    /// Rule that should hold.
    pub rule: &'static str,
    /// How many rows break it.
    pub rows: i64,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "condition {}: {}: broken by {} rows", self.number, self.rule, self.rows)
    }
}

const CONDITIONS: [(&str, &str); 12] = [
    (
        "W_YTD = sum(D_YTD)",
        "SELECT count(*) FROM warehouse \
         LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS total FROM district GROUP BY d_w_id) AS d \
         ON d_w_id = w_id WHERE total IS NULL OR w_ytd <> total",
    ),
    (
        "D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)",
        "SELECT count(*) FROM district \
         LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS newest FROM orders \
         GROUP BY o_w_id, o_d_id) AS o ON o_w_id = d_w_id AND o_d_id = d_id \
         LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS undelivered FROM new_order \
         GROUP BY no_w_id, no_d_id) AS n ON no_w_id = d_w_id AND no_d_id = d_id \
         WHERE newest IS NULL OR d_next_o_id - 1 <> newest OR undelivered <> newest",
    ),
    (
        "max(NO_O_ID) - min(NO_O_ID) + 1 = rows of NEW-ORDER",
        "SELECT count(*) FROM (SELECT no_w_id, no_d_id FROM new_order \
         GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) AS n",
    ),
    (
        "sum(O_OL_CNT) = rows of ORDER-LINE",
        "SELECT count(*) FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS expected FROM orders \
         GROUP BY o_w_id, o_d_id) AS o \
         LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS line_count FROM order_line \
         GROUP BY ol_w_id, ol_d_id) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id \
         WHERE line_count IS NULL OR expected <> line_count",
    ),
    (
        "O_CARRIER_ID is NULL if and only if NEW-ORDER has the order",
        "SELECT count(*) FROM orders LEFT JOIN new_order \
         ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        "O_OL_CNT = rows of ORDER-LINE for this order",
        "SELECT count(*) FROM orders \
         LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS line_count FROM order_line \
         GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE line_count IS NULL OR o_ol_cnt <> line_count",
    ),
    (
        "OL_DELIVERY_D is NULL if and only if O_CARRIER_ID is",
        "SELECT count(*) FROM order_line LEFT JOIN orders \
         ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    (
        "W_YTD = sum(H_AMOUNT)",
        "SELECT count(*) FROM warehouse \
         LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) AS h \
         ON h_w_id = w_id WHERE paid IS NULL OR w_ytd <> paid",
    ),
    (
        "D_YTD = sum(H_AMOUNT)",
        "SELECT count(*) FROM district \
         LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history \
         GROUP BY h_w_id, h_d_id) AS h ON h_w_id = d_w_id AND h_d_id = d_id \
         WHERE paid IS NULL OR d_ytd <> paid",
    ),
    (
        "C_BALANCE = sum(delivered OL_AMOUNT) - sum(H_AMOUNT)",
        "SELECT count(*) FROM customer \
         LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS amount \
          FROM orders, order_line \
         WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         AND ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) AS o \
         ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history \
         GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h \
         ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
         WHERE c_balance <> coalesce(amount, 0) - coalesce(paid, 0)",
    ),
    (
        "rows of ORDER - rows of NEW-ORDER = orders delivered",
        "SELECT count(*) FROM (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS delivered \
         FROM customer GROUP BY c_w_id, c_d_id) AS c \
         LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS order_count FROM orders \
         GROUP BY o_w_id, o_d_id) AS o ON o_w_id = c_w_id AND o_d_id = c_d_id \
         LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS waiting FROM new_order \
         GROUP BY no_w_id, no_d_id) AS n ON no_w_id = c_w_id AND no_d_id = c_d_id \
         WHERE order_count IS NULL \
         OR order_count - coalesce(waiting, 0) <> :delivered + delivered",
    ),
    (
        "C_BALANCE + C_YTD_PAYMENT = sum(delivered OL_AMOUNT)",
        "SELECT count(*) FROM customer \
         LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS amount \
          FROM orders, order_line \
         WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         AND ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) AS o \
         ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         WHERE c_balance + c_ytd_payment <> coalesce(amount, 0)",
    ),
];

/// The conditions for a population of `scale`, in the SQL that all systems understand.
pub fn conditions(scale: &Scale) -> Vec<Condition> {
    let delivered = scale.delivered().to_string();
    let condition = |(number, (rule, sql)): (usize, (&'static str, &str))| Condition {
        number,
        rule,
        sql: sql.replace(":delivered", &delivered),
    };
    (1..).zip(CONDITIONS).map(condition).collect()
}

/// Checks all twelve by `query`, which runs a query of one integer.
///
/// # Errors
/// Errors of `query`.
pub fn violations<E>(
    scale: &Scale,
    mut query: impl FnMut(&str) -> Result<i64, E>,
) -> Result<Vec<Violation>, E> {
    let mut broken = Vec::new();
    for Condition { number, rule, sql } in conditions(scale) {
        match query(&sql)? {
            0 => {}
            rows => broken.push(Violation { number, rule, rows }),
        }
    }
    Ok(broken)
}
