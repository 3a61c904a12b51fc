package tessera.spark;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Conditions of Spark as conditions of SQL with the same answer for each row.
 *
 * <p>What the two compare differently is not translated, and stays with Spark: types that are sent
 * as text (NUMERIC without digits, JSON, enums), CHAR, whose blanks count in Spark alone. Texts
 * are compared byte by byte, whatever the collation of the column is.
 */
final class Conditions {
  /** Types of SQL that are texts for both. */
  private static final Set<String> TEXTS = Set.of("text", "varchar", "character varying", "name");

  /** Characters of a text that is put into a condition, at most. */
  private static final int TEXT_MAX = 10_000;

  private final StructType table;

  Conditions(StructType table) {
    this.table = table;
  }

  /** True when values of the column are equal, and in order, for both alike. */
  static boolean isComparable(StructField field) {
    DataType type = field.dataType();
    if (type instanceof StringType) {
      return TEXTS.contains(Types.sqlName(field));
    }
    return type instanceof BooleanType
        || type instanceof ShortType
        || type instanceof IntegerType
        || type instanceof LongType
        || type instanceof FloatType
        || type instanceof DoubleType
        || type instanceof DecimalType
        || type instanceof DateType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType
        || type instanceof BinaryType;
  }

  /** The name of a column of the table; nothing for other expressions. */
  static Optional<String> column(Expression expression) {
    if (expression instanceof NamedReference reference && reference.fieldNames().length == 1) {
      return Optional.of(reference.fieldNames()[0]);
    }
    return Optional.empty();
  }

  private Optional<StructField> field(Expression expression) {
    return column(expression)
        .flatMap(name -> table.getFieldIndex(name).isDefined() ? Optional.of(table.apply(name)) : Optional.empty());
  }

  /** The condition; nothing when Spark has to test it. */
  Optional<String> of(Predicate predicate) {
    Expression[] children = predicate.children();
    switch (predicate.name()) {
      case "ALWAYS_TRUE":
        return Optional.of("true");
      case "ALWAYS_FALSE":
        return Optional.of("false");
      case "AND":
      case "OR":
        return both(children).map(both -> "(" + both.get(0) + " " + predicate.name() + " " + both.get(1) + ")");
      case "NOT":
        return nested(children[0]).map(condition -> "(NOT " + condition + ")");
      case "IS_NULL":
        return field(children[0]).map(field -> quoted(field) + " IS NULL");
      case "IS_NOT_NULL":
        return field(children[0]).map(field -> quoted(field) + " IS NOT NULL");
      case "STARTS_WITH":
        return like(children, "", "%");
      case "ENDS_WITH":
        return like(children, "%", "");
      case "CONTAINS":
        return like(children, "%", "%");
      case "IN":
        return in(children);
      case "=":
      case "<>":
      case "<=>":
      case "<":
      case "<=":
      case ">":
      case ">=":
        return compared(predicate.name(), children);
      default:
        return Optional.empty();
    }
  }

  private Optional<String> nested(Expression expression) {
    return expression instanceof Predicate predicate ? of(predicate) : Optional.empty();
  }

  private Optional<List<String>> both(Expression[] children) {
    Optional<String> left = nested(children[0]);
    Optional<String> right = nested(children[1]);
    return left.isPresent() && right.isPresent() ? Optional.of(List.of(left.get(), right.get())) : Optional.empty();
  }

  private Optional<String> compared(String operator, Expression[] children) {
    Optional<String> left = operand(children[0], children[1], operator);
    Optional<String> right = operand(children[1], children[0], operator);
    if (left.isEmpty() || right.isEmpty()) {
      return Optional.empty();
    }
    String sql = operator.equals("<=>") ? "IS NOT DISTINCT FROM" : operator;
    return Optional.of("(" + left.get() + " " + sql + " " + right.get() + ")");
  }

  /** A column, or a value that is compared with one of the same type. */
  private Optional<String> operand(Expression expression, Expression other, String operator) {
    if (expression instanceof Literal<?> literal) {
      Optional<StructField> field = field(other);
      boolean fits = field.isPresent() && field.get().dataType().getClass() == literal.dataType().getClass();
      return fits ? value(literal) : Optional.empty();
    }
    Optional<StructField> field = field(expression).filter(Conditions::isComparable);
    Optional<StructField> beside = field(other);
    if (field.isEmpty() || beside.isPresent() && !beside.get().dataType().equals(field.get().dataType())) {
      return Optional.empty();
    }
    boolean isOrder = operator.startsWith("<") && !operator.equals("<>") && !operator.equals("<=>") || operator.startsWith(">");
    boolean isText = field.get().dataType() instanceof StringType;
    return Optional.of(isText && isOrder ? quoted(field.get()) + " COLLATE \"C\"" : quoted(field.get()));
  }

