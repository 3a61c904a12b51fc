package tessera.spark;

import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * Scenarios of the data source: {@code Scenarios PORT PASSWORD}, FLIGHT_PORT and TESSERA, the path
 * of the program, in the environment. What each came to is printed as "status\tscenario\twhy".
 *
 * <p>Spark's answers are compared with those of the server's own SQL: on tables of one process, and
 * on shared tables of two stores, which are read from two nodes.
 */
public final class Scenarios {
  private static final SparkSession SPARK =
      SparkSession.builder()
          .master("local[4]")
          .config("spark.ui.enabled", "false")
          .config("spark.sql.shuffle.partitions", "4")
          .config("spark.sql.session.timeZone", "UTC")
          .getOrCreate();

  /** A database: its SQL, and the options of its tables in Spark. */
  record Place(String name, String url, String password, String address, int rows) {
    java.sql.Connection connect() throws SQLException {
      return DriverManager.getConnection(url, "tessera", password);
    }

    void execute(String... statements) throws SQLException {
      try (java.sql.Connection connection = connect(); Statement statement = connection.createStatement()) {
        for (String text : statements) {
          statement.execute(text);
        }
      }
    }

    /** A view of Spark on a table of the same name. */
    void view(String table, String more) {
      String user = password.isEmpty() ? "" : ", user 'tessera', password '" + password + "'";
      SPARK.sql(
          "CREATE OR REPLACE TEMPORARY VIEW " + table + " USING tessera OPTIONS (address '" + address
              + "', table '" + table + "'" + user + more + ")");
    }

    /** Rows of a query as texts, sorted. */
    List<String> answer(String query) throws SQLException {
      try (java.sql.Connection connection = connect(); Statement statement = connection.createStatement()) {
        ResultSet found = statement.executeQuery(query);
        int width = found.getMetaData().getColumnCount();
        List<String> rows = new ArrayList<>();
        while (found.next()) {
          List<String> row = new ArrayList<>();
          for (int i = 1; i <= width; i++) {
            row.add(String.valueOf(found.getObject(i)));
          }
          rows.add(String.join("|", row));
        }
        Collections.sort(rows);
        return rows;
      }
    }
  }

  interface Scenario {
    void run(Place place) throws Exception;
  }

  private static List<String> spark(String query) {
    return rows(SPARK.sql(query));
  }

  private static List<String> rows(Dataset<Row> found) {
    List<String> rows = new ArrayList<>();
    for (Row row : found.collectAsList()) {
      List<String> texts = new ArrayList<>();
      for (int i = 0; i < row.length(); i++) {
        Object value = row.get(i);
        texts.add(value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value));
      }
      rows.add(String.join("|", texts));
    }
    Collections.sort(rows);
    return rows;
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

  private static String plan(String query) {
    return SPARK.sql(query).queryExecution().executedPlan().toString();
  }

  private static void expectPlan(String query, String... parts) {
    String plan = plan(query);
    for (String part : parts) {
      if (!plan.contains(part)) {
        throw new AssertionError(query + ": no " + part + " in " + plan);
      }
    }
  }

  private static void rowsTable(Place place) throws SQLException {
    place.execute(
        "CREATE TABLE spark_rows (k bigint, i int, v bigint, f float8, r real, d numeric(12, 2), s text,"
            + " c varchar(20), day date, at timestamptz, local timestamp, b boolean, y bytea, h smallint)");
    int step = 20_000;
    for (int from = 1; from <= place.rows(); from += step) {
      place.execute(
          "INSERT INTO spark_rows SELECT k, CASE WHEN k % 11 <> 0 THEN k % 100 END, k::bigint * 1000003 % 65537,"
              + " CASE WHEN k % 97 = 0 THEN 'NaN' ELSE k / 8.0 END, k % 1000 / 4.0, (k % 5000) / 100.0,"
              + " CASE WHEN k % 13 <> 0 THEN 's' || k % 300 END, 'c' || k % 7,"
              + " date '2020-01-01' + (k % 1000)::int,"
              + " timestamptz '2020-01-01 00:00:00+00' + (k % 5000) * interval '1 hour',"
              + " timestamp '2020-01-01 00:00:00' + (k % 5000) * interval '1 hour', k % 3 = 0,"
              + " decode(lpad(to_hex(k % 1000), 4, '0'), 'hex'), k % 30"
              + " FROM generate_series(" + from + ", " + Math.min(from + step - 1, place.rows()) + ") k");
    }
    place.view("spark_rows", "");
  }

