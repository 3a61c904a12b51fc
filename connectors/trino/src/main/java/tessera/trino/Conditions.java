package tessera.trino;

import static io.trino.spi.expression.StandardFunctions.AND_FUNCTION_NAME;
import static io.trino.spi.expression.StandardFunctions.ARRAY_CONSTRUCTOR_FUNCTION_NAME;
import static io.trino.spi.expression.StandardFunctions.EQUAL_OPERATOR_FUNCTION_NAME;
import static io.trino.spi.expression.StandardFunctions.GREATER_THAN_OPERATOR_FUNCTION_NAME;
import static io.trino.spi.expression.StandardFunctions.GREATER_THAN_OR_EQUAL_OPERATOR_FUNCTION_NAME;
import static io.trino.spi.expression.StandardFunctions.IDENTICAL_OPERATOR_FUNCTION_NAME;
import static io.trino.spi.expression.StandardFunctions.IN_PREDICATE_FUNCTION_NAME;
import static io.trino.spi.expression.StandardFunctions.IS_NULL_FUNCTION_NAME;
import static io.trino.spi.expression.StandardFunctions.LESS_THAN_OPERATOR_FUNCTION_NAME;
import static io.trino.spi.expression.StandardFunctions.LESS_THAN_OR_EQUAL_OPERATOR_FUNCTION_NAME;
import static io.trino.spi.expression.StandardFunctions.LIKE_FUNCTION_NAME;
import static io.trino.spi.expression.StandardFunctions.NOT_EQUAL_OPERATOR_FUNCTION_NAME;
import static io.trino.spi.expression.StandardFunctions.NOT_FUNCTION_NAME;
import static io.trino.spi.expression.StandardFunctions.OR_FUNCTION_NAME;

import io.airlift.slice.Slice;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.expression.Call;
import io.trino.spi.expression.ConnectorExpression;
import io.trino.spi.expression.Constant;
import io.trino.spi.expression.FunctionName;
import io.trino.spi.expression.Variable;
import io.trino.spi.type.VarcharType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Conditions of Trino as conditions of SQL with the same answer for each row.
 *
 * <p>What the two compare differently stays with Trino: floats, for NaN; types that are sent as
 * text; CHAR, whose blanks count in Trino alone. Texts are compared byte by byte, whatever the
 * collation of the column is. Domains of columns are those of {@link Domains}.
 */
final class Conditions {
  private static final Map<FunctionName, String> OPERATORS =
      Map.of(
          EQUAL_OPERATOR_FUNCTION_NAME, "=",
          NOT_EQUAL_OPERATOR_FUNCTION_NAME, "<>",
          IDENTICAL_OPERATOR_FUNCTION_NAME, "IS NOT DISTINCT FROM",
          LESS_THAN_OPERATOR_FUNCTION_NAME, "<",
          LESS_THAN_OR_EQUAL_OPERATOR_FUNCTION_NAME, "<=",
          GREATER_THAN_OPERATOR_FUNCTION_NAME, ">",
          GREATER_THAN_OR_EQUAL_OPERATOR_FUNCTION_NAME, ">=");

  private final Map<String, ColumnHandle> variables;

  Conditions(Map<String, ColumnHandle> variables) {
    this.variables = variables;
  }

  /** The parts of an AND. */
  static List<ConnectorExpression> conjuncts(ConnectorExpression expression) {
    if (expression.equals(Constant.TRUE)) {
      return List.of();
    }
    if (expression instanceof Call call && call.getFunctionName().equals(AND_FUNCTION_NAME)) {
      return call.getArguments().stream().flatMap(argument -> conjuncts(argument).stream()).toList();
    }
    return List.of(expression);
  }

  /** The condition; nothing when Trino has to test it. */
  Optional<String> of(ConnectorExpression expression) {
    if (!(expression instanceof Call call)) {
      return Optional.empty();
    }
    FunctionName name = call.getFunctionName();
    List<ConnectorExpression> arguments = call.getArguments();
    if (name.equals(AND_FUNCTION_NAME) || name.equals(OR_FUNCTION_NAME)) {
      return all(arguments).map(all -> "(" + String.join(name.equals(OR_FUNCTION_NAME) ? " OR " : " AND ", all) + ")");
    } else if (name.equals(NOT_FUNCTION_NAME)) {
      return of(arguments.get(0)).map(condition -> "(NOT " + condition + ")");
    } else if (name.equals(IS_NULL_FUNCTION_NAME)) {
      return column(arguments.get(0)).map(column -> "(" + quoted(column.name()) + " IS NULL)");
    } else if (name.equals(LIKE_FUNCTION_NAME)) {
      return like(arguments);
    } else if (name.equals(IN_PREDICATE_FUNCTION_NAME)) {
      return in(arguments);
    }
    return Optional.ofNullable(OPERATORS.get(name)).flatMap(operator -> compared(operator, arguments));
  }

