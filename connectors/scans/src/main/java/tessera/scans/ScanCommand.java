package tessera.scans;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * A scan as the server reads it: an object of JSON (docs/flight.md).
 *
 * @param table names of the table
 * @param columns columns of the rows; none with groups or aggregates
 * @param where a condition of SQL, or null
 * @param group columns in which rows of a group are equal
 * @param aggregates values of each group; without groups and these, rows
 * @param limit rows at most; -1 for all
 * @param parts parts at most
 */
public record ScanCommand(
    List<String> table,
    List<String> columns,
    String where,
    List<String> group,
    List<AggregateOf> aggregates,
    int limit,
    int parts)
    implements Serializable {

  /**
   * A value of all rows of a part or a group.
   *
   * @param function count, sum, min, max
   * @param column its column; null to count rows
   * @param type type of SQL of the result; null for that of the function
   */
  public record AggregateOf(String function, String column, String type) implements Serializable {
    String json() {
      return "{\"function\": " + text(function) + ", \"column\": " + text(column) + ", \"type\": " + text(type) + "}";
    }
  }

  /** All columns of a table. */
  public static ScanCommand of(List<String> table) {
    return new ScanCommand(table, List.of(), null, List.of(), List.of(), -1, 1);
  }

  /** The object, whose parts may be read again until the snapshot is let go. */
  public String json() {
    StringBuilder json = new StringBuilder("{\"hold\": true, \"table\": ").append(texts(table));
    json.append(", \"parts\": ").append(parts);
    if (!columns.isEmpty()) {
      json.append(", \"columns\": ").append(texts(columns));
    }
    if (where != null) {
      json.append(", \"where\": ").append(text(where));
    }
    if (!group.isEmpty()) {
      json.append(", \"group\": ").append(texts(group));
    }
    if (!aggregates.isEmpty()) {
      json.append(", \"aggregates\": [");
      json.append(String.join(", ", aggregates.stream().map(AggregateOf::json).toList())).append("]");
    }
    if (limit >= 0) {
      json.append(", \"limit\": ").append(limit);
    }
    return json.append("}").toString();
  }

  /** Bytes of the command. */
  byte[] bytes() {
    return json().getBytes(StandardCharsets.UTF_8);
  }

  private static String texts(List<String> list) {
    return "[" + String.join(", ", list.stream().map(ScanCommand::text).toList()) + "]";
  }

  private static String text(String text) {
    if (text == null) {
      return "null";
    }
    StringBuilder json = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        json.append('\\').append(c);
      } else if (c < ' ') {
        json.append(String.format("\\u%04x", (int) c));
      } else {
        json.append(c);
      }
    }
    return json.append('"').toString();
  }
}
