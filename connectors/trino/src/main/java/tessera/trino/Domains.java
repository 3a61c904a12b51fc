package tessera.trino;

import io.trino.spi.predicate.Domain;
import io.trino.spi.predicate.Range;
import io.trino.spi.predicate.SortedRangeSet;
import io.trino.spi.predicate.ValueSet;
import io.trino.spi.type.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Values that a column may have, as a condition of SQL. */
final class Domains {
  /** Ranges of a column that are put into a condition, at most. */
  private static final int RANGES_MAX = 1000;

  private Domains() {}

  /**
   * A condition, and whether it says all of a domain.
   *
   * @param sql the condition: at least the rows of the domain meet it
   * @param isExact true when no others do
   */
  record Condition(String sql, boolean isExact) {}

  /** The condition of a domain; nothing when Trino has to test it. */
  static Optional<Condition> of(TesseraColumn column, Domain domain) {
    String name = Conditions.quoted(column.name());
    ValueSet values = domain.getValues();
    if (domain.isNone()) {
      return Optional.of(new Condition("false", true));
    } else if (domain.isAll()) {
      return Optional.empty();
    } else if (domain.isOnlyNull()) {
      return Optional.of(new Condition("(" + name + " IS NULL)", true));
    } else if (values.isAll()) {
      return Optional.of(new Condition("(" + name + " IS NOT NULL)", true));
    }
    boolean isFloat = Values.isFloat(column.type());
    boolean isRanges = values instanceof SortedRangeSet ranges && ranges.getRangeCount() <= RANGES_MAX;
    if (!isRanges || !isFloat && !Values.isComparable(column)) {
      return Optional.empty();
    }
    String orNull = domain.isNullAllowed() ? " OR " + name + " IS NULL" : "";
    return ranges(column, (SortedRangeSet) values)
        .map(condition -> new Condition("(" + condition + orNull + ")", !isFloat));
  }

  private static Optional<String> ranges(TesseraColumn column, SortedRangeSet ranges) {
    Type type = column.type();
    List<String> singles = new ArrayList<>();
    List<String> parts = new ArrayList<>();
    for (Range range : ranges.getOrderedRanges()) {
      Optional<String> part =
          range.isSingleValue() ? Values.of(type, range.getSingleValue()) : range(column, range);
      if (part.isEmpty()) {
        return Optional.empty();
      }
      (range.isSingleValue() ? singles : parts).add(part.get());
    }
    String name = Conditions.quoted(column.name());
    if (singles.size() == 1) {
      parts.add(name + " = " + singles.get(0));
    } else if (!singles.isEmpty()) {
      parts.add(name + " IN (" + String.join(", ", singles) + ")");
    }
    return Optional.of(String.join(" OR ", parts));
  }

  private static Optional<String> range(TesseraColumn column, Range range) {
    String name = Conditions.ordered(column);
    List<String> ends = new ArrayList<>();
    if (!range.isLowUnbounded()) {
      Optional<String> low = Values.of(column.type(), range.getLowBoundedValue());
      if (low.isEmpty()) {
        return Optional.empty();
      }
      ends.add(name + (range.isLowInclusive() ? " >= " : " > ") + low.get());
    }
    if (!range.isHighUnbounded()) {
      Optional<String> high = Values.of(column.type(), range.getHighBoundedValue());
      if (high.isEmpty()) {
        return Optional.empty();
      }
      ends.add(name + (range.isHighInclusive() ? " <= " : " < ") + high.get());
    }
    return Optional.of("(" + String.join(" AND ", ends) + ")");
  }
}
