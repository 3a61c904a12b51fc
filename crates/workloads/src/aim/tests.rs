//! The queries and calls of Huawei-AIM on a database, against loops over the model's rows.

use engine::{Config, Database};

use super::*;

const AIM: Aim = Aim { subscribers: 300, attributes: ATTRIBUTES_MIN };

/// The table with the first `calls` of the stream, and its rows.
fn filled(calls: u64) -> (Database, Vec<Subscriber>) {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    session.execute(&AIM.create_table("aim")).expect("is new");
    let mut rows: Vec<_> = (0..AIM.subscribers).map(|id| AIM.subscriber(id)).collect();
    for row in &rows {
        let mut line = String::new();
        row.write(&mut line);
        let values = line.trim_end().replace('\t', ", ");
        session.execute(&format!("INSERT INTO aim VALUES ({values})")).expect("is new");
    }
    for number in 0..calls {
        let call = AIM.call(number);
        let update = call.reach.update("aim");
        let update = update
            .replace("$1", &call.seconds.to_string())
            .replace("$2", &call.cents.to_string())
            .replace("$3", &call.subscriber.to_string());
        session.execute(&update).expect("is there");
        rows[call.subscriber as usize].call(&call);
    }
    (database, rows)
}

fn answer(database: &Database, sql: &str) -> Vec<Vec<Option<String>>> {
    database.session().execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).text_rows()
}

#[test]
fn calls_do_what_the_model_does() {
    let (database, rows) = filled(500);
    let attributes = (1..=AIM.attributes).map(|n| format!("a_{n}")).collect::<Vec<_>>().join(", ");
    let found = answer(&database, &format!("SELECT {attributes} FROM aim ORDER BY entity_id"));
    for (row, found) in rows.iter().zip(found) {
        let expected: Vec<_> = row.attributes.iter().map(|value| Some(value.to_string())).collect();
        assert_eq!(found, expected, "{}", row.id);
    }
    let (audit, expected) = AIM.audit("aim", 500);
    let expected: Vec<_> = expected.iter().map(|value| Some(value.to_string())).collect();
    assert_eq!(answer(&database, &audit), [expected]);
}

/// The number behind `mark` in a query.
fn parameter(query: &str, mark: &str) -> i64 {
    let (_, rest) = query.split_once(mark).unwrap_or_else(|| panic!("no {mark}: {query}"));
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().expect("a number")
}

#[test]
fn queries_are_those_of_the_source() {
    let (database, rows) = filled(2000);
    let number = |text: &Option<String>| -> Option<f64> {
        text.as_ref().map(|text| text.parse().expect("a number"))
    };
    for seed in 0..20 {
        let asked = |number| AIM.query(number, "aim", seed);
        let ask = |number| answer(&database, &asked(number));

        let alpha = parameter(&asked(1), "a_35 > ");
        let of: Vec<i64> =
            rows.iter().filter(|r| r.attribute(35) > alpha).map(|r| r.attribute(25)).collect();
        let average = of.iter().sum::<i64>() as f64 / of.len() as f64;
        assert!((number(&ask(1)[0][0]).expect("some") - average).abs() < 1e-9);

        let beta = parameter(&asked(2), "a_28 > ");
        let most = rows.iter().filter(|r| r.attribute(28) > beta).map(|r| r.attribute(24)).max();
        assert_eq!(ask(2), [[most.map(|most| most.to_string())]]);

        let (gamma, delta) = (parameter(&asked(4), "a_35 > "), parameter(&asked(4), "a_32 > "));
        let mut cities = std::collections::BTreeMap::<u64, i64>::new();
        for row in rows.iter().filter(|r| r.attribute(35) > gamma && r.attribute(32) > delta) {
            *cities.entry(row.properties[0]).or_default() += row.attribute(32);
        }
        let found: Vec<_> =
            ask(4).into_iter().map(|row| [row[0].clone(), row[2].clone()]).collect();
        let expected: Vec<_> = cities
            .iter()
            .map(|(city, sum)| [Some(city.to_string()), Some(sum.to_string())])
            .collect();
        assert_eq!(found, expected);

        let value_type = parameter(&asked(7), "value_type_id = ") as u64;
        let ratios = rows
            .iter()
            .filter(|row| row.properties[5] == value_type && row.attribute(25) > 0)
            .map(|row| row.attribute(22) as f64 / row.attribute(25) as f64);
        assert_eq!(number(&ask(7)[0][0]), ratios.reduce(f64::max));

        let country = parameter(&asked(6), "country_id = ") as u64;
        let found = ask(6);
        for (at, attribute) in [13, 20, 34, 41].into_iter().enumerate() {
            let of = || rows.iter().filter(|row| row.properties[4] == country);
            let longest = of().map(|row| row.attribute(attribute)).max().expect("some");
            let first = of().find(|row| row.attribute(attribute) == longest).expect("one");
            let expected = [attribute.to_string(), first.id.to_string()].map(Some);
            assert_eq!(found[at], expected);
        }
        compare_groups(&rows, &asked(3), ask(3));
        compare_groups(&rows, &asked(5), ask(5));
        compare_groups(&rows, &asked(4), ask(4).into_iter().map(|row| row[..2].to_vec()).collect());
    }
}

