//! Scenarios of sqlx: its macros check each query against the server while this is compiled, so
//! that a build that succeeds is the first of them. What each came to is printed as
//! "status\tscenario\twhy".

use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::types::Decimal;
use sqlx::types::time::OffsetDateTime;

type Outcome = Result<(), Box<dyn std::error::Error>>;

async fn checked_while_compiled(pool: &PgPool) -> Outcome {
    let row = sqlx::query!(
        "select id, name, price, made, tags from sqlx_item where id = $1 and name like $2",
        1_i64,
        "a%"
    )
    .fetch_one(pool)
    .await?;
    // The macro knows which columns may be NULL.
    let (id, name, price): (i64, String, Option<Decimal>) = (row.id, row.name, row.price);
    let (made, tags): (OffsetDateTime, Option<Vec<String>>) = (row.made, row.tags);
    assert_eq!((id, name.as_str(), price), (1, "apple", Some(Decimal::new(250, 2))));
    assert!(made.year() > 2000 && tags.as_deref() == Some(&["x".to_owned()][..]));
    Ok(())
}

async fn nullability_of_joins(pool: &PgPool) -> Outcome {
    let rows = sqlx::query!(
        "select a.name, b.name as \"other?\" from sqlx_item a \
         left join sqlx_item b on b.id = a.id + 1 order by a.id"
    )
    .fetch_all(pool)
    .await?;
    let pairs: Vec<_> = rows.into_iter().map(|row| (row.name, row.other)).collect();
    assert_eq!(pairs, [("apple".into(), Some("pear".into())), ("pear".to_owned(), None::<String>)]);
    Ok(())
}

async fn returning_and_transaction(pool: &PgPool) -> Outcome {
    let mut transaction = pool.begin().await?;
    let made = sqlx::query!(
        "insert into sqlx_item (name) values ($1) on conflict (name) do update set price = 9 \
         returning id, price",
        "pear"
    )
    .fetch_one(&mut *transaction)
    .await?;
    assert_eq!((made.id, made.price), (2, Some(Decimal::from(9))));
    transaction.rollback().await?;
    let count = sqlx::query_scalar!("select count(*) as \"count!\" from sqlx_item where price = 9");
    assert_eq!(count.fetch_one(pool).await?, 0);
    Ok(())
}

fn say(name: &str, outcome: Outcome) {
    match outcome {
        Ok(()) => println!("ok\t{name}\t"),
        Err(error) => println!("FAILED\t{name}\t{}", error.to_string().replace(['\n', '\t'], " ")),
    }
}

#[tokio::main]
async fn main() -> Outcome {
    let place = std::env::var("DATABASE_URL")?;
    let pool = PgPoolOptions::new().max_connections(2).connect(&place).await?;
    say("query! checked while compiled", checked_while_compiled(&pool).await);
    say("columns of outer joins", nullability_of_joins(&pool).await);
    say("returning in a transaction", returning_and_transaction(&pool).await);
    Ok(())
}
