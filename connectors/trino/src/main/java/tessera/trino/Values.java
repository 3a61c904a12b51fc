package tessera.trino;

import io.airlift.slice.Slice;
import io.trino.spi.type.BigintType;
import io.trino.spi.type.BooleanType;
import io.trino.spi.type.DateType;
import io.trino.spi.type.DecimalType;
import io.trino.spi.type.DoubleType;
import io.trino.spi.type.Int128;
import io.trino.spi.type.IntegerType;
import io.trino.spi.type.LongTimestampWithTimeZone;
import io.trino.spi.type.RealType;
import io.trino.spi.type.SmallintType;
import io.trino.spi.type.TimestampType;
import io.trino.spi.type.TimestampWithTimeZoneType;
import io.trino.spi.type.Type;
import io.trino.spi.type.VarbinaryType;
import io.trino.spi.type.VarcharType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;

/** Values of Trino as those of SQL, and which of them both compare alike. */
final class Values {
  /** Types of SQL that are texts for both. */
  private static final Set<String> TEXTS = Set.of("text", "varchar", "character varying", "name");

  /** Characters of a text that is put into a condition, at most. */
  private static final int TEXT_MAX = 10_000;

  private Values() {}

  /** True when values of the column are equal, and in order, for both alike. */
  static boolean isComparable(TesseraColumn column) {
    return switch (column.type()) {
      case VarcharType ignored -> TEXTS.contains(column.sqlType());
      case BooleanType ignored -> true;
      case SmallintType ignored -> true;
      case IntegerType ignored -> true;
      case BigintType ignored -> true;
      case DecimalType ignored -> true;
      case DateType ignored -> true;
      case TimestampType ignored -> true;
      case TimestampWithTimeZoneType ignored -> true;
      case VarbinaryType ignored -> true;
      default -> false;
    };
  }

  /** True for floats, of which NaN differs: it is equal to itself, and above all others, in SQL alone. */
  static boolean isFloat(Type type) {
    return type instanceof RealType || type instanceof DoubleType;
  }

  /** A value of SQL; nothing when there is none. */
  static Optional<String> of(Type type, Object value) {
    return switch (type) {
      case BooleanType ignored -> Optional.of(value.toString());
      case SmallintType ignored -> Optional.of("'" + value + "'::smallint");
      case IntegerType ignored -> Optional.of("'" + value + "'::integer");
      case BigintType ignored -> Optional.of("'" + value + "'::bigint");
      case RealType ignored -> Optional.of("'" + Float.intBitsToFloat(((Long) value).intValue()) + "'::real");
      case DoubleType ignored -> Optional.of("'" + value + "'::double precision");
      case DecimalType decimal -> Optional.of("'" + decimal(decimal, value) + "'::numeric");
      case VarcharType ignored -> text(((Slice) value).toStringUtf8());
      case VarbinaryType ignored -> bytes(((Slice) value).getBytes());
      case DateType ignored ->
          usual(LocalDate.ofEpochDay((Long) value).atStartOfDay()).map(at -> "'" + at.toLocalDate() + "'::date");
      case TimestampType ignored -> usual(time((Long) value)).map(at -> "'" + at + "'::timestamp");
      case TimestampWithTimeZoneType ignored ->
          usual(time((LongTimestampWithTimeZone) value)).map(at -> "'" + at + "Z'::timestamptz");
      default -> Optional.empty();
    };
  }

  /** A text of SQL. */
  static Optional<String> text(String text) {
    boolean isText = text.indexOf('\0') < 0 && text.length() <= TEXT_MAX;
    return isText ? Optional.of("'" + text.replace("'", "''") + "'") : Optional.empty();
  }

  private static Optional<String> bytes(byte[] bytes) {
    String hex = HexFormat.of().formatHex(bytes);
    return bytes.length <= TEXT_MAX ? Optional.of("'\\x" + hex + "'::bytea") : Optional.empty();
  }

  private static String decimal(DecimalType type, Object value) {
    BigInteger digits = value instanceof Int128 wide ? wide.toBigInteger() : BigInteger.valueOf((Long) value);
    return new BigDecimal(digits, type.getScale()).toPlainString();
  }

  private static LocalDateTime time(long micros) {
    return LocalDateTime.ofInstant(Instant.EPOCH.plus(micros, ChronoUnit.MICROS), ZoneOffset.UTC);
  }

  private static LocalDateTime time(LongTimestampWithTimeZone at) {
    return time(at.getEpochMillis() * 1000 + at.getPicosOfMilli() / 1_000_000);
  }

  /** Times that both write alike. */
  private static Optional<LocalDateTime> usual(LocalDateTime time) {
    return time.getYear() >= 1 && time.getYear() <= 9999 ? Optional.of(time) : Optional.empty();
  }
}
