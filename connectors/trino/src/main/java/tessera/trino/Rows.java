package tessera.trino;

import java.util.function.Function;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.vector.VectorSchemaRoot;
import tessera.scans.Connection;
import tessera.scans.Server;
import tessera.scans.TesseraException;

/** Rows of a part or a query, and the connection that they come by. */
final class Rows implements AutoCloseable {
  private final Connection connection;
  private final FlightStream stream;

  /** Asks the node {@code number} for rows. */
  Rows(Server server, int number, Function<Connection, FlightStream> asked) {
    connection = new Connection(server, number);
    try {
      stream = asked.apply(connection);
    } catch (RuntimeException e) {
      connection.close();
      throw e;
    }
  }

  /** The columns; once there was a batch, its rows. */
  VectorSchemaRoot root() {
    return connection.told(stream::getRoot);
  }

  /** Waits for the next batch; false after the last. */
  boolean next() {
    return connection.told(stream::next);
  }

  /** Memory that is in use. */
  long bytes() {
    return connection.allocator().getAllocatedMemory();
  }

  @Override
  public void close() {
    try {
      stream.close();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new TesseraException("a stream does not end: " + e);
    } finally {
      connection.close();
    }
  }
}