  private static final String[] CONDITIONS = {
    "k = 17", "k > 100 AND k <= 300", "NOT (i > 3)", "i IS NULL", "i IN (1, 2, 99)", "s = 's12'", "s < 's2'",
    "s LIKE 's1%'", "s LIKE '%99'", "s LIKE '%9%'", "c = 'c3' OR h = 5", "d = 12.50", "d >= 40.25 AND d < 41",
    "f > 20000.5", "f = double('NaN')", "r = 1.25", "r < float('0.75')", "b", "NOT b", "day = date '2021-02-03'",
    "day BETWEEN date '2020-01-05' AND date '2020-01-07'", "at < timestamp '2020-01-02 03:00:00'",
    "local = timestamp_ntz '2020-01-02 03:00:00'", "y = X'0010'", "i <=> 5", "i <=> NULL", "v <> 7 AND k < 50",
    "k + 1 = 30", "length(s) = 2", "s IN ('s1', 'it''s', 's%')", "h = 7 AND (s = 's7' OR s IS NULL)",
  };

  private static void conditions(Place place) throws Exception {
    for (String condition : CONDITIONS) {
      String query = "SELECT k, i, d, s FROM spark_rows WHERE " + condition;
      String sql = query.replace("double('NaN')", "'NaN'::float8").replace("float('0.75')", "0.75::real")
          .replace("X'0010'", "'\\x0010'::bytea").replace("timestamp '2020-01-02 03:00:00'", "timestamptz '2020-01-02 03:00:00+00'")
          .replace("timestamp_ntz '", "timestamp '").replace("i <=> 5", "i IS NOT DISTINCT FROM 5")
          .replace("i <=> NULL", "i IS NULL").replace("s < 's2'", "s COLLATE \"C\" < 's2'");
      List<String> wanted = place.answer(sql);
      if (wanted.isEmpty()) {
        throw new AssertionError("no row meets " + condition);
      }
      List<String> found = spark(query);
      if (!found.equals(wanted)) {
        throw new AssertionError(condition + ": " + cut(found) + " instead of " + cut(wanted));
      }
    }
    expectPlan("SELECT k FROM spark_rows WHERE s LIKE 's1%' AND i > 3 AND length(s) = 2",
        "\"where\":", "LIKE 's1%'", "(\\\"i\\\" > '3'::integer)", "length(s");
    expectPlan("SELECT k FROM spark_rows WHERE d IN (1.00, 2.50)", "\\\"d\\\" IN ('1.00'::numeric, '2.50'::numeric)");
  }

  private static void aggregates(Place place) throws Exception {
    String[] queries = {
      "SELECT count(*) FROM spark_rows",
      "SELECT count(*), count(i), sum(i), sum(h), min(k), max(v), min(d), max(day) FROM spark_rows",
      "SELECT c, count(*), sum(i), max(d) FROM spark_rows GROUP BY c",
      "SELECT i, h, count(s) FROM spark_rows WHERE k > 1000 GROUP BY i, h",
      "SELECT s, count(DISTINCT i), min(s) FROM spark_rows GROUP BY s",
      "SELECT b, sum(d) FROM spark_rows GROUP BY b HAVING count(*) > 3",
      "SELECT count(*), sum(i) FROM spark_rows WHERE k < 0",
      "SELECT max(f), min(f) FROM spark_rows WHERE k % 97 <> 0",
    };
    for (String query : queries) {
      expect(spark(query), place.answer(query));
    }
    expect(spark("SELECT sum(v) FROM spark_rows"), place.answer("SELECT sum(v)::bigint FROM spark_rows"));
    expectPlan("SELECT c, count(*), sum(i), min(day) FROM spark_rows WHERE k > 5 GROUP BY c",
        "\"group\": [\"c\"]", "\"function\": \"count\", \"column\": null", "\"sum\", \"column\": \"i\"", "\"min\"");
    // Sums of floats depend on their order, and texts have collations.
    for (String query : new String[] {"SELECT sum(f) FROM spark_rows", "SELECT min(s) FROM spark_rows"}) {
      if (plan(query).contains("aggregates")) {
        throw new AssertionError(query + " is not Spark's");
      }
    }
  }

  private static void columnsAndLimits(Place place) throws Exception {
    expectPlan("SELECT s FROM spark_rows", "\"columns\": [\"s\"]");
    expectPlan("SELECT s FROM spark_rows LIMIT 5", "\"limit\": 5");
    expect(spark("SELECT s FROM spark_rows LIMIT 5").size(), 5);
    expect(spark("SELECT 1 FROM spark_rows WHERE length(s) = 2"), place.answer("SELECT 1 FROM spark_rows WHERE length(s) = 2"));
    expect(spark("SELECT * FROM spark_rows WHERE k = 3").size(), 1);
    Dataset<Row> all = SPARK.table("spark_rows");
    if (all.rdd().getNumPartitions() < 2) {
      throw new AssertionError("one partition");
    }
    place.view("spark_rows", ", parts '1'");
    expect(SPARK.table("spark_rows").rdd().getNumPartitions(), 1);
    place.view("spark_rows", "");
  }

