package tessera.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Tables of Tessera as a data source.
 *
 * <pre>
 * CREATE TEMPORARY VIEW orders USING tessera
 *   OPTIONS (address 'localhost:5470', table 'orders', user 'tessera', password '...')
 * </pre>
 */
public final class TesseraSource implements TableProvider, DataSourceRegister {
  @Override
  public String shortName() {
    return "tessera";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return TesseraTable.schema(Options.of(options.asCaseSensitiveMap()));
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new TesseraTable(Options.of(properties), schema);
  }
}
