package tessera.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.connector.expressions.aggregate.Sum;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import tessera.scans.ScanCommand;

/**
 * Aggregates of parts, which Spark makes one: those that come out exactly alike.
 *
 * <p>Sums of BIGINT are exact where Spark fails at an overflow, too, which is so under ANSI mode.
 * Sums of floats depend on their order, and those of decimals may not fit a column's digits.
 *
 * @param group columns in which rows of a group are equal
 * @param values values of a group
 * @param schema columns of the result
 */
record Aggregates(List<String> group, List<ScanCommand.AggregateOf> values, StructType schema) {
  /** What {@code aggregation} asks for; nothing when Spark has to do it. */
  static Optional<Aggregates> of(StructType table, Aggregation aggregation) {
    List<String> group = new ArrayList<>();
    List<ScanCommand.AggregateOf> values = new ArrayList<>();
    StructType schema = new StructType();
    for (Expression expression : aggregation.groupByExpressions()) {
      Optional<StructField> field = field(table, expression).filter(Conditions::isComparable);
      if (field.isEmpty()) {
        return Optional.empty();
      }
      group.add(field.get().name());
      schema = schema.add(field.get());
    }
    for (AggregateFunc function : aggregation.aggregateExpressions()) {
      Optional<Value> value = value(table, function);
      if (value.isEmpty()) {
        return Optional.empty();
      }
      values.add(value.get().asked());
      schema = schema.add(function.describe(), value.get().type(), true);
    }
    return Optional.of(new Aggregates(group, values, schema));
  }

  /** A value, and the type that it comes as. */
  private record Value(ScanCommand.AggregateOf asked, DataType type) {}

  private static Optional<StructField> field(StructType table, Expression expression) {
    return Conditions.column(expression).filter(name -> table.getFieldIndex(name).isDefined()).map(table::apply);
  }

  private static Optional<Value> value(StructType table, AggregateFunc function) {
    if (function instanceof CountStar) {
      return Optional.of(new Value(new ScanCommand.AggregateOf("count", null, null), DataTypes.LongType));
    } else if (function instanceof Count count && !count.isDistinct()) {
      return field(table, count.column())
          .map(f -> new Value(new ScanCommand.AggregateOf("count", f.name(), null), DataTypes.LongType));
    } else if (function instanceof Min min) {
      return field(table, min.column()).filter(Aggregates::hasExtremes).map(f -> extreme("min", f));
    } else if (function instanceof Max max) {
      return field(table, max.column()).filter(Aggregates::hasExtremes).map(f -> extreme("max", f));
    } else if (function instanceof Sum sum && !sum.isDistinct()) {
      return field(table, sum.column())
          .filter(f -> hasSum(f.dataType()))
          .map(f -> new Value(new ScanCommand.AggregateOf("sum", f.name(), "bigint"), DataTypes.LongType));
    }
    return Optional.empty();
  }

  private static Value extreme(String function, StructField field) {
    return new Value(new ScanCommand.AggregateOf(function, field.name(), null), field.dataType());
  }

  /** Texts are in the order of their collation in SQL. */
  private static boolean hasExtremes(StructField field) {
    DataType type = field.dataType();
    boolean isOther = type instanceof StringType || type instanceof BooleanType || type instanceof BinaryType;
    return !isOther && Conditions.isComparable(field);
  }

  private static boolean hasSum(DataType type) {
    boolean isSmall = type instanceof ShortType || type instanceof IntegerType;
    return isSmall || type instanceof LongType && SQLConf.get().ansiEnabled();
  }
}
