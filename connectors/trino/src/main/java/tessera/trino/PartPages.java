package tessera.trino;

import io.trino.spi.Page;
import io.trino.spi.block.Block;
import io.trino.spi.connector.ConnectorPageSource;
import io.trino.spi.connector.MemoryContext;
import io.trino.spi.connector.SourcePage;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.arrow.flight.Ticket;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import tessera.scans.Server;
import tessera.scans.TesseraException;

/** The rows of a part, batch by batch as the server sends them. */
final class PartPages implements ConnectorPageSource {
  private final List<TesseraColumn> columns;
  private final Rows part;
  private final MemoryContext memory;
  private long bytes;
  private long rows;
  private long nanos;
  private boolean isFinished;

  PartPages(Server server, TesseraSplit split, List<TesseraColumn> columns, MemoryContext memory) {
    this.columns = columns;
    this.memory = memory;
    Optional<String> query = split.query();
    part =
        new Rows(
            server,
            split.number(),
            connection ->
                query.isPresent() ? connection.rows(query.get()) : connection.rows(new Ticket(split.ticket())));
    try {
      check(part.root());
    } catch (RuntimeException e) {
      part.close();
      throw e;
    }
  }

  /** The columns are what the plan was made for, though the table may have been changed since. */
  private void check(VectorSchemaRoot root) {
    for (TesseraColumn column : columns) {
      FieldVector vector = root.getVector(column.name());
      if (vector == null || !Types.of(vector.getField()).equals(Optional.of(column.type()))) {
        throw new TesseraException("the columns are " + root.getSchema() + ", no longer " + columns);
      }
    }
  }

  @Override
  public SourcePage getNextSourcePage() {
    long start = System.nanoTime();
    try {
      return Failures.told(this::next);
    } finally {
      nanos += System.nanoTime() - start;
    }
  }

  private SourcePage next() {
    if (isFinished || !part.next()) {
      isFinished = true;
      return null;
    }
    VectorSchemaRoot root = part.root();
    int count = root.getRowCount();
    Block[] blocks = new Block[columns.size()];
    for (int i = 0; i < blocks.length; i++) {
      TesseraColumn column = columns.get(i);
      blocks[i] = Blocks.of(root.getVector(column.name()), column.type(), count);
    }
    Page page = new Page(count, blocks);
    memory.setBytes(part.bytes());
    rows += count;
    bytes += page.getSizeInBytes();
    return SourcePage.create(page);
  }

  @Override
  public long getCompletedBytes() {
    return bytes;
  }

  @Override
  public OptionalLong getCompletedPositions() {
    return OptionalLong.of(rows);
  }

  @Override
  public long getReadTimeNanos() {
    return nanos;
  }

  @Override
  public boolean isFinished() {
    return isFinished;
  }

  @Override
  public void close() {
    part.close();
    memory.setBytes(0);
  }
}
