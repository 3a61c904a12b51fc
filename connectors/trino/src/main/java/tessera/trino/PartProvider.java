package tessera.trino;

import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ConnectorPageSource;
import io.trino.spi.connector.ConnectorPageSourceProvider;
import io.trino.spi.connector.ConnectorSession;
import io.trino.spi.connector.ConnectorSplit;
import io.trino.spi.connector.ConnectorTableCredentials;
import io.trino.spi.connector.ConnectorTableHandle;
import io.trino.spi.connector.ConnectorTransactionHandle;
import io.trino.spi.connector.DynamicFilter;
import io.trino.spi.connector.MemoryContext;
import java.util.List;
import java.util.Optional;
import tessera.scans.Server;

/** Makes readers of parts, in the workers. */
final class PartProvider implements ConnectorPageSourceProvider {
  private final Server server;

  PartProvider(Server server) {
    this.server = server;
  }

  @Override
  public ConnectorPageSource createPageSource(
      ConnectorTransactionHandle transaction,
      ConnectorSession session,
      ConnectorSplit split,
      ConnectorTableHandle table,
      Optional<ConnectorTableCredentials> credentials,
      List<ColumnHandle> columns,
      DynamicFilter filter,
      MemoryContext memory) {
    List<TesseraColumn> read = columns.stream().map(TesseraColumn.class::cast).toList();
    return Failures.told(() -> new PartPages(server, (TesseraSplit) split, read, memory));
  }
}
