//! Queries beside the unions of their parts by a predicate (`testkit::queries::Partition`).
//!
//! Both texts run under each setting; all answers must have the same rows. With an oracle the query
//! runs there, too, so that a mistake in both is found.

use testkit::Random;
use testkit::queries::{Generator, Partition, RowOrder};

use super::{DRAWN, Outcomes, PER_SCHEMA, Pair, Tally, Toggling, class, judge, refusal};
use crate::variants::Variant;

impl Pair {
    /// Draws queries and compares each with the union of its parts.
    pub(super) fn partitions(&mut self, seed: u64, toggling: Toggling, tally: &mut Tally) {
        let mut generator = Generator::new(&self.schema, seed, self.dialect);
        let mut random = Random::new(seed);
        for number in 0..PER_SCHEMA {
            let partition = generator.partition();
            if toggling == Toggling::Random {
                self.drawn = (0..DRAWN).map(|_| Variant::drawn(&mut random)).collect();
            }
            if let Some(message) = tally.add(self.compare_parts(&partition)) {
                println!("seed {seed}, partition {number}: {message}");
                self.report_parts(&partition, &message);
            }
        }
    }

    fn report_parts(&mut self, partition: &Partition, message: &str) {
        let wanted = class(message);
        let small = partition.shrunk(|partition| {
            let found = self.compare_parts(partition);
            matches!(found, Outcomes::Different(message) if class(&message) == wanted)
        });
        println!("  {}\n  shrunk: {}", partition.whole(), small.whole());
        println!("      and {}", small.split());
        if let Outcomes::Different(message) = self.compare_parts(&small) {
            println!("  {message}\n");
        }
    }

    /// Runs the query and the union of its parts everywhere.
    fn compare_parts(&mut self, partition: &Partition) -> Outcomes {
        let (whole, split, kinds) = (partition.whole(), partition.split(), partition.kinds());
        let mut expected = self.oracle.as_mut().map(|oracle| oracle.run(&whole));
        if let Some(Err(error)) = &expected
            && let Some(reason) = refusal(error)
        {
            return Outcomes::Unclear(reason);
        }
        let mut outcome = Outcomes::BothFailed;
        for settings in self.ways() {
            for (text, name) in [(&whole, "whole"), (&split, "parts")] {
                let actual = match self.run_under(&settings, text) {
                    Ok(actual) => actual,
                    Err(message) => return Outcomes::Different(message),
                };
                // What does not know the predicate knows no parts.
                if let Err(error) = &actual
                    && text == &split
                    && error.sqlstate.starts_with("42")
                {
                    return Outcomes::Unclear("a predicate that is refused".into());
                }
                let expected = expected.get_or_insert_with(|| actual.clone());
                outcome = judge(expected, &actual, &kinds, RowOrder::Any);
                match outcome {
                    Outcomes::Different(message) => {
                        let settings = settings.join("; ");
                        return Outcomes::Different(format!("{message} ({name}; {settings})"));
                    }
                    Outcomes::Unclear(_) => return outcome,
                    _ => {}
                }
            }
        }
        outcome
    }
}