  private static void joins(Place place) throws Exception {
    place.execute("CREATE TABLE spark_names (i int, name text)",
        "INSERT INTO spark_names SELECT i, 'name ' || i FROM generate_series(0, 60) i");
    place.view("spark_names", "");
    String query = "SELECT n.name, count(*), sum(r.d) FROM spark_rows r JOIN spark_names n ON r.i = n.i"
        + " WHERE r.k > 500 AND n.i < 40 GROUP BY n.name";
    expect(spark(query), place.answer(query));
    String outer = "SELECT n.i, count(r.k) FROM spark_names n LEFT JOIN spark_rows r ON r.k = n.i * 100000 GROUP BY n.i";
    expect(spark(outer), place.answer(outer));
  }

  private static void types(Place place) throws Exception {
    String columns = "a boolean, b smallint, c integer, d bigint, e real, f double precision, g numeric(10, 3),"
        + " h numeric, i text, j varchar(5), l bytea, m date, n time, o timestamp, p timestamptz, q interval,"
        + " r integer[], s text[], t uuid, u json, v numeric(38, 10)";
    place.execute("CREATE TABLE spark_types (" + columns + ")",
        "INSERT INTO spark_types VALUES (true, -1, 2147483647, -9223372036854775808, 1.5, 'Infinity', -1234567.125,"
            + " 1e40, 'it''s \"täxt\"', 'vc', '\\x00ff', '0001-01-01', '12:34:56.789', '2026-01-02 03:04:05.678901',"
            + " '2026-01-02 03:04:05.678901+02', '1 year 2 days 3.5 seconds', '{1,NULL,3}', '{a,NULL,\"b c\"}',"
            + " '0190b0a4-0000-7000-8000-000000000001', '{\"x\": 1}', 1234567890123456789012345678.0123456789)",
        "INSERT INTO spark_types VALUES (" + "NULL, ".repeat(20) + "NULL)");
    place.view("spark_types", "");
    expect(SPARK.table("spark_types").schema().simpleString(),
        "struct<a:boolean,b:smallint,c:int,d:bigint,e:float,f:double,g:decimal(10,3),h:string,i:string,j:string,"
            + "l:binary,m:date,n:string,o:timestamp_ntz,p:timestamp,q:interval,r:array<int>,s:array<string>,"
            + "t:string,u:string,v:decimal(38,10)>");
    List<String> found = spark("SELECT a, b, c, d, e, f, g, h, i, j, l, m, n, o, unix_micros(p), q,"
        + " to_json(struct(r, s)), t, u, v FROM spark_types");
    String one = "true|-1|2147483647|-9223372036854775808|1.5|Infinity|-1234567.125|1" + "0".repeat(40)
        + "|it's \"täxt\"|vc|[0, -1]|0001-01-01|12:34:56.789|2026-01-02T03:04:05.678901|1767315845678901|"
        + "1 years 2 days 3.5 seconds|{\"r\":[1,null,3],\"s\":[\"a\",null,\"b c\"]}|0190b0a4-0000-7000-8000-000000000001"
        + "|{\"x\": 1}|1234567890123456789012345678.0123456789";
    String nothing = "null|".repeat(16) + "{}|null|null|null";
    expect(found, List.of(nothing, one));
    // What SQL compares otherwise stays with Spark.
    expect(spark("SELECT c FROM spark_types WHERE h > '0' AND u = '{\"x\": 1}' AND t LIKE '0190%'"), List.of("2147483647"));
    expect(spark("SELECT c FROM spark_types WHERE n = '12:34:56.789'"), List.of("2147483647"));
  }

