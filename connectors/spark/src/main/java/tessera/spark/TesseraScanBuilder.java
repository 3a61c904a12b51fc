package tessera.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import tessera.scans.ScanCommand;

/** What Spark lets the server do: columns, conditions, aggregates of parts, a limit. */
final class TesseraScanBuilder
    implements SupportsPushDownV2Filters,
        SupportsPushDownRequiredColumns,
        SupportsPushDownAggregates,
        SupportsPushDownLimit {
  private final Options options;
  private final StructType table;
  private final List<Predicate> pushed = new ArrayList<>();
  private final List<String> conditions = new ArrayList<>();
  private StructType required;
  private Optional<Aggregates> aggregates = Optional.empty();
  private int limit = -1;

  TesseraScanBuilder(Options options, StructType table) {
    this.options = options;
    this.table = table;
    this.required = table;
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    Conditions sql = new Conditions(table);
    List<Predicate> left = new ArrayList<>();
    for (Predicate predicate : predicates) {
      Optional<String> condition = sql.of(predicate);
      if (condition.isPresent()) {
        conditions.add(condition.get());
        pushed.add(predicate);
      } else {
        left.add(predicate);
      }
    }
    return left.toArray(Predicate[]::new);
  }

  @Override
  public Predicate[] pushedPredicates() {
    return pushed.toArray(Predicate[]::new);
  }

  @Override
  public void pruneColumns(StructType required) {
    this.required = required;
  }

  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    aggregates = Aggregates.of(table, aggregation);
    return aggregates.isPresent();
  }

  @Override
  public boolean pushLimit(int limit) {
    if (aggregates.isPresent()) {
      return false;
    }
    this.limit = limit;
    return true;
  }

  @Override
  public Scan build() {
    String where = conditions.isEmpty() ? null : String.join(" AND ", conditions);
    List<String> columns = List.of();
    List<String> group = List.of();
    List<ScanCommand.AggregateOf> values = List.of();
    if (aggregates.isPresent()) {
      group = aggregates.get().group();
      values = aggregates.get().values();
    } else {
      // Without a column, rows are counted by one of them.
      StructField[] fields = required.isEmpty() ? Arrays.copyOf(table.fields(), 1) : required.fields();
      columns = Arrays.stream(fields).map(StructField::name).toList();
    }
    int parts = options.parts() > 0 ? options.parts() : SparkContext.getOrCreate().defaultParallelism();
    ScanCommand command = new ScanCommand(options.table(), columns, where, group, values, limit, parts);
    StructType schema = aggregates.map(Aggregates::schema).orElse(required);
    return new TesseraScan(options, command, schema);
  }
}
