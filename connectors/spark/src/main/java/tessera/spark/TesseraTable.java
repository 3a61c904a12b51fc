package tessera.spark;

import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import tessera.scans.Connection;
import tessera.scans.ScanCommand;

/** A table, a view or a materialized view that is read. */
final class TesseraTable implements Table, SupportsRead {
  private final Options options;
  private final StructType schema;

  TesseraTable(Options options, StructType schema) {
    this.options = options;
    this.schema = schema;
  }

  /** Columns of the table that the options name. */
  static StructType schema(Options options) {
    try (Connection connection = new Connection(options.server(), 0)) {
      return Types.table(connection.schema(ScanCommand.of(options.table())).getSchema().getFields());
    }
  }

  @Override
  public String name() {
    return options.toString();
  }

  /** Columns with metadata, which Spark makes of this. */
  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(TableCapability.BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap ignored) {
    return new TesseraScanBuilder(options, schema);
  }
}
