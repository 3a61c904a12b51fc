package tessera.trino;

import io.airlift.slice.Slices;
import io.trino.spi.StandardErrorCode;
import io.trino.spi.TrinoException;
import io.trino.spi.block.ArrayBlock;
import io.trino.spi.block.Block;
import io.trino.spi.block.ByteArrayBlock;
import io.trino.spi.block.Fixed12Block;
import io.trino.spi.block.Int128ArrayBlock;
import io.trino.spi.block.IntArrayBlock;
import io.trino.spi.block.LongArrayBlock;
import io.trino.spi.block.RowBlock;
import io.trino.spi.block.ShortArrayBlock;
import io.trino.spi.block.VariableWidthBlock;
import io.trino.spi.type.ArrayType;
import io.trino.spi.type.DateTimeEncoding;
import io.trino.spi.type.DecimalType;
import io.trino.spi.type.RowType;
import io.trino.spi.type.TimeZoneKey;
import io.trino.spi.type.TimestampWithTimeZoneType;
import io.trino.spi.type.Type;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DateDayVector;
import org.apache.arrow.vector.DecimalVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.FixedWidthVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.IntervalMonthDayNanoVector;
import org.apache.arrow.vector.SmallIntVector;
import org.apache.arrow.vector.TimeMicroVector;
import org.apache.arrow.vector.TimeStampVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;

/** Vectors of Arrow as blocks of Trino, which keep what they were made of. */
final class Blocks {
  private static final long DAY_MICROS = 86_400_000_000L;

  private Blocks() {}

  /** The first {@code rows} rows of a vector, whose type is {@code type}. */
  static Block of(FieldVector vector, Type type, int rows) {
    Optional<long[]> valid = valid(vector, rows);
    ArrowBuf data = vector instanceof FixedWidthVector ? vector.getDataBuffer() : null;
    return switch (vector) {
      case BitVector bits -> booleans(bits, valid, rows);
      case SmallIntVector ignored -> shorts(data, valid, rows);
      case IntVector ignored -> ints(data, valid, rows);
      case DateDayVector ignored -> ints(data, valid, rows);
      // Trino keeps floats as the integers with their bits.
      case Float4Vector ignored -> ints(data, valid, rows);
      case BigIntVector ignored -> longs(data, valid, rows);
      case Float8Vector ignored -> longs(data, valid, rows);
      case DecimalVector ignored -> decimals(data, valid, new Decimals(rows, ((DecimalType) type).isShort()));
      case TimeMicroVector times -> times(times, valid, rows);
      case TimeStampVector ignored when type instanceof TimestampWithTimeZoneType -> instants(data, valid, rows);
      case TimeStampVector ignored -> longs(data, valid, rows);
      case IntervalMonthDayNanoVector intervals -> intervals(intervals, valid, rows);
      case BaseVariableWidthVector texts -> texts(texts, valid, rows);
      case ListVector lists -> lists(lists, (ArrayType) type, rows);
      case StructVector structs -> structs(structs, (RowType) type, rows);
      default -> throw new TrinoException(StandardErrorCode.NOT_SUPPORTED, "no block for " + vector.getField());
    };
  }

  /** A set bit for each row with a value; nothing when all have one. */
  private static Optional<long[]> valid(FieldVector vector, int rows) {
    if (vector.getNullCount() == 0) {
      return Optional.empty();
    }
    long[] words = new long[(rows + 63) / 64];
    for (int i = 0; i < rows; i++) {
      if (!vector.isNull(i)) {
        words[i >> 6] |= 1L << (i & 63);
      }
    }
    return Optional.of(words);
  }

  private static boolean isNull(Optional<long[]> valid, int row) {
    return valid.isPresent() && (valid.get()[row >> 6] >> (row & 63) & 1) == 0;
  }

  private static Block booleans(BitVector bits, Optional<long[]> valid, int rows) {
    byte[] values = new byte[rows];
    for (int i = 0; i < rows; i++) {
      values[i] = (byte) (isNull(valid, i) ? 0 : bits.get(i));
    }
    return new ByteArrayBlock(rows, valid, values);
  }

  private static Block shorts(ArrowBuf data, Optional<long[]> valid, int rows) {
    short[] values = new short[rows];
    for (int i = 0; i < rows; i++) {
      values[i] = data.getShort((long) i * Short.BYTES);
    }
    return new ShortArrayBlock(rows, valid, values);
  }

  private static Block ints(ArrowBuf data, Optional<long[]> valid, int rows) {
    int[] values = new int[rows];
    for (int i = 0; i < rows; i++) {
      values[i] = data.getInt((long) i * Integer.BYTES);
    }
    return new IntArrayBlock(rows, valid, values);
  }

