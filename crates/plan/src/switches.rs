//! Techniques that can be switched off one by one, to measure each and to test that none changes a
//! result.
//!
//! ```text
//! SET tessera.lip = off -> engine::settings -> Switches --copied--> planner, executor
//! ```
//! Invariants: answers do not depend on switches; a switch is looked at once per plan, scan,
//! operator or batch, never per row.
//!
//! Elsewhere: what the storage does with them (`storage::ScanTechniques`).
//! Source: Patel 2018, sections 6.6 to 6.8. Of its techniques, those that are not here are either
//! absent or no choice: `docs/decisions/016-switches-and-adaptive-filters.md`.

/// A technique that queries run without when it is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Technique {
    /// A disjunction over several tables restricts the scan of one by the parts about it.
    PartialPushDown,
    /// Expressions that occur twice are computed once.
    CommonSubexpressions,
    /// Columns that a table's key decides are no grouping keys beside it.
    KeyReduction,
    /// A join with a unique build side that gives no column is a semi-join, tested in the scan.
    ExactFilters,
    /// Build keys are tested in the scans below the probe side.
    Lip,
    /// Tests of a scan are ordered by the share of rows that they were seen to pass.
    LipAdaptive,
    /// Scans are tried with and without the filters of joins, and stay with the faster way.
    MicroAdaptive,
    /// Rows are grouped below joins where that leaves fewer of them.
    EagerAggregation,
    /// Rows are grouped by the row of a join's build side that they met.
    GroupJoin,
    /// Joins by an array over the range of an integer key.
    DenseJoins,
    /// Grouping by an array over the range of an integer key.
    DenseAggregation,
    /// Grouping keys of several columns and strings are packed into words.
    CompactKeys,
    /// The worst of the best rows so far drops rows before their other columns are loaded.
    TopKFeedback,
    /// Columns are unpacked when an operator first uses them.
    LateColumns,
    /// Restrictions are decided on the codes of frozen blocks.
    CodeScans,
    /// Predicates and filters are decided once per entry of a dictionary.
    DictionaryPredicates,
    /// Blocks and ranges of rows are skipped by smallest and largest value and lookup table.
    Skipping,
    /// Strings and keys of several columns are tested in the probe's scan, by the tags of the
    /// join's table.
    EarlyProbing,
    /// Keys of a build side that has only one, or a few strings, restrict the probe's scan.
    BuildRestrictions,
    /// Partitioned tables are grouped and joined partition by partition where that costs less.
    PartitionWise,
    /// Scans ask for blocks that left memory before they need them.
    ReadAhead,
}

use Technique as T;

impl Technique {
    /// All of them.
    pub const ALL: [Self; 21] = [
        T::PartialPushDown,
        T::CommonSubexpressions,
        T::KeyReduction,
        T::ExactFilters,
        T::Lip,
        T::LipAdaptive,
        T::MicroAdaptive,
        T::EagerAggregation,
        T::GroupJoin,
        T::DenseJoins,
        T::DenseAggregation,
        T::CompactKeys,
        T::TopKFeedback,
        T::LateColumns,
        T::CodeScans,
        T::DictionaryPredicates,
        T::Skipping,
        T::EarlyProbing,
        T::BuildRestrictions,
        T::PartitionWise,
        T::ReadAhead,
    ];