/// Answers of the queries that group, as numbers: 3, 5, and the averages of 4.
fn compare_groups(rows: &[Subscriber], query: &str, found: Vec<Vec<Option<String>>>) {
    type Sums = std::collections::BTreeMap<i64, [i64; 3]>;
    let mut groups = Sums::new();
    let mut add = |key: i64, values: [i64; 2]| {
        let group = groups.entry(key).or_default();
        values.into_iter().chain([1]).zip(group).for_each(|(value, sum)| *sum += value);
    };
    let expected =
        |of: fn(&[i64; 3]) -> Vec<Option<f64>>, groups: &Sums| -> Vec<Vec<Option<f64>>> {
            let row = |(key, sums): (&i64, &[i64; 3])| {
                [Some(*key as f64)].into_iter().chain(of(sums)).collect()
            };
            groups.iter().map(row).collect()
        };
    let expected = if query.contains("GROUP BY a_28") {
        rows.iter().for_each(|r| add(r.attribute(28), [r.attribute(22), r.attribute(25)]));
        let ratio = |&[a, b, _]: &[i64; 3]| vec![(b != 0).then(|| a as f64 / b as f64)];
        expected(ratio, &groups).into_iter().take(100).collect()
    } else if query.contains("GROUP BY region_id") {
        let subscription = parameter(query, "subscription_type_id = ") as u64;
        let category = parameter(query, "category_id = ") as u64;
        let is_it =
            |r: &&Subscriber| r.properties[2] == subscription && r.properties[3] == category;
        let of = rows.iter().filter(is_it);
        of.for_each(|r| add(r.properties[1] as i64, [r.attribute(29), r.attribute(36)]));
        expected(|&[a, b, _]| vec![Some(a as f64), Some(b as f64)], &groups)
    } else {
        let (gamma, delta) = (parameter(query, "a_35 > "), parameter(query, "a_32 > "));
        let of = rows.iter().filter(|r| r.attribute(35) > gamma && r.attribute(32) > delta);
        of.for_each(|r| add(r.properties[0] as i64, [r.attribute(35), 0]));
        expected(|&[a, _, count]| vec![Some(a as f64 / count as f64)], &groups)
    };
    assert_eq!(found.len(), expected.len(), "{query}");
    for (found, expected) in found.iter().zip(&expected) {
        for (found, expected) in found.iter().zip(expected) {
            let found = found.as_ref().map(|text| text.parse::<f64>().expect("a number"));
            let is_same = match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() <= 1e-9 * found.abs(),
                (found, expected) => found == *expected,
            };
            assert!(is_same, "{query}: {found:?}, not {expected:?}");
        }
    }
}
