package tessera.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.IntervalUnit;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import tessera.scans.TesseraException;

/** Types of Arrow, as the server sends them, as types of Spark. */
final class Types {
  /** Key of the name of SQL's type, in the metadata of fields of Arrow and of Spark. */
  static final String SQL_TYPE = "ARROW:FLIGHT:SQL:TYPE_NAME";

  private Types() {}

  /** Columns of a table; each has the name of its type of SQL in its metadata. */
  static StructType table(List<Field> fields) {
    List<StructField> columns = new ArrayList<>();
    for (Field field : fields) {
      String name = field.getMetadata().get(SQL_TYPE);
      MetadataBuilder metadata = new MetadataBuilder();
      Metadata known = name == null ? Metadata.empty() : metadata.putString(SQL_TYPE, name).build();
      columns.add(new StructField(field.getName(), of(field), true, known));
    }
    return new StructType(columns.toArray(StructField[]::new));
  }

  /** The name of a column's type of SQL, without its digits; nothing when it is not known. */
  static String sqlName(StructField field) {
    if (!field.metadata().contains(SQL_TYPE)) {
      return "";
    }
    String name = field.metadata().getString(SQL_TYPE);
    int digits = name.indexOf('(');
    return digits < 0 ? name : name.substring(0, digits);
  }

  /** The type of a field. */
  static DataType of(Field field) {
    ArrowType type = field.getType();
    if (type instanceof ArrowType.Bool) {
      return DataTypes.BooleanType;
    } else if (type instanceof ArrowType.Int number && number.getIsSigned()) {
      switch (number.getBitWidth()) {
        case 8:
          return DataTypes.ByteType;
        case 16:
          return DataTypes.ShortType;
        case 32:
          return DataTypes.IntegerType;
        default:
          return DataTypes.LongType;
      }
    } else if (type instanceof ArrowType.FloatingPoint number) {
      if (number.getPrecision() == FloatingPointPrecision.SINGLE) {
        return DataTypes.FloatType;
      } else if (number.getPrecision() == FloatingPointPrecision.DOUBLE) {
        return DataTypes.DoubleType;
      }
    } else if (type instanceof ArrowType.Decimal number && number.getBitWidth() == 128) {
      return DataTypes.createDecimalType(number.getPrecision(), number.getScale());
    } else if (type instanceof ArrowType.Utf8) {
      return DataTypes.StringType;
    } else if (type instanceof ArrowType.Binary) {
      return DataTypes.BinaryType;
    } else if (type instanceof ArrowType.Date date && date.getUnit() == DateUnit.DAY) {
      return DataTypes.DateType;
    } else if (isTime(type)) {
      // Spark has no type for it: the text of SQL.
      return DataTypes.StringType;
    } else if (type instanceof ArrowType.Timestamp time && time.getUnit() == TimeUnit.MICROSECOND) {
      return time.getTimezone() == null ? DataTypes.TimestampNTZType : DataTypes.TimestampType;
    } else if (isInterval(type)) {
      return DataTypes.CalendarIntervalType;
    } else if (type instanceof ArrowType.List) {
      return DataTypes.createArrayType(of(field.getChildren().get(0)), true);
    } else if (type instanceof ArrowType.Struct) {
      List<StructField> fields = new ArrayList<>();
      for (Field child : field.getChildren()) {
        fields.add(DataTypes.createStructField(child.getName(), of(child), true));
      }
      return DataTypes.createStructType(fields);
    }
    throw new TesseraException("column \"" + field.getName() + "\": Spark has no type for Arrow's " + type);
  }

  /** True for TIME. */
  static boolean isTime(ArrowType type) {
    return type instanceof ArrowType.Time time && time.getUnit() == TimeUnit.MICROSECOND;
  }

  /** True for INTERVAL. */
  static boolean isInterval(ArrowType type) {
    return type instanceof ArrowType.Interval interval && interval.getUnit() == IntervalUnit.MONTH_DAY_NANO;
  }
}
