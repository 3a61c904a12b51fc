package tessera.trino;

import io.trino.spi.NodeManager;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ConnectorSession;
import io.trino.spi.connector.ConnectorSplit;
import io.trino.spi.connector.ConnectorSplitManager;
import io.trino.spi.connector.ConnectorSplitSource;
import io.trino.spi.connector.ConnectorTableHandle;
import io.trino.spi.connector.ConnectorTransactionHandle;
import io.trino.spi.connector.Constraint;
import io.trino.spi.connector.FixedSplitSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.arrow.flight.FlightEndpoint;
import tessera.scans.HeldSnapshot;
import tessera.scans.ScanCommand;

/** Scans of one snapshot in parts; the snapshot is held as long as Trino's transaction. */
final class Splits implements ConnectorSplitManager {
  private final Settings settings;
  private final NodeManager nodes;
  private final Map<ConnectorTransactionHandle, List<HeldSnapshot>> held = new ConcurrentHashMap<>();

  Splits(Settings settings, NodeManager nodes) {
    this.settings = settings;
    this.nodes = nodes;
  }

  @Override
  public ConnectorSplitSource getSplits(
      ConnectorTransactionHandle transaction,
      ConnectorSession session,
      ConnectorTableHandle handle,
      Set<ColumnHandle> columns,
      Constraint constraint) {
    TesseraTable table = (TesseraTable) handle;
    if (table.groups().isPresent()) {
      return new FixedSplitSource(new TesseraSplit(new byte[0], Optional.of(table.query()), 0));
    }
    ScanCommand command =
        new ScanCommand(
            table.path(), table.names(), table.where(), List.of(), List.of(), table.limit().orElse(-1), parts());
    HeldSnapshot snapshot = Failures.told(() -> HeldSnapshot.begin(settings.server(), command));
    held.computeIfAbsent(transaction, key -> new ArrayList<>()).add(snapshot);
    List<ConnectorSplit> splits = new ArrayList<>();
    for (FlightEndpoint endpoint : snapshot.info().getEndpoints()) {
      splits.add(new TesseraSplit(endpoint.getTicket().getBytes(), Optional.empty(), splits.size()));
    }
    return new FixedSplitSource(splits);
  }

  private int parts() {
    if (settings.parts() > 0) {
      return settings.parts();
    }
    return Math.max(1, nodes.getWorkerNodes().size()) * Runtime.getRuntime().availableProcessors();
  }

  /** Lets go of the snapshots of a transaction. */
  void end(ConnectorTransactionHandle transaction) {
    List<HeldSnapshot> snapshots = held.remove(transaction);
    if (snapshots != null) {
      snapshots.forEach(HeldSnapshot::end);
    }
  }

  /** Lets go of all snapshots. */
  void endAll() {
    held.keySet().forEach(this::end);
  }
}
