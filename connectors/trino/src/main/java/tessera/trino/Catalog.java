package tessera.trino;

import io.trino.spi.StandardErrorCode;
import io.trino.spi.TrinoException;
import io.trino.spi.connector.SchemaTableName;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.arrow.vector.VectorSchemaRoot;
import tessera.scans.Connection;
import tessera.scans.ScanCommand;
import tessera.scans.Server;
import tessera.scans.TesseraException;

/** The server's schemas and tables. Trino's names are in small letters, whatever the server's are. */
final class Catalog {
  private static final String SCHEMAS =
      "SELECT DISTINCT lower(nspname) FROM pg_namespace"
          + " WHERE nspname NOT IN ('pg_catalog', 'information_schema') AND nspname NOT LIKE 'pg\\_%'";
  private static final String TABLES =
      "SELECT nspname, relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace"
          + " WHERE relkind IN ('r', 'v', 'm', 'f', 'p')"
          + " AND nspname NOT IN ('pg_catalog', 'information_schema') AND nspname NOT LIKE 'pg\\_%'";

  private final Server server;

  Catalog(Server server) {
    this.server = server;
  }

  List<String> schemas() {
    return rows(SCHEMAS).stream().map(row -> row.get(0)).toList();
  }

  /** Names of tables and views in the server, by those in Trino; with the names of the arguments alone. */
  Map<SchemaTableName, List<String>> tables(Optional<String> schema, Optional<String> table) {
    String query = TABLES + named("nspname", schema) + named("relname", table) + " ORDER BY 1, 2";
    Map<SchemaTableName, List<String>> tables = new LinkedHashMap<>();
    for (List<String> path : rows(query)) {
      List<String> other = tables.put(new SchemaTableName(path.get(0), path.get(1)), path);
      if (other != null && table.isPresent()) {
        String message = "in small letters, " + other + " and " + path + " are one name";
        throw new TrinoException(StandardErrorCode.NOT_SUPPORTED, message);
      }
    }
    return tables;
  }

  private static String named(String column, Optional<String> name) {
    return name.map(text -> " AND lower(" + column + ") = " + Values.text(text).orElse("NULL")).orElse("");
  }

  /** A table, if there is one. */
  Optional<TesseraTable> table(SchemaTableName name) {
    Map<SchemaTableName, List<String>> found =
        tables(Optional.of(name.getSchemaName()), Optional.of(name.getTableName()));
    return Optional.ofNullable(found.get(name)).flatMap(path -> columns(name, path));
  }

  private Optional<TesseraTable> columns(SchemaTableName name, List<String> path) {
    try (Connection connection = new Connection(server, 0)) {
      List<TesseraColumn> columns =
          Types.columns(connection.schema(ScanCommand.of(path)).getSchema().getFields());
      if (columns.isEmpty()) {
        String message = "Trino has no type for any column of " + String.join(".", path);
        throw new TrinoException(StandardErrorCode.NOT_SUPPORTED, message);
      }
      return Optional.of(TesseraTable.of(name, path, columns));
    } catch (TesseraException e) {
      if (e.code() == FlightStatusCode.NOT_FOUND) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /** Rows of a query of texts. */
  private List<List<String>> rows(String query) {
    List<List<String>> rows = new ArrayList<>();
    try (Rows answer = new Rows(server, 0, connection -> connection.rows(query))) {
      while (answer.next()) {
        VectorSchemaRoot root = answer.root();
        for (int i = 0; i < root.getRowCount(); i++) {
          int row = i;
          rows.add(root.getFieldVectors().stream().map(vector -> String.valueOf(vector.getObject(row))).toList());
        }
      }
    }
    return rows;
  }
}