  private Optional<List<String>> all(List<ConnectorExpression> expressions) {
    List<String> all = new ArrayList<>();
    for (ConnectorExpression expression : expressions) {
      Optional<String> condition = of(expression);
      if (condition.isEmpty()) {
        return Optional.empty();
      }
      all.add(condition.get());
    }
    return Optional.of(all);
  }

  private Optional<TesseraColumn> column(ConnectorExpression expression) {
    return expression instanceof Variable variable
        ? Optional.ofNullable((TesseraColumn) variables.get(variable.getName()))
        : Optional.empty();
  }

  private Optional<TesseraColumn> comparable(ConnectorExpression expression) {
    return column(expression).filter(Values::isComparable);
  }

  private Optional<String> compared(String operator, List<ConnectorExpression> arguments) {
    Optional<String> left = operand(arguments.get(0), arguments.get(1), operator);
    Optional<String> right = operand(arguments.get(1), arguments.get(0), operator);
    return left.isPresent() && right.isPresent()
        ? Optional.of("(" + left.get() + " " + operator + " " + right.get() + ")")
        : Optional.empty();
  }

  /** A column, or a value that is compared with one of the same type. */
  private Optional<String> operand(ConnectorExpression expression, ConnectorExpression other, String operator) {
    if (expression instanceof Constant constant) {
      return comparable(other).flatMap(column -> value(constant, column));
    }
    Optional<TesseraColumn> beside = column(other);
    return comparable(expression)
        .filter(column -> beside.isEmpty() || beside.get().type().equals(column.type()))
        .map(column -> operator.equals("=") || operator.equals("<>") ? quoted(column.name()) : ordered(column));
  }

  private static Optional<String> value(Constant constant, TesseraColumn column) {
    boolean fits =
        constant.getType().equals(column.type())
            || constant.getType() instanceof VarcharType && column.type() instanceof VarcharType;
    return fits && constant.getValue() != null ? Values.of(column.type(), constant.getValue()) : Optional.empty();
  }

  private Optional<String> in(List<ConnectorExpression> arguments) {
    Optional<TesseraColumn> column = comparable(arguments.get(0));
    if (column.isEmpty()
        || !(arguments.get(1) instanceof Call array)
        || !array.getFunctionName().equals(ARRAY_CONSTRUCTOR_FUNCTION_NAME)) {
      return Optional.empty();
    }
    List<String> values = new ArrayList<>();
    for (ConnectorExpression element : array.getArguments()) {
      Optional<String> value = element instanceof Constant constant ? value(constant, column.get()) : Optional.empty();
      if (value.isEmpty()) {
        return Optional.empty();
      }
      values.add(value.get());
    }
    return Optional.of("(" + quoted(column.get().name()) + " IN (" + String.join(", ", values) + "))");
  }

  /** A LIKE without an escape character of its own. */
  private Optional<String> like(List<ConnectorExpression> arguments) {
    Optional<TesseraColumn> column =
        comparable(arguments.get(0)).filter(found -> found.type() instanceof VarcharType);
    if (column.isEmpty()
        || arguments.size() != 2
        || !(arguments.get(1) instanceof Constant constant)
        || !(constant.getType() instanceof VarcharType)
        || !(constant.getValue() instanceof Slice pattern)) {
      return Optional.empty();
    }
    // A backslash escapes in SQL, and is a letter in Trino.
    return Values.text(pattern.toStringUtf8().replace("\\", "\\\\"))
        .map(text -> "(" + quoted(column.get().name()) + " LIKE " + text + ")");
  }

  /** The column in the order of Trino. */
  static String ordered(TesseraColumn column) {
    return column.type() instanceof VarcharType ? quoted(column.name()) + " COLLATE \"C\"" : quoted(column.name());
  }

  /** A name in quotes. */
  static String quoted(String name) {
    return "\"" + name.replace("\"", "\"\"") + "\"";
  }

  /** An AND of what is left. */
  static ConnectorExpression and(List<ConnectorExpression> expressions) {
    return switch (expressions.size()) {
      case 0 -> Constant.TRUE;
      case 1 -> expressions.get(0);
      default -> new Call(expressions.get(0).getType(), AND_FUNCTION_NAME, expressions);
    };
  }
}
