package tessera.spark;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Options of a table, as {@code OPTIONS (...)} has them.
 *
 * @param addresses hosts and ports of Arrow Flight; the first one makes scans, tasks are spread over all
 * @param table its name, or the names of its schema and itself
 * @param user who reads; null where nobody is asked
 * @param password the password of the user
 * @param database another database than the user's own; null without
 * @param tls whether connections are encrypted
 * @param certificates path of a PEM file with the certificates to be trusted; null for those of Java
 * @param parts partitions at most; 0 for as many as Spark runs tasks by default
 */
record Options(
    List<String> addresses,
    List<String> table,
    String user,
    String password,
    String database,
    boolean tls,
    String certificates,
    int parts)
    implements Serializable {

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
    return new Options(
        Arrays.stream(required(given, "address").split(",")).map(String::trim).toList(),
        schema == null ? List.of(table) : List.of(schema, table),
        given.get("user"),
        given.get("password"),
        given.get("database"),
        given.getBoolean("tls", given.containsKey("certificates")),
        given.get("certificates"),
        given.getInt("parts", 0));
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
    return name() + " at " + String.join(", ", addresses);
  }
}