  private static Block longs(ArrowBuf data, Optional<long[]> valid, int rows) {
    long[] values = new long[rows];
    for (int i = 0; i < rows; i++) {
      values[i] = data.getLong((long) i * Long.BYTES);
    }
    return new LongArrayBlock(rows, valid, values);
  }

  /** How many decimals, and whether Trino keeps them in 64 bits. */
  private record Decimals(int rows, boolean isShort) {}

  private static Block decimals(ArrowBuf data, Optional<long[]> valid, Decimals shape) {
    int rows = shape.rows();
    long[] values = new long[shape.isShort() ? rows : 2 * rows];
    for (int i = 0; i < rows; i++) {
      long low = data.getLong(16L * i);
      if (shape.isShort()) {
        values[i] = low;
      } else {
        values[2 * i] = data.getLong(16L * i + 8);
        values[2 * i + 1] = low;
      }
    }
    return shape.isShort() ? new LongArrayBlock(rows, valid, values) : new Int128ArrayBlock(rows, valid, values);
  }

  private static Block times(TimeMicroVector times, Optional<long[]> valid, int rows) {
    long[] values = new long[rows];
    for (int i = 0; i < rows; i++) {
      long micros = isNull(valid, i) ? 0 : times.get(i);
      if (micros >= DAY_MICROS) {
        String message = "column \"" + times.getName() + "\": Trino has no time 24:00:00";
        throw new TrinoException(StandardErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, message);
      }
      values[i] = micros * 1_000_000;
    }
    return new LongArrayBlock(rows, valid, values);
  }

  private static Block instants(ArrowBuf data, Optional<long[]> valid, int rows) {
    int[] values = new int[3 * rows];
    for (int i = 0; i < rows; i++) {
      long micros = isNull(valid, i) ? 0 : data.getLong((long) i * Long.BYTES);
      long millis = DateTimeEncoding.packDateTimeWithZone(Math.floorDiv(micros, 1000L), TimeZoneKey.UTC_KEY);
      Fixed12Block.encodeFixed12(millis, (int) Math.floorMod(micros, 1000L) * 1_000_000, values, i);
    }
    return new Fixed12Block(rows, valid, values);
  }

  private static Block texts(BaseVariableWidthVector texts, Optional<long[]> valid, int rows) {
    int[] offsets = new int[rows + 1];
    ArrowBuf ends = texts.getOffsetBuffer();
    int first = rows == 0 ? 0 : ends.getInt(0);
    for (int i = 0; i < rows; i++) {
      offsets[i + 1] = ends.getInt((i + 1L) * Integer.BYTES) - first;
    }
    byte[] bytes = new byte[offsets[rows]];
    texts.getDataBuffer().getBytes(first, bytes);
    return new VariableWidthBlock(rows, Slices.wrappedBuffer(bytes), offsets, valid);
  }

  private static Block intervals(IntervalMonthDayNanoVector intervals, Optional<long[]> valid, int rows) {
    int[] offsets = new int[rows + 1];
    StringBuilder all = new StringBuilder();
    for (int i = 0; i < rows; i++) {
      if (!isNull(valid, i)) {
        ArrowBuf data = intervals.getDataBuffer();
        Intervals.write(
            IntervalMonthDayNanoVector.getMonths(data, i),
            IntervalMonthDayNanoVector.getDays(data, i),
            IntervalMonthDayNanoVector.getNanoseconds(data, i) / 1000,
            all);
      }
      // All of it is ASCII.
      offsets[i + 1] = all.length();
    }
    byte[] bytes = all.toString().getBytes(StandardCharsets.US_ASCII);
    return new VariableWidthBlock(rows, Slices.wrappedBuffer(bytes), offsets, valid);
  }

  private static Block lists(ListVector lists, ArrayType type, int rows) {
    Type element = type.getElementType();
    int[] offsets = new int[rows + 1];
    ArrowBuf ends = lists.getOffsetBuffer();
    for (int i = 0; i < rows; i++) {
      offsets[i + 1] = ends.getInt((i + 1L) * Integer.BYTES);
    }
    Block elements = of(lists.getDataVector(), element, offsets[rows]);
    return ArrayBlock.fromElementBlock(rows, valid(lists, rows), offsets, elements);
  }

  private static Block structs(StructVector structs, RowType type, int rows) {
    Block[] fields = new Block[type.getFieldTypes().size()];
    for (int i = 0; i < fields.length; i++) {
      fields[i] = of((FieldVector) structs.getChildByOrdinal(i), type.getFieldTypes().get(i), rows);
    }
    return RowBlock.fromNotNullSuppressedFieldBlocks(rows, valid(structs, rows), fields);
  }
}