    /// The setting's name, without `tessera.`.
    pub const fn name(self) -> &'static str {
        match self {
            T::PartialPushDown => "partial_push_down",
            T::CommonSubexpressions => "common_subexpressions",
            T::KeyReduction => "key_reduction",
            T::ExactFilters => "exact_filters",
            T::Lip => "lip",
            T::LipAdaptive => "lip_adaptive",
            T::MicroAdaptive => "micro_adaptive",
            T::EagerAggregation => "eager_aggregation",
            T::GroupJoin => "group_join",
            T::DenseJoins => "dense_joins",
            T::DenseAggregation => "dense_aggregation",
            T::CompactKeys => "compact_keys",
            T::TopKFeedback => "top_k_feedback",
            T::LateColumns => "late_columns",
            T::CodeScans => "code_scans",
            T::DictionaryPredicates => "dictionary_predicates",
            T::Skipping => "skipping",
            T::EarlyProbing => "early_probing",
            T::BuildRestrictions => "build_restrictions",
            T::PartitionWise => "partition_wise",
            T::ReadAhead => "read_ahead",
        }
    }

    /// Text about it in SHOW ALL.
    pub const fn meaning(self) -> &'static str {
        match self {
            T::PartialPushDown => "restricts a table by its part of a disjunction over several",
            T::CommonSubexpressions => "computes expressions that occur twice once",
            T::KeyReduction => "groups by a table's key without the columns that it decides",
            T::ExactFilters => "makes joins that give no column tests of keys in the probe's scan",
            T::Lip => "tests the keys of build sides in the scans below the probe side",
            T::LipAdaptive => "orders the tests of a scan by the share of rows seen to pass",
            T::MicroAdaptive => "tries scans with and without the filters of joins",
            T::EagerAggregation => "groups rows below joins where that leaves fewer of them",
            T::GroupJoin => "groups rows by the row of a join's build side that they met",
            T::DenseJoins => "joins by arrays over ranges of integer keys",
            T::DenseAggregation => "groups by arrays over ranges of integer keys",
            T::CompactKeys => "packs grouping keys into words",
            T::TopKFeedback => "drops rows behind the best so far before loading their columns",
            T::LateColumns => "unpacks columns when they are first used",
            T::CodeScans => "decides restrictions on codes",
            T::DictionaryPredicates => "decides predicates once per entry of a dictionary",
            T::Skipping => "skips blocks by smallest and largest value and lookup table",
            T::EarlyProbing => "tests strings and keys of several columns in the probe's scan",
            T::BuildRestrictions => "restricts the probe's scan to the keys of small build sides",
            T::PartitionWise => "groups and joins partitioned tables partition by partition",
            T::ReadAhead => "asks for blocks that left memory before scans need them",
        }
    }

    /// The technique whose setting is called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|technique| technique.name() == name)
    }
}

/// Which techniques are used; all of them by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// A bit for each technique that is off.
    off: u32,
}

impl Switches {
    /// None is used.
    pub const NONE: Self = Self { off: !0 };

    /// True when `technique` is used.
    #[inline]
    pub const fn has(self, technique: Technique) -> bool {
        self.off >> technique as u32 & 1 == 0
    }

    /// The same, with `technique`.
    #[must_use]
    pub const fn with(self, technique: Technique) -> Self {
        Self { off: self.off & !(1 << technique as u32) }
    }

    /// The same, without `technique`.
    #[must_use]
    pub const fn without(self, technique: Technique) -> Self {
        Self { off: self.off | 1 << technique as u32 }
    }
}

/// Way to order joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JoinOrder {
    /// The estimated cost.
    #[default]
    Cost,
    /// The most rows first, among relations that are connected: to see what a wrong order costs.
    Worst,
    /// The text: the first relations that are connected are joined first.
    Text,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_technique_has_a_switch_of_its_own() {
        for technique in Technique::ALL {
            assert_eq!(Technique::named(technique.name()), Some(technique));
            let without = Switches::default().without(technique);
            let others = |t: &Technique| *t != technique;
            assert!(!without.has(technique) && without != Switches::default());
            assert!(Technique::ALL.into_iter().filter(others).all(|t| without.has(t)));
            assert!(!Technique::ALL.into_iter().any(|t| Switches::NONE.has(t)));
            assert!(Switches::NONE.with(technique).has(technique));
            assert_eq!(without.with(technique), Switches::default());
        }
        assert_eq!(Technique::named("tessera.lip"), None);
    }
}
