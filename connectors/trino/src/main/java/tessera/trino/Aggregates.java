package tessera.trino;

import io.trino.spi.connector.AggregateFunction;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.expression.ConnectorExpression;
import io.trino.spi.expression.Variable;
import io.trino.spi.type.BigintType;
import io.trino.spi.type.BooleanType;
import io.trino.spi.type.DecimalType;
import io.trino.spi.type.Type;
import io.trino.spi.type.VarbinaryType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Aggregates that the server does as a whole: those that come out exactly alike.
 *
 * <p>Sums of floats depend on their order, and averages have other types.
 */
final class Aggregates {
  private final Map<String, ColumnHandle> variables;

  Aggregates(Map<String, ColumnHandle> variables) {
    this.variables = variables;
  }

  /** What is asked for; nothing when Trino has to do it. */
  Optional<TesseraTable.Groups> of(List<AggregateFunction> functions, List<ColumnHandle> group) {
    List<TesseraColumn> columns = group.stream().map(TesseraColumn.class::cast).toList();
    if (!columns.stream().allMatch(Values::isComparable)) {
      return Optional.empty();
    }
    List<TesseraTable.Value> values = new ArrayList<>();
    for (AggregateFunction function : functions) {
      // No column of a table has such a name but by intent, and columns of groups are of one table.
      String name = "_aggregate_" + values.size();
      Optional<String> sql = value(function);
      if (sql.isEmpty() || columns.stream().anyMatch(column -> column.name().equals(name))) {
        return Optional.empty();
      }
      values.add(new TesseraTable.Value(sql.get(), new TesseraColumn(name, function.getOutputType(), "")));
    }
    return Optional.of(new TesseraTable.Groups(columns, values));
  }

  private Optional<String> value(AggregateFunction function) {
    if (function.isDistinct() || function.getFilter().isPresent() || !function.getSortItems().isEmpty()) {
      return Optional.empty();
    }
    String name = function.getFunctionName();
    List<ConnectorExpression> arguments = function.getArguments();
    if (name.equals("count") && arguments.isEmpty()) {
      return Optional.of("count(*)");
    }
    Optional<TesseraColumn> column = arguments.size() == 1 ? column(arguments.get(0)) : Optional.empty();
    return column.flatMap(
        found ->
            switch (name) {
              case "count" -> Optional.of("count(" + Conditions.quoted(found.name()) + ")");
              case "sum" -> sum(found, function.getOutputType());
              case "min", "max" -> extreme(name, found);
              default -> Optional.empty();
            });
  }

  private Optional<TesseraColumn> column(ConnectorExpression expression) {
    return expression instanceof Variable variable
        ? Optional.ofNullable((TesseraColumn) variables.get(variable.getName()))
        : Optional.empty();
  }

  private static Optional<String> sum(TesseraColumn column, Type result) {
    String sum = "sum(" + Conditions.quoted(column.name()) + ")";
    Type type = column.type();
    // Trino makes smaller integers BIGINT before, below the sum.
    if (type instanceof BigintType) {
      return Optional.of(sum + "::bigint");
    } else if (type instanceof DecimalType && result instanceof DecimalType wide) {
      return Optional.of(sum + digits(wide));
    }
    return Optional.empty();
  }

  private static String digits(DecimalType type) {
    return "::numeric(" + type.getPrecision() + ", " + type.getScale() + ")";
  }

  private static Optional<String> extreme(String function, TesseraColumn column) {
    Type type = column.type();
    if (!Values.isComparable(column) || type instanceof BooleanType || type instanceof VarbinaryType) {
      return Optional.empty();
    }
    String digits = type instanceof DecimalType decimal ? digits(decimal) : "";
    return Optional.of(function + "(" + Conditions.ordered(column) + ")" + digits);
  }
}
