package tessera.trino;

import io.trino.spi.connector.ConnectorTableHandle;
import io.trino.spi.connector.SchemaTableName;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A table, and what of it is read.
 *
 * @param shown its name in Trino
 * @param path names of its schema and itself in the server
 * @param all its columns
 * @param columns columns that are read; nothing for all of them
 * @param conditions conditions of SQL that rows meet
 * @param limit rows at most; nothing for all of them
 * @param groups groups in the place of rows
 */
public record TesseraTable(
    SchemaTableName shown,
    List<String> path,
    List<TesseraColumn> all,
    Optional<List<TesseraColumn>> columns,
    List<String> conditions,
    Optional<Integer> limit,
    Optional<Groups> groups)
    implements ConnectorTableHandle {

  /**
   * Groups of rows, and values of each.
   *
   * @param columns columns in which rows of a group are equal
   * @param values their values
   */
  public record Groups(List<TesseraColumn> columns, List<Value> values) {}

  /**
   * A value of a group.
   *
   * @param sql an aggregate of SQL
   * @param column its name and type
   */
  public record Value(String sql, TesseraColumn column) {}

  /** All rows of a table. */
  static TesseraTable of(SchemaTableName shown, List<String> path, List<TesseraColumn> all) {
    return new TesseraTable(shown, path, all, Optional.empty(), List.of(), Optional.empty(), Optional.empty());
  }

  /** True when rows, all of them, are read: what comes on top may be the server's. */
  boolean isPlain() {
    return limit.isEmpty() && groups.isEmpty();
  }

  TesseraTable withColumns(List<TesseraColumn> columns) {
    return new TesseraTable(shown, path, all, Optional.of(columns), conditions, limit, groups);
  }

  TesseraTable withConditions(List<String> more) {
    List<String> both = new ArrayList<>(conditions);
    both.addAll(more);
    return new TesseraTable(shown, path, all, columns, both, limit, groups);
  }

  TesseraTable withLimit(int limit) {
    return new TesseraTable(shown, path, all, columns, conditions, Optional.of(limit), groups);
  }

  TesseraTable withGroups(Groups groups) {
    return new TesseraTable(shown, path, all, columns, conditions, limit, Optional.of(groups));
  }

  /** The condition of rows; null without. */
  String where() {
    return conditions.isEmpty() ? null : String.join(" AND ", conditions);
  }

  /** Names of the columns of a scan; without one, rows are counted by the first. */
  List<String> names() {
    List<TesseraColumn> read = columns.orElse(all);
    return (read.isEmpty() ? all.subList(0, 1) : read).stream().map(TesseraColumn::name).toList();
  }

  /** The query of groups. */
  String query() {
    Groups asked = groups.orElseThrow();
    List<String> names = asked.columns().stream().map(column -> Conditions.quoted(column.name())).toList();
    List<String> shown = new ArrayList<>(names);
    asked.values().forEach(value -> shown.add(value.sql() + " AS " + Conditions.quoted(value.column().name())));
    String from = String.join(".", path.stream().map(Conditions::quoted).toList());
    String where = conditions.isEmpty() ? "" : " WHERE " + where();
    String group = names.isEmpty() ? "" : " GROUP BY " + String.join(", ", names);
    return "SELECT " + String.join(", ", shown) + " FROM " + from + where + group;
  }

  /** What EXPLAIN shows. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder(String.join(".", path));
    if (groups.isPresent()) {
      return text.append(" query: ").append(query()).toString();
    }
    text.append(" columns: ").append(names());
    if (!conditions.isEmpty()) {
      text.append(" where: ").append(where());
    }
    limit.ifPresent(rows -> text.append(" limit: ").append(rows));
    return text.toString();
  }
}
