import io.trino.jdbc.TrinoResultSet;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Scenarios of the plugin: {@code Scenarios PORT PASSWORD}, FLIGHT_PORT and TESSERA, the path of
 * the program, in the environment. What each came to is printed as "status\tscenario\twhy".
 *
 * <p>Trino's answers, by a coordinator and a worker, are compared with those of the server's own
 * SQL: on tables of one process, and on shared tables of two stores, which are read from two nodes.
 */
public final class Scenarios {
  private static final Duration START = Duration.ofMinutes(5);

  private final Connection trino;

  private Scenarios(Connection trino) {
    this.trino = trino;
  }

  /** A database: its SQL, the catalog and the schema of its tables in Trino. */
  record Place(String name, String url, String password, String catalog, String address, int rows) {
    Connection connect() throws SQLException {
      return DriverManager.getConnection(url, "tessera", password);
    }

    void execute(String... statements) throws SQLException {
      try (Connection connection = connect(); Statement statement = connection.createStatement()) {
        for (String text : statements) {
          statement.execute(text);
        }
      }
    }

    /** Rows of a query as texts, sorted. */
    List<String> answer(String query) throws SQLException {
      try (Connection connection = connect()) {
        return Scenarios.answer(connection, query);
      }
    }

    /** What makes a catalog of another name, with more properties. */
    String create(String catalog, String more) {
      String user =
          password.isEmpty() ? "" : ", \"tessera.user\" = 'tessera', \"tessera.password\" = '" + password + "'";
      return "CREATE CATALOG " + catalog + " USING tessera WITH (\"tessera.address\" = '" + address + "'" + user + more
          + ")";
    }
  }

  interface Scenario {
    void run(Place place) throws Exception;
  }