  private Optional<String> in(Expression[] children) {
    Optional<StructField> field = field(children[0]).filter(Conditions::isComparable);
    List<String> values = new ArrayList<>();
    for (int i = 1; i < children.length && field.isPresent(); i++) {
      Optional<String> value = operand(children[i], children[0], "=");
      if (!(children[i] instanceof Literal) || value.isEmpty()) {
        return Optional.empty();
      }
      values.add(value.get());
    }
    return field.filter(f -> !values.isEmpty()).map(f -> quoted(f) + " IN (" + String.join(", ", values) + ")");
  }

  private Optional<String> like(Expression[] children, String before, String after) {
    Optional<StructField> field = field(children[0]).filter(Conditions::isComparable);
    if (field.isEmpty() || !(children[1] instanceof Literal<?> literal) || literal.value() == null) {
      return Optional.empty();
    }
    if (!(field.get().dataType() instanceof StringType) || !(literal.dataType() instanceof StringType)) {
      return Optional.empty();
    }
    String part = literal.value().toString().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_");
    return text(before + part + after).map(pattern -> quoted(field.get()) + " LIKE " + pattern);
  }

  private static String quoted(StructField field) {
    return Conditions.quoted(field.name());
  }

  /** A name in quotes. */
  static String quoted(String name) {
    return "\"" + name.replace("\"", "\"\"") + "\"";
  }

  private static Optional<String> text(String text) {
    boolean isText = text.indexOf('\0') < 0 && text.length() <= TEXT_MAX;
    return isText ? Optional.of("'" + text.replace("'", "''") + "'") : Optional.empty();
  }

  /** A value of SQL. */
  private static Optional<String> value(Literal<?> literal) {
    Object value = literal.value();
    DataType type = literal.dataType();
    if (value == null) {
      return Optional.empty();
    } else if (type instanceof BooleanType) {
      return Optional.of(value.toString());
    } else if (type instanceof ByteType || type instanceof ShortType) {
      return Optional.of("'" + value + "'::smallint");
    } else if (type instanceof IntegerType) {
      return Optional.of("'" + value + "'::integer");
    } else if (type instanceof LongType) {
      return Optional.of("'" + value + "'::bigint");
    } else if (type instanceof FloatType) {
      return Optional.of("'" + value + "'::real");
    } else if (type instanceof DoubleType) {
      return Optional.of("'" + value + "'::double precision");
    } else if (type instanceof DecimalType) {
      BigDecimal number = value instanceof Decimal decimal ? decimal.toJavaBigDecimal() : (BigDecimal) value;
      return Optional.of("'" + number.toPlainString() + "'::numeric");
    } else if (type instanceof StringType) {
      return text(value.toString());
    } else if (type instanceof BinaryType) {
      byte[] bytes = (byte[]) value;
      String hex = HexFormat.of().formatHex(bytes);
      return bytes.length <= TEXT_MAX ? Optional.of("'\\x" + hex + "'::bytea") : Optional.empty();
    } else if (type instanceof DateType) {
      return usual(LocalDate.ofEpochDay((Integer) value).atStartOfDay())
          .map(date -> "'" + date.toLocalDate() + "'::date");
    } else if (type instanceof TimestampType) {
      return usual(time((Long) value)).map(time -> "'" + time + "Z'::timestamptz");
    } else if (type instanceof TimestampNTZType) {
      return usual(time((Long) value)).map(time -> "'" + time + "'::timestamp");
    }
    return Optional.empty();
  }

  private static LocalDateTime time(long micros) {
    return LocalDateTime.ofInstant(Instant.EPOCH.plus(micros, ChronoUnit.MICROS), ZoneOffset.UTC);
  }

  /** Times that both write alike. */
  private static Optional<LocalDateTime> usual(LocalDateTime time) {
    return time.getYear() >= 1 && time.getYear() <= 9999 ? Optional.of(time) : Optional.empty();
  }
}
