package tessera.spark;

import java.io.IOException;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.flight.Ticket;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import tessera.scans.Connection;
import tessera.scans.TesseraException;

/** The rows of a part, batch by batch as the server sends them. */
final class PartReader implements PartitionReader<ColumnarBatch> {
  private final StructType schema;
  private final Connection connection;
  private final FlightStream stream;

  PartReader(Options options, StructType schema, TesseraScan.Part part) {
    this.schema = schema;
    connection = new Connection(options.server(), part.number());
    FlightStream opened = null;
    try {
      opened = connection.rows(new Ticket(part.ticket()));
      check(opened);
    } catch (RuntimeException e) {
      try {
        close(opened, connection);
      } catch (IOException | RuntimeException more) {
        e.addSuppressed(more);
      }
      throw e;
    }
    stream = opened;
  }

  /** The columns are what the plan was made for, though the table may have been changed since. */
  private void check(FlightStream opened) {
    VectorSchemaRoot root = connection.told(opened::getRoot);
    boolean isSame = schema.isEmpty() || root.getFieldVectors().size() == schema.length();
    for (int i = 0; isSame && i < schema.length(); i++) {
      StructField field = schema.apply(i);
      isSame = Types.of(root.getVector(i).getField()).equals(field.dataType());
    }
    if (!isSame) {
      throw new TesseraException("the columns are " + root.getSchema() + ", no longer " + schema.simpleString());
    }
  }

  @Override
  public boolean next() {
    return connection.told(stream::next);
  }

  @Override
  public ColumnarBatch get() {
    VectorSchemaRoot root = stream.getRoot();
    ColumnVector[] vectors = new ColumnVector[schema.length()];
    for (int i = 0; i < vectors.length; i++) {
      vectors[i] = Vectors.of(root.getVector(i));
    }
    return new ColumnarBatch(vectors, root.getRowCount());
  }

  @Override
  public void close() throws IOException {
    close(stream, connection);
  }

  private static void close(FlightStream stream, Connection connection) throws IOException {
    try {
      if (stream != null) {
        stream.close();
      }
    } catch (Exception e) {
      throw new IOException(e);
    } finally {
      connection.close();
    }
  }
}
