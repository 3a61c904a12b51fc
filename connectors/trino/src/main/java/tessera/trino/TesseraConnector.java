package tessera.trino;

import io.trino.spi.NodeManager;
import io.trino.spi.connector.Connector;
import io.trino.spi.connector.ConnectorMetadata;
import io.trino.spi.connector.ConnectorPageSourceProvider;
import io.trino.spi.connector.ConnectorSession;
import io.trino.spi.connector.ConnectorSplitManager;
import io.trino.spi.connector.ConnectorTransactionHandle;
import io.trino.spi.transaction.IsolationLevel;
import java.util.UUID;

/** A server, or the nodes of a shared database. */
final class TesseraConnector implements Connector {
  private final Splits splits;
  private final TesseraMetadata metadata;
  private final PartProvider parts;

  TesseraConnector(Settings settings, NodeManager nodes) {
    splits = new Splits(settings, nodes);
    metadata = new TesseraMetadata(settings.server());
    parts = new PartProvider(settings.server());
  }

  @Override
  public ConnectorTransactionHandle beginTransaction(IsolationLevel level, boolean readOnly, boolean autoCommit) {
    return new TesseraTransaction(UUID.randomUUID());
  }

  @Override
  public ConnectorMetadata getMetadata(ConnectorSession session, ConnectorTransactionHandle transaction) {
    return metadata;
  }

  @Override
  public ConnectorSplitManager getSplitManager() {
    return splits;
  }

  @Override
  public ConnectorPageSourceProvider getPageSourceProvider() {
    return parts;
  }

  @Override
  public void commit(ConnectorTransactionHandle transaction) {
    splits.end(transaction);
  }

  @Override
  public void rollback(ConnectorTransactionHandle transaction) {
    splits.end(transaction);
  }

  @Override
  public void shutdown() {
    splits.endAll();
  }
}