  private static List<String> answer(Connection connection, String query) throws SQLException {
    try (Statement statement = connection.createStatement(); ResultSet found = statement.executeQuery(query)) {
      int width = found.getMetaData().getColumnCount();
      List<String> rows = new ArrayList<>();
      while (found.next()) {
        List<String> row = new ArrayList<>();
        for (int i = 1; i <= width; i++) {
          Object value = found.getObject(i);
          row.add(value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value));
        }
        rows.add(String.join("|", row));
      }
      Collections.sort(rows);
      return rows;
    }
  }

  private List<String> trino(String query) throws SQLException {
    return answer(trino, query);
  }

  private void run(String statement) throws SQLException {
    try (Statement running = trino.createStatement()) {
      running.execute(statement);
    }
  }

  private static void expect(Object found, Object wanted) {
    if (!found.equals(wanted)) {
      throw new AssertionError(cut(found) + " instead of " + cut(wanted));
    }
  }

  private static String cut(Object value) {
    String text = String.valueOf(value);
    return text.length() > 600 ? text.substring(0, 600) + "..." : text;
  }

  private String plan(String query) throws SQLException {
    return String.join("\n", trino("EXPLAIN " + query));
  }

  private void expectPlan(String query, String... parts) throws SQLException {
    String plan = plan(query);
    for (String part : parts) {
      if (!plan.contains(part)) {
        throw new AssertionError(query + ": no " + part + " in " + plan);
      }
    }
  }

  private void expectNot(String query, String part) throws SQLException {
    String plan = plan(query);
    if (plan.contains(part)) {
      throw new AssertionError(query + ": " + part + " in " + plan);
    }
  }

  private void expectSame(Place place, String query) throws SQLException {
    expectSame(place, query, query);
  }

  private void expectSame(Place place, String query, String sql) throws SQLException {
    List<String> wanted = place.answer(sql);
    List<String> found = trino(query);
    if (!found.equals(wanted)) {
      throw new AssertionError(query + ": " + cut(found) + " instead of " + cut(wanted));
    }
  }

  private void rowsTable(Place place) throws SQLException {
    place.execute(
        "CREATE TABLE trino_rows (k bigint, i int, v bigint, f float8, r real, d numeric(12, 2), w numeric(30, 4),"
            + " s text, c varchar(20), day date, at timestamptz, local timestamp, b boolean, y bytea, h smallint)");
    int step = 20_000;
    for (int from = 1; from <= place.rows(); from += step) {
      place.execute(
          "INSERT INTO trino_rows SELECT k, CASE WHEN k % 11 <> 0 THEN k % 100 END, k::bigint * 1000003 % 65537,"
              + " CASE WHEN k % 97 = 0 THEN 'NaN' ELSE k / 8.0 END, k % 1000 / 4.0, (k % 5000) / 100.0, k * 1000.25,"
              + " CASE WHEN k % 13 <> 0 THEN 's' || k % 300 END, 'c' || k % 7,"
              + " date '2020-01-01' + (k % 1000)::int,"
              + " timestamptz '2020-01-01 00:00:00+00' + (k % 5000) * interval '1 hour',"
              + " timestamp '2020-01-01 00:00:00' + (k % 5000) * interval '1 hour', k % 3 = 0,"
              + " decode(lpad(to_hex(k % 1000), 4, '0'), 'hex'), k % 30"
              + " FROM generate_series(" + from + ", " + Math.min(from + step - 1, place.rows()) + ") k");
    }
  }

  private void columnsAndLimits(Place place) throws Exception {
    expectPlan("SELECT s FROM trino_rows", "columns: [s]");
    expectPlan("SELECT s FROM trino_rows LIMIT 5", "columns: [s] limit: 5");
    expect(trino("SELECT s FROM trino_rows LIMIT 5").size(), 5);
    expectSame(place, "SELECT 1 FROM trino_rows WHERE length(s) = 2");
    expect(trino("SELECT * FROM trino_rows WHERE k = 3").size(), 1);
    expectSame(place, "SELECT k, s FROM (SELECT k, s FROM trino_rows ORDER BY k LIMIT 7) x WHERE k % 2 = 1");
    try (Statement statement = trino.createStatement();
        ResultSet found = statement.executeQuery("SELECT sum(length(s)) FROM trino_rows")) {
      found.next();
      int splits = found.unwrap(TrinoResultSet.class).getStats().getTotalSplits();
      if (splits < 3) {
        throw new AssertionError(splits + " splits: the table has one part");
      }
    }
  }

  /** Conditions: those of Trino, and the same in SQL where they are others there. */
  private static final String[][] CONDITIONS = {
    {"k = 17"}, {"k > 100 AND k <= 300"}, {"NOT (i > 3)"}, {"i IS NULL"}, {"i IS NOT NULL AND k < 90"},
    {"i IN (1, 2, 99)"}, {"i NOT IN (1, 2) AND k < 40"}, {"s = 's12'"}, {"s < 's2'", "s COLLATE \"C\" < 's2'"},
    {"s LIKE 's1%'"}, {"s LIKE '%99'"}, {"s LIKE '%9%'"}, {"s LIKE 's_9'"}, {"s NOT LIKE 's%1' AND k < 100"},
    {"c = 'c3' OR h = 5"}, {"d = 12.50"}, {"d >= 40.25 AND d < 41"}, {"w = 17004.25"}, {"w > 150000000.5 OR w < 3000"},
    {"f > 4000.5 AND k < 32200", "f > 4000.5 AND f <> 'NaN' AND k < 32200"},
    {"is_nan(f)", "f = 'NaN'"}, {"f <> 3e0 AND k < 200"}, {"f = 12.5e0"}, {"r = REAL '1.25'", "r = 1.25"},
    {"r < REAL '0.75'", "r < 0.75"}, {"b"}, {"NOT b"}, {"day = date '2021-02-03'"},
    {"day BETWEEN date '2020-01-05' AND date '2020-01-07'"},
    {"at < timestamp '2020-01-02 03:00:00 UTC'", "at < timestamptz '2020-01-02 03:00:00+00'"},
    {"local = timestamp '2020-01-02 03:00:00'"}, {"y = X'0010'", "y = '\\x0010'::bytea"},
    {"i IS NOT DISTINCT FROM 5"}, {"i IS DISTINCT FROM 5 AND k < 30"}, {"v <> 7 AND k < 50"}, {"k + 1 = 30"},
    {"length(s) = 2"}, {"s IN ('s1', 'it''s', 's%')"}, {"h = 7 AND (s = 's7' OR s IS NULL)"}, {"i = h AND k < 500"},
    {"(k < 20 OR c = 'c1') AND (i = 5 OR NOT b) AND k < 2000"},
  };

  private void conditions(Place place) throws Exception {
    for (String[] condition : CONDITIONS) {
      String query = "SELECT k, i, d, s FROM trino_rows WHERE ";
      String sql = query + condition[condition.length - 1];
      if (place.answer(sql).isEmpty()) {
        throw new AssertionError("no row meets " + condition[0]);
      }
      expectSame(place, query + condition[0], sql);
    }
    expectPlan("SELECT k FROM trino_rows WHERE s LIKE '%1' AND i > 3 AND length(s) = 2",
        "(\"s\" LIKE '%1')", "((\"i\" > '3'::integer))", "length(");
    expectPlan("SELECT k FROM trino_rows WHERE d IN (1.00, 2.50)", "\"d\" IN ('1.00'::numeric, '2.50'::numeric)");
    expectPlan("SELECT k FROM trino_rows WHERE c = 'c3' OR h = 5", "OR (\"h\" = '5'::smallint)");
    // Trino tests floats again, for NaN.
    expectPlan("SELECT k FROM trino_rows WHERE f > 7e0", "\"f\" > '7.0'::double precision", "filterPredicate");
    expectNot("SELECT k FROM trino_rows WHERE k > 7", "filterPredicate");
  }

  private void aggregates(Place place) throws Exception {
    String[] queries = {
      "SELECT count(*) FROM trino_rows",
      "SELECT count(*), count(i), sum(i), sum(h), min(k), max(v), min(d), max(w) FROM trino_rows",
      "SELECT c, count(*), sum(i), max(d), sum(d) FROM trino_rows GROUP BY c",
      "SELECT i, h, count(s) FROM trino_rows WHERE k > 1000 GROUP BY i, h",
      "SELECT s, count(DISTINCT i) FROM trino_rows GROUP BY s",
      "SELECT b, sum(w) FROM trino_rows GROUP BY b HAVING count(*) > 3",
      "SELECT count(*), sum(i) FROM trino_rows WHERE k < 0",
      "SELECT max(f), min(f) FROM trino_rows WHERE k % 97 <> 0",
      "SELECT count(*) FROM (SELECT k FROM trino_rows WHERE k < 100 LIMIT 7) x",
      "SELECT DISTINCT c, b FROM trino_rows",
    };
    for (String query : queries) {
      expectSame(place, query);
    }
    expectSame(place, "SELECT sum(v) FROM trino_rows", "SELECT sum(v)::bigint FROM trino_rows");
    expectSame(place, "SELECT min(s), max(c) FROM trino_rows",
        "SELECT min(s COLLATE \"C\"), max(c COLLATE \"C\") FROM trino_rows");
    expectPlan("SELECT c, count(*), sum(v), min(day) FROM trino_rows WHERE k > 5 GROUP BY c",
        "SELECT \"c\", count(*) AS ", "sum(\"v\")::bigint AS ", "WHERE ((\"k\" > '5'::bigint)) GROUP BY \"c\"");
    expectPlan("SELECT b, sum(d), sum(w) FROM trino_rows GROUP BY b",
        "sum(\"d\")::numeric(38, 2) AS ", "sum(\"w\")::numeric(38, 4) AS ");
    // Sums of floats depend on their order.
    expectNot("SELECT sum(f) FROM trino_rows", "query:");
  }

  private void joins(Place place) throws Exception {
    place.execute("CREATE TABLE trino_names (i int, name text)",
        "INSERT INTO trino_names SELECT i, 'name ' || i FROM generate_series(0, 60) i");
    expectSame(place, "SELECT n.name, count(*), sum(r.d) FROM trino_rows r JOIN trino_names n ON r.i = n.i"
        + " WHERE r.k > 500 AND n.i < 40 GROUP BY n.name");
    expectSame(place,
        "SELECT n.i, count(r.k) FROM trino_names n LEFT JOIN trino_rows r ON r.k = n.i * 100000 GROUP BY n.i");
  }

  private void types(Place place) throws Exception {
    String columns = "a boolean, b smallint, c integer, d bigint, e real, f double precision, g numeric(10, 3),"
        + " h numeric, i text, j varchar(5), l bytea, m date, n time, o timestamp, p timestamptz, q interval,"
        + " r integer[], s text[], t uuid, u json, v numeric(38, 10)";
    place.execute("CREATE TABLE trino_types (" + columns + ")",
        "INSERT INTO trino_types VALUES (true, -1, 2147483647, -9223372036854775808, 1.5, 'Infinity', -1234567.125,"
            + " 1e40, 'it''s \"täxt\"', 'vc', '\\x00ff', '0001-01-01', '12:34:56.789', '2026-01-02 03:04:05.678901',"
            + " '2026-01-02 03:04:05.678901+02', '1 year 2 days 3.5 seconds', '{1,NULL,3}', '{a,NULL,\"b c\"}',"
            + " '0190b0a4-0000-7000-8000-000000000001', '{\"x\": 1}', -1234567890123456789012345678.0123456789)",
        "INSERT INTO trino_types VALUES (" + "NULL, ".repeat(20) + "NULL)");
    expect(trino("SELECT array_join(array_agg(data_type ORDER BY ordinal_position), ' ')"
            + " FROM information_schema.columns WHERE table_schema = current_schema AND table_name = 'trino_types'"),
        List.of("boolean smallint integer bigint real double decimal(10,3) varchar varchar varchar varbinary date"
            + " time(6) timestamp(6) timestamp(6) with time zone varchar array(integer) array(varchar) varchar varchar"
            + " decimal(38,10)"));
    List<String> found = trino("SELECT a, b, c, d, e, f, g, h, i, j, to_hex(l), cast(m AS varchar), cast(n AS varchar),"
        + " cast(o AS varchar), cast(p AS varchar), q, json_format(cast(r AS json)), json_format(cast(s AS json)), t, u,"
        + " v FROM trino_types");
    String one = "true|-1|2147483647|-9223372036854775808|1.5|Infinity|-1234567.125|1" + "0".repeat(40)
        + "|it's \"täxt\"|vc|00FF|0001-01-01|12:34:56.789000|2026-01-02 03:04:05.678901|"
        + "2026-01-02 01:04:05.678901 UTC|1 year 2 days 00:00:03.5|[1,null,3]|[\"a\",null,\"b c\"]|"
        + "0190b0a4-0000-7000-8000-000000000001|{\"x\": 1}|-1234567890123456789012345678.0123456789";
    expect(found, List.of("null|".repeat(20) + "null", one));
    // What SQL compares otherwise stays with Trino.
    expect(trino("SELECT c FROM trino_types WHERE h > '0' AND u = '{\"x\": 1}' AND t LIKE '0190%'"), List.of("2147483647"));
    expect(trino("SELECT c FROM trino_types WHERE n = time '12:34:56.789'"), List.of("2147483647"));
    place.execute("CREATE TABLE trino_intervals (i interval)",
        "INSERT INTO trino_intervals VALUES ('1 month'), ('-1 mon +2 days'), ('-1 year 1 day -2 hours'),"
            + " ('0'), ('-1 day 3 hours'), ('100 hours 0.000001 seconds'), ('13 months 1 day 1 second'), (NULL)");
    expectSame(place, "SELECT i FROM trino_intervals", "SELECT i::text FROM trino_intervals");
  }

  private void names(Place place) throws Exception {
    String schema = place.answer("SELECT current_schema").get(0);
    place.execute("CREATE TABLE \"Trino Upper\" (\"Key\" int, \"select\" text)",
        "INSERT INTO \"Trino Upper\" VALUES (1, 'a\\%_b'), (2, 'aX%_b')");
    expect(trino("SELECT \"key\", \"SELECT\" FROM \"trino upper\" WHERE \"key\" < 2"), List.of("1|a\\%_b"));
    expect(trino("SELECT \"key\" FROM \"trino upper\" WHERE \"select\" LIKE 'a\\%'"), List.of("1"));
    expect(trino("SHOW SCHEMAS LIKE '" + schema + "'"), List.of(schema));
    expect(trino("SHOW TABLES LIKE 'trino upper'"), List.of("trino upper"));
    expect(trino("SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'trino up%'"),
        List.of("trino upper"));
    place.execute("CREATE VIEW public.trino_view AS SELECT k, c FROM trino_rows WHERE k <= 3");
    expect(trino("SELECT count(*), min(c) FROM " + place.catalog() + ".public.trino_view WHERE k > 1"), List.of("2|c2"));
  }

  private void oneSnapshot(Place place) throws Exception {
    place.execute("CREATE TABLE trino_accounts (id bigint, amount bigint)");
    int count = Math.min(place.rows(), 80_000);
    for (int from = 1; from <= count; from += 20_000) {
      place.execute("INSERT INTO trino_accounts SELECT i, 100 FROM generate_series(" + from + ", " + (from + 19_999) + ") i");
    }
    String inTrino = "SELECT count(*), sum(amount) FROM trino_accounts WHERE length(cast(id AS varchar)) > 0";
    AtomicBoolean isOver = new AtomicBoolean();
    List<Exception> failures = Collections.synchronizedList(new ArrayList<>());
    Thread writer = new Thread(() -> {
      try (Connection connection = place.connect(); Statement statement = connection.createStatement()) {
        connection.setAutoCommit(false);
        for (int n = 1; !isOver.get(); n++) {
          // Rows far apart, so that they are in several parts.
          statement.execute("UPDATE trino_accounts SET amount = amount - 7 WHERE id <= " + count + " AND id % 1000 = " + n % 1000);
          statement.execute("UPDATE trino_accounts SET amount = amount + 7 WHERE id <= " + count + " AND id % 1000 = " + (n + 500) % 1000);
          statement.execute("DELETE FROM trino_accounts WHERE id = " + (count + n));
          statement.execute("INSERT INTO trino_accounts VALUES (" + (count + n + 1) + ", 0)");
          connection.commit();
        }
      } catch (SQLException e) {
        failures.add(e);
      }
    });
    writer.start();
    try {
      for (int turn = 0; turn < 5; turn++) {
        // In Trino, and in the server.
        expect(trino("SELECT sum(amount) FROM trino_accounts WHERE length(cast(id AS varchar)) > 0"),
            List.of(String.valueOf(count * 100L)));
        expect(trino("SELECT sum(amount) FROM trino_accounts"), List.of(String.valueOf(count * 100L)));
      }
    } finally {
      isOver.set(true);
      writer.join();
    }
    if (!failures.isEmpty()) {
      throw failures.get(0);
    }
    place.execute("INSERT INTO trino_accounts VALUES (0, 5)");
    expectSame(place, inTrino, "SELECT count(*), sum(amount) FROM trino_accounts");
    // Snapshots ended with their queries, so that a definition waits for nobody.
    place.execute("SET lock_timeout = '5s'; ALTER TABLE trino_accounts ADD COLUMN note text; DROP TABLE trino_accounts");
  }

  private void errors(Place place) throws Exception {
    fails(() -> trino("SELECT * FROM trino_nothing"), "trino_nothing' does not exist");
    fails(() -> run("CREATE CATALOG x USING tessera WITH (\"tessera.batch\" = '3')"), "has no property \"tessera.batch\"");
    fails(() -> run("CREATE CATALOG x USING tessera"), "needs the property \"tessera.address\"");
    run("CREATE CATALOG nobody USING tessera WITH (\"tessera.address\" = 'localhost:1')");
    fails(() -> trino("SHOW SCHEMAS FROM nobody"), "tessera at localhost:1: UNAVAILABLE");
    run("DROP CATALOG nobody");
    if (!place.password().isEmpty()) {
      run("CREATE CATALOG wrong USING tessera WITH (\"tessera.address\" = '" + place.address()
          + "', \"tessera.user\" = 'tessera', \"tessera.password\" = 'wrong')");
      fails(() -> trino("SHOW SCHEMAS FROM wrong"), "UNAUTHENTICATED: 28P01");
      run("DROP CATALOG wrong");
    }
    place.execute("CREATE TABLE trino_large (v bigint)", "INSERT INTO trino_large VALUES (9223372036854775807), (1)");
    fails(() -> trino("SELECT sum(v) FROM trino_large"), "22003");
    place.execute("CREATE TABLE trino_late (t time)", "INSERT INTO trino_late VALUES ('24:00:00')");
    fails(() -> trino("SELECT t FROM trino_late"), "Trino has no time 24:00:00");
  }

  interface Step {
    void run() throws Exception;
  }

  private static void fails(Step step, String why) throws Exception {
    try {
      step.run();
    } catch (Exception e) {
      for (Throwable cause = e; cause != null; cause = cause.getCause()) {
        if (String.valueOf(cause.getMessage()).contains(why)) {
          return;
        }
      }
      throw new AssertionError("no \"" + why + "\" in " + e, e);
    }
    throw new AssertionError("no error: " + why);
  }

  private static void scenario(Place place, String name, Scenario scenario) {
    String label = place.name() + name;
    try {
      scenario.run(place);
      System.out.println("ok\t" + label + "\t");
    } catch (Throwable e) {
      if (System.getenv("TRACE") != null) {
        e.printStackTrace();
      }
      System.out.println("FAILED\t" + label + "\t" + cut(e).replaceAll("\\s+", " "));
    }
  }

  private void all(Place place) throws SQLException {
    run(place.create(place.catalog(), ", \"tessera.parts\" = '6'"));
    trino.setCatalog(place.catalog());
    trino.setSchema(place.answer("SELECT current_schema").get(0));
    scenario(place, "rows, columns and limits", p -> {
      rowsTable(p);
      columnsAndLimits(p);
    });
    scenario(place, "conditions", this::conditions);
    scenario(place, "aggregates", this::aggregates);
    scenario(place, "joins", this::joins);
    scenario(place, "types", this::types);
    scenario(place, "names", this::names);
    scenario(place, "one snapshot beside writers", this::oneSnapshot);
    scenario(place, "errors", this::errors);
  }

  /** Waits until both nodes of Trino are there. */
  private static void await(Processes processes, Connection trino) throws Exception {
    Instant deadline = Instant.now().plus(START);
    String why = "";
    while (Instant.now().isBefore(deadline) && processes.areAlive()) {
      try {
        List<String> active = answer(trino, "SELECT count(*) FROM system.runtime.nodes WHERE state = 'active'");
        if (active.equals(List.of("2"))) {
          return;
        }
        why = "nodes: " + active;
      } catch (SQLException e) {
        why = e.getMessage();
      }
      Thread.sleep(Duration.ofMillis(500));
    }
    throw new IllegalStateException("Trino does not start; target/coordinator.log says why: " + why);
  }

  /** Runs them. */
  public static void main(String[] arguments) throws Exception {
    try (Processes processes = Processes.trino();
        Connection trino = DriverManager.getConnection("jdbc:trino://" + processes.sql() + "?timezone=UTC", "scenarios", null)) {
      await(processes, trino);
      Scenarios scenarios = new Scenarios(trino);
      String url = "jdbc:postgresql://localhost:" + arguments[0] + "/tessera";
      String flight = "localhost:" + System.getenv("FLIGHT_PORT");
      scenarios.all(new Place("", url, arguments[1], "own", flight, 200_000));
      try (Processes shared = Processes.shared(System.getenv("TESSERA"), 2, 2)) {
        String nodes = String.join(",", shared.flights());
        scenarios.all(new Place("shared: ", "jdbc:postgresql://" + shared.sql() + "/tessera", "", "shared", nodes, 40_000));
      }
    }
  }
}
