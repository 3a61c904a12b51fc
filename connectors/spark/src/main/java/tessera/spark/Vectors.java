package tessera.spark;

import java.time.LocalTime;
import java.time.temporal.ChronoUnit;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.IntervalMonthDayNanoVector;
import org.apache.arrow.vector.TimeMicroVector;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.types.UTF8String;

/** Vectors of Arrow as columns of Spark. Their memory is that of the stream. */
final class Vectors {
  private Vectors() {}

  /** The column of a vector. */
  static ColumnVector of(FieldVector vector) {
    if (vector instanceof TimeMicroVector times) {
      return new Times(times);
    } else if (vector instanceof IntervalMonthDayNanoVector intervals) {
      return new Intervals(intervals);
    }
    return new ArrowColumnVector(vector);
  }

  /** Times of a day as SQL writes them. */
  private static final class Times extends OwnVector {
    private final TimeMicroVector vector;

    Times(TimeMicroVector vector) {
      super(DataTypes.StringType, vector);
      this.vector = vector;
    }

    @Override
    public UTF8String getUTF8String(int row) {
      return isNullAt(row) ? null : UTF8String.fromString(written(vector.get(row)));
    }

    private static String written(long micros) {
      if (micros == 86_400_000_000L) {
        return "24:00:00";
      }
      LocalTime time = LocalTime.MIDNIGHT.plus(micros, ChronoUnit.MICROS);
      String seconds = String.format("%02d:%02d:%02d", time.getHour(), time.getMinute(), time.getSecond());
      String part = String.format(".%06d", time.getNano() / 1000).replaceFirst("\\.?0+$", "");
      return seconds + part;
    }
  }

  /** Intervals: a child for each of months, days and microseconds. */
  private static final class Intervals extends OwnVector {
    private final ColumnVector[] children;

    Intervals(IntervalMonthDayNanoVector vector) {
      super(DataTypes.CalendarIntervalType, vector);
      children = new ColumnVector[] {new Part(vector, 0), new Part(vector, 1), new Part(vector, 2)};
    }

    @Override
    public ColumnVector getChild(int ordinal) {
      return children[ordinal];
    }
  }

  /** Months, days or microseconds of intervals. */
  private static final class Part extends OwnVector {
    private final IntervalMonthDayNanoVector vector;
    private final int field;

    Part(IntervalMonthDayNanoVector vector, int field) {
      super(field == 2 ? DataTypes.LongType : DataTypes.IntegerType, vector);
      this.vector = vector;
      this.field = field;
    }

    @Override
    public int getInt(int row) {
      return field == 0
          ? IntervalMonthDayNanoVector.getMonths(vector.getDataBuffer(), row)
          : IntervalMonthDayNanoVector.getDays(vector.getDataBuffer(), row);
    }

    @Override
    public long getLong(int row) {
      return IntervalMonthDayNanoVector.getNanoseconds(vector.getDataBuffer(), row) / 1000;
    }
  }
}