  private static void oneSnapshot(Place place) throws Exception {
    place.execute("CREATE TABLE spark_accounts (id bigint, amount bigint)");
    int count = Math.min(place.rows(), 80_000);
    for (int from = 1; from <= count; from += 20_000) {
      place.execute("INSERT INTO spark_accounts SELECT i, 100 FROM generate_series(" + from + ", " + (from + 19_999) + ") i");
    }
    place.view("spark_accounts", ", parts '6'");
    List<String> wanted = List.of(count + "|" + count * 100L);
    Dataset<Row> held = SPARK.sql("SELECT count(*), sum(amount) FROM spark_accounts WHERE length(string(id)) > 0");
    expect(rows(held), wanted);
    AtomicBoolean isOver = new AtomicBoolean();
    List<Exception> failures = Collections.synchronizedList(new ArrayList<>());
    Thread writer = new Thread(() -> {
      try (java.sql.Connection connection = place.connect(); Statement statement = connection.createStatement()) {
        connection.setAutoCommit(false);
        for (int n = 1; !isOver.get(); n++) {
          // Rows far apart, so that they are in several parts.
          statement.execute("UPDATE spark_accounts SET amount = amount - 7 WHERE id <= " + count + " AND id % 1000 = " + n % 1000);
          statement.execute("UPDATE spark_accounts SET amount = amount + 7 WHERE id <= " + count + " AND id % 1000 = " + (n + 500) % 1000);
          statement.execute("DELETE FROM spark_accounts WHERE id = " + (count + n));
          statement.execute("INSERT INTO spark_accounts VALUES (" + (count + n + 1) + ", 0)");
          connection.commit();
        }
      } catch (SQLException e) {
        failures.add(e);
      }
    });
    writer.start();
    try {
      for (int turn = 0; turn < 5; turn++) {
        // In Spark, and in the server.
        expect(spark("SELECT sum(amount) FROM spark_accounts WHERE length(string(id)) > 0"), List.of(String.valueOf(count * 100L)));
        expect(spark("SELECT sum(amount) FROM spark_accounts"), List.of(String.valueOf(count * 100L)));
      }
    } finally {
      isOver.set(true);
      writer.join();
    }
    if (!failures.isEmpty()) {
      throw failures.get(0);
    }
    place.execute("INSERT INTO spark_accounts VALUES (0, 5)");
    // A plan keeps its snapshot when it is run again; a new one has a new one.
    expect(rows(held), wanted);
    expect(spark("SELECT sum(amount) FROM spark_accounts"), List.of(String.valueOf(count * 100L + 5)));
  }

  private static void errors(Place place) throws Exception {
    fails(() -> place.view("spark_nothing", ""), "42P01: relation \"spark_nothing\" does not exist");
    fails(() -> SPARK.sql("CREATE OR REPLACE TEMPORARY VIEW x USING tessera OPTIONS (address 'localhost:1', table 'x')"),
        "tessera at localhost:1: UNAVAILABLE");
    fails(() -> SPARK.sql("CREATE OR REPLACE TEMPORARY VIEW x USING tessera OPTIONS (table 'x')"), "needs the option \"address\"");
    fails(() -> SPARK.sql("CREATE OR REPLACE TEMPORARY VIEW x USING tessera OPTIONS (address 'a:1', table 'x', batch '3')"),
        "has no option \"batch\"");
    if (!place.password().isEmpty()) {
      fails(() -> SPARK.sql("CREATE OR REPLACE TEMPORARY VIEW x USING tessera OPTIONS (address '" + place.address()
          + "', table 'spark_rows', user 'tessera', password 'wrong')"), "UNAUTHENTICATED: 28P01");
    }
    place.execute("CREATE TABLE spark_gone (a int, b int)", "INSERT INTO spark_gone VALUES (1, 0)");
    place.view("spark_gone", "");
    place.execute("DROP TABLE spark_gone");
    fails(() -> spark("SELECT * FROM spark_gone"), "42P01");
    place.execute("CREATE TABLE spark_gone (a text, b int)", "INSERT INTO spark_gone VALUES ('x', 1)");
    fails(() -> spark("SELECT * FROM spark_gone"), "no longer struct<a:int,b:int>");
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

  private static void all(Place place) {
    scenario(place, "rows, columns and limits", p -> {
      rowsTable(p);
      columnsAndLimits(p);
    });
    scenario(place, "conditions", Scenarios::conditions);
    scenario(place, "aggregates", Scenarios::aggregates);
    scenario(place, "joins", Scenarios::joins);
    scenario(place, "types", Scenarios::types);
    scenario(place, "one snapshot beside writers", Scenarios::oneSnapshot);
    scenario(place, "errors", Scenarios::errors);
  }

  /** Runs them. */
  public static void main(String[] arguments) throws Exception {
    SPARK.sparkContext().setLogLevel("ERROR");
    String url = "jdbc:postgresql://localhost:" + arguments[0] + "/tessera";
    all(new Place("", url, arguments[1], "localhost:" + System.getenv("FLIGHT_PORT"), 200_000));
    try (SharedProcesses shared = new SharedProcesses(System.getenv("TESSERA"), 2, 2)) {
      String nodes = String.join(",", shared.flights());
      all(new Place("shared: ", "jdbc:postgresql://" + shared.sql() + "/tessera", "", nodes, 40_000));
    }
    SPARK.stop();
  }
}
