package tessera.spark;

import java.lang.ref.Cleaner;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;
import tessera.scans.HeldSnapshot;
import tessera.scans.ScanCommand;

/** A scan of one snapshot, which is that of its first use, and stays as long as its plan. */
final class TesseraScan implements Scan, Batch {
  private static final Cleaner CLEANER = Cleaner.create();

  private final Options options;
  private final ScanCommand command;
  private final StructType schema;
  private InputPartition[] partitions;

  TesseraScan(Options options, ScanCommand command, StructType schema) {
    this.options = options;
    this.command = command;
    this.schema = schema;
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public String description() {
    return "tessera " + options.name() + " " + command.json();
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public synchronized InputPartition[] planInputPartitions() {
    if (partitions == null) {
      HeldSnapshot held = HeldSnapshot.begin(options.server(), command);
      // A plan may be run again as long as it is there.
      CLEANER.register(this, held::end);
      List<InputPartition> parts = new ArrayList<>();
      for (FlightEndpoint endpoint : held.info().getEndpoints()) {
        parts.add(new Part(endpoint.getTicket().getBytes(), parts.size()));
      }
      partitions = parts.toArray(InputPartition[]::new);
    }
    return partitions;
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Readers(options, schema);
  }

  /**
   * A part of the snapshot.
   *
   * @param ticket its ticket
   * @param number its number, which also says the node that gives it
   */
  record Part(byte[] ticket, int number) implements InputPartition {}
}
