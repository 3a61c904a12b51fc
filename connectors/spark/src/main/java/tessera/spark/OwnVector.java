package tessera.spark;

import org.apache.arrow.vector.FieldVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** A column over a vector of Arrow: what its type does not have is not asked for. */
abstract class OwnVector extends ColumnVector {
  private final FieldVector nulls;

  OwnVector(DataType type, FieldVector nulls) {
    super(type);
    this.nulls = nulls;
  }

  private UnsupportedOperationException none() {
    return new UnsupportedOperationException("of a column of " + dataType());
  }

  @Override
  public void close() {}

  @Override
  public boolean hasNull() {
    return nulls.getNullCount() > 0;
  }

  @Override
  public int numNulls() {
    return nulls.getNullCount();
  }

  @Override
  public boolean isNullAt(int row) {
    return nulls.isNull(row);
  }

  @Override
  public boolean getBoolean(int row) {
    throw none();
  }

  @Override
  public byte getByte(int row) {
    throw none();
  }

  @Override
  public short getShort(int row) {
    throw none();
  }

  @Override
  public int getInt(int row) {
    throw none();
  }

  @Override
  public long getLong(int row) {
    throw none();
  }

  @Override
  public float getFloat(int row) {
    throw none();
  }

  @Override
  public double getDouble(int row) {
    throw none();
  }

  @Override
  public ColumnarArray getArray(int row) {
    throw none();
  }

  @Override
  public ColumnarMap getMap(int row) {
    throw none();
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    throw none();
  }

  @Override
  public UTF8String getUTF8String(int row) {
    throw none();
  }

  @Override
  public byte[] getBinary(int row) {
    throw none();
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    throw none();
  }
}
