package tessera.spark;

import java.io.Serializable;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import tessera.scans.Server;

/**
 * Options of a table, as {@code OPTIONS (...)} has them.
 *
 * @param server where it is, and who asks
 * @param table its name, or the names of its schema and itself
 * @param parts partitions at most; 0 for as many as Spark runs tasks by default
 */
record Options(Server server, List<String> table, int parts) implements Serializable {

  private static final List<String> KNOWN =
      List.of("address", "table", "schema", "user", "password", "database", "tls", "certificates", "parts");

  /** Reads options; a wrong one is named. */
  static Options of(Map<String, String> properties) {
    CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(properties);
    for (String key : given.keySet()) {
      if (!KNOWN.contains(key.toLowerCase(Locale.ROOT)) && !key.equalsIgnoreCase("path")) {
        throw new IllegalArgumentException("a table of tessera has no option \"" + key + "\"; there are " + KNOWN);
      }
    }
    String table = required(given, "table");
    String schema = given.get("schema");
    Server server =
        new Server(
            Server.addresses(required(given, "address")),
            given.get("user"),
            given.get("password"),
            given.get("database"),
            given.getBoolean("tls", given.containsKey("certificates")),
            given.get("certificates"));
    return new Options(server, schema == null ? List.of(table) : List.of(schema, table), given.getInt("parts", 0));
  }

  private static String required(CaseInsensitiveStringMap given, String key) {
    String value = given.get(key);
    if (value == null || value.isBlank()) {
      throw new IllegalArgumentException("a table of tessera needs the option \"" + key + "\"");
    }
    return value;
  }

  /** The name of the table, for messages. */
  String name() {
    return String.join(".", table);
  }

  /** Without the password. */
  @Override
  public String toString() {
    return name() + " at " + server;
  }
}
