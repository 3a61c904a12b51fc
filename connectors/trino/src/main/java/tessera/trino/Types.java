package tessera.trino;

import io.trino.spi.type.ArrayType;
import io.trino.spi.type.BigintType;
import io.trino.spi.type.BooleanType;
import io.trino.spi.type.DateType;
import io.trino.spi.type.DecimalType;
import io.trino.spi.type.DoubleType;
import io.trino.spi.type.IntegerType;
import io.trino.spi.type.RealType;
import io.trino.spi.type.RowType;
import io.trino.spi.type.SmallintType;
import io.trino.spi.type.TimeType;
import io.trino.spi.type.TimestampType;
import io.trino.spi.type.TimestampWithTimeZoneType;
import io.trino.spi.type.Type;
import io.trino.spi.type.VarbinaryType;
import io.trino.spi.type.VarcharType;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;

/** Types of Arrow, as the server sends them, as types of Trino. */
final class Types {
  /** Key of the name of SQL's type, in the metadata of fields of Arrow. */
  private static final String SQL_TYPE = "ARROW:FLIGHT:SQL:TYPE_NAME";

  private Types() {}

  /** Columns of a table, without those that Trino has no type for. */
  static List<TesseraColumn> columns(List<Field> fields) {
    List<TesseraColumn> columns = new ArrayList<>();
    for (Field field : fields) {
      of(field).ifPresent(type -> columns.add(new TesseraColumn(field.getName(), type, sqlName(field))));
    }
    return columns;
  }

  private static String sqlName(Field field) {
    String name = field.getMetadata().getOrDefault(SQL_TYPE, "");
    int digits = name.indexOf('(');
    return digits < 0 ? name : name.substring(0, digits);
  }

  /** The type of a field; nothing when Trino has none. */
  static Optional<Type> of(Field field) {
    return Optional.ofNullable(
        switch (field.getType()) {
          case ArrowType.Bool ignored -> BooleanType.BOOLEAN;
          case ArrowType.Int number when number.getIsSigned() -> integer(number.getBitWidth());
          case ArrowType.FloatingPoint number -> real(number.getPrecision());
          case ArrowType.Decimal number when number.getBitWidth() == 128 ->
              DecimalType.createDecimalType(number.getPrecision(), number.getScale());
          case ArrowType.Utf8 ignored -> VarcharType.VARCHAR;
          case ArrowType.Binary ignored -> VarbinaryType.VARBINARY;
          case ArrowType.Date ignored -> DateType.DATE;
          case ArrowType.Time time when time.getUnit() == TimeUnit.MICROSECOND -> TimeType.TIME_MICROS;
          case ArrowType.Timestamp time when time.getUnit() == TimeUnit.MICROSECOND ->
              time.getTimezone() == null
                  ? TimestampType.TIMESTAMP_MICROS
                  : TimestampWithTimeZoneType.TIMESTAMP_TZ_MICROS;
          // Trino's intervals have either months or time: the text of SQL.
          case ArrowType.Interval ignored -> VarcharType.VARCHAR;
          case ArrowType.List ignored -> of(field.getChildren().get(0)).map(ArrayType::new).orElse(null);
          case ArrowType.Struct ignored -> row(field.getChildren());
          default -> null;
        });
  }

  private static Type integer(int bits) {
    return switch (bits) {
      case 16 -> SmallintType.SMALLINT;
      case 32 -> IntegerType.INTEGER;
      case 64 -> BigintType.BIGINT;
      default -> null;
    };
  }

  private static Type real(FloatingPointPrecision precision) {
    return switch (precision) {
      case SINGLE -> RealType.REAL;
      case DOUBLE -> DoubleType.DOUBLE;
      default -> null;
    };
  }

  private static Type row(List<Field> children) {
    List<RowType.Field> fields = new ArrayList<>();
    for (Field child : children) {
      Optional<Type> type = of(child);
      if (type.isEmpty()) {
        return null;
      }
      fields.add(RowType.field(child.getName(), type.get()));
    }
    return fields.isEmpty() ? null : RowType.from(fields);
  }
}
