// Scenarios of pgjdbc: java Scenarios.java PORT PASSWORD. What each came to is printed as
// "status\tscenario\twhy".

import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

public class Scenarios {
    static final String LONG = "select count(*) from generate_series(1, 1000000000000) as g(i) where i % 7 = 3";
    static String url;
    static String password;

    interface Scenario {
        void run(Connection client) throws Exception;
    }

    static Connection connect(String... options) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", "tessera");
        properties.setProperty("password", password);
        for (int i = 0; i < options.length; i += 2) {
            properties.setProperty(options[i], options[i + 1]);
        }
        return DriverManager.getConnection(url, properties);
    }

    static void expect(Object found, Object wanted) {
        boolean same = found instanceof byte[] bytes
            ? Arrays.equals(bytes, (byte[]) wanted)
            : Objects.equals(found, wanted);
        if (!same) {
            throw new AssertionError(found + " instead of " + wanted);
        }
    }

    interface Step {
        void run() throws SQLException;
    }

    static void refused(String state, Step step) {
        try {
            step.run();
        } catch (SQLException error) {
            if (state.equals(error.getSQLState())) {
                return;
            }
            throw new AssertionError("not refused with " + state + ": " + error);
        }
        throw new AssertionError("not refused with " + state);
    }

    static void execute(Connection client, String... statements) throws SQLException {
        try (Statement statement = client.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    static Object value(Connection client, String sql) throws SQLException {
        try (Statement statement = client.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            expect(rows.next(), true);
            return rows.getObject(1);
        }
    }

    /** Column `column` of all rows. */
    static List<String> column(ResultSet rows, String column) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            found.add(rows.getString(column));
        }
        return found;
    }

    static void wrongPassword(Connection client) {
        refused("28P01", () -> connect("password", "wrong").close());
    }

    static void values(Connection client) throws SQLException {
        Object[] sent = {
            7, 1L << 40, (short) 3, 0.1, 1.5f, new BigDecimal("12345678901234567890.0123456789"),
            "x'y", true, new byte[] {0, 1, -1}, LocalDate.of(1999, 12, 31),
            LocalTime.of(23, 59, 58, 123456000), LocalDateTime.of(2026, 1, 2, 3, 4, 5, 678901000),
            OffsetDateTime.of(2026, 1, 2, 3, 4, 5, 678901000, ZoneOffset.UTC),
            UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        };
        Class<?>[] classes = {
            Integer.class, Long.class, Short.class, Double.class, Float.class, BigDecimal.class,
            String.class, Boolean.class, byte[].class, LocalDate.class, LocalTime.class,
            LocalDateTime.class, OffsetDateTime.class, UUID.class,
        };
        String sql = "select ?::int4, ?::int8, ?::int2, ?::float8, ?::float4, ?::numeric(38, 10), "
            + "?::text, ?::bool, ?::bytea, ?::date, ?::time, ?::timestamp, ?::timestamptz, ?::uuid";
        try (PreparedStatement statement = client.prepareStatement(sql)) {
            // From the fifth time on it is prepared on the server, and values are binary.
            for (int time = 0; time < 10; time++) {
                for (int i = 0; i < sent.length; i++) {
                    statement.setObject(i + 1, sent[i]);
                }
                try (ResultSet rows = statement.executeQuery()) {
                    expect(rows.next(), true);
                    for (int i = 0; i < sent.length; i++) {
                        Object found = classes[i] == byte[].class
                            ? rows.getBytes(i + 1)
                            : classes[i] == Short.class
                                ? (Object) rows.getShort(i + 1)
                                : rows.getObject(i + 1, classes[i]);
                        expect(found, sent[i]);
                    }
                }
            }
        }
    }

    static void nulls(Connection client) throws SQLException {
        String sql = "select ?::int4, ?::text, ?::timestamp, ?::numeric";
        try (PreparedStatement statement = client.prepareStatement(sql)) {
            for (int time = 0; time < 10; time++) {
                statement.setNull(1, Types.INTEGER);
                statement.setNull(2, Types.VARCHAR);
                statement.setNull(3, Types.TIMESTAMP);
                statement.setNull(4, Types.NUMERIC);
                try (ResultSet rows = statement.executeQuery()) {
                    expect(rows.next(), true);
                    expect(rows.getInt(1), 0);
                    expect(rows.wasNull(), true);
                    expect(rows.getString(2), null);
                    expect(rows.getTimestamp(3), null);
                    expect(rows.getBigDecimal(4), null);
                }
            }
        }
    }

    static void prepared(Connection client) throws SQLException {
        try (PreparedStatement statement = client.prepareStatement("select ? + 1")) {
            for (int i = 0; i < 200; i++) {
                statement.setInt(1, i);
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    expect(rows.getInt(1), i + 1);
                }
            }
        }
    }

    static void batch(Connection client) throws SQLException {
        execute(client, "create temp table b (a int primary key, t text)");
        try (PreparedStatement insert = client.prepareStatement("insert into b values (?, ?)")) {
            for (int i = 0; i < 1000; i++) {
                insert.setInt(1, i);
                insert.setString(2, i % 10 == 0 ? null : "row " + i);
                insert.addBatch();
            }
            expect(insert.executeBatch().length, 1000);
        }
        expect(value(client, "select count(t) from b"), 900L);
    }

    static void rewrittenBatch(Connection client) throws SQLException {
        try (Connection own = connect("reWriteBatchedInserts", "true")) {
            batch(own);
        }
    }

    static void failedBatch(Connection client) throws SQLException {
        execute(client, "create temp table b (a int primary key)");
        client.setAutoCommit(false);
        try (Statement statement = client.createStatement()) {
            statement.addBatch("insert into b values (1)");
            statement.addBatch("insert into b values (1)");
            refused("23505", statement::executeBatch);
        }
        client.rollback();
        expect(value(client, "select count(*) from b"), 0L);
    }

    static void generatedKeys(Connection client) throws SQLException {
        execute(client, "create temp table k (id int generated always as identity primary key, t text)");
        String sql = "insert into k (t) values ('a'), ('b')";
        try (Statement statement = client.createStatement()) {
            expect(statement.executeUpdate(sql, Statement.RETURN_GENERATED_KEYS), 2);
            expect(column(statement.getGeneratedKeys(), "id"), List.of("1", "2"));
            statement.executeUpdate("insert into k (t) values ('c')", new String[] {"id"});
            expect(column(statement.getGeneratedKeys(), "id"), List.of("3"));
        }
        try (Statement statement = client.createStatement();
                ResultSet rows = statement.executeQuery("update k set t = t || '!' returning t")) {
            List<String> found = column(rows, "t");
            found.sort(null);
            expect(found, List.of("a!", "b!", "c!"));
        }
    }

    static void failedTransaction(Connection client) throws SQLException {
        client.setAutoCommit(false);
        refused("22012", () -> execute(client, "select 1/0"));
        refused("25P02", () -> execute(client, "select 1"));
        client.rollback();
        expect(value(client, "select 1"), 1);
    }

    static void savepoints(Connection client) throws SQLException {
        execute(client, "create temp table s (a int primary key)");
        client.setAutoCommit(false);
        execute(client, "insert into s values (1)");
        Savepoint savepoint = client.setSavepoint("mine");
        refused("23505", () -> execute(client, "insert into s values (1)"));
        client.rollback(savepoint);
        execute(client, "insert into s values (2)");
        client.releaseSavepoint(savepoint);
        client.commit();
        expect(value(client, "select sum(a) from s"), 3L);
    }

    static void isolation(Connection client) throws SQLException {
        int[] levels = {
            Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ,
            Connection.TRANSACTION_SERIALIZABLE,
        };
        for (int level : levels) {
            client.setTransactionIsolation(level);
            expect(client.getTransactionIsolation(), level);
        }
        client.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        execute(client, "drop table if exists java_iso", "create table java_iso (a int)",
            "insert into java_iso values (1)");
        client.setAutoCommit(false);
        expect(value(client, "select a from java_iso"), 1);
        try (Connection other = connect()) {
            execute(other, "update java_iso set a = 2");
        }
        expect(value(client, "select a from java_iso"), 1);
        refused("40001", () -> execute(client, "update java_iso set a = 3"));
        client.rollback();
        expect(value(client, "select a from java_iso"), 2);
        client.commit();
        client.setAutoCommit(true);
        client.setReadOnly(true);
        client.setAutoCommit(false);
        refused("25006", () -> execute(client, "insert into java_iso values (9)"));
    }

    static void portals(Connection client) throws SQLException {
        client.setAutoCommit(false);
        try (Statement statement = client.createStatement()) {
            statement.setFetchSize(100);
            String sql = "select i from generate_series(1, 10050) as g(i)";
            try (ResultSet rows = statement.executeQuery(sql)) {
                long sum = 0;
                while (rows.next()) {
                    sum += rows.getLong(1);
                }
                expect(sum, 10050L * 10051 / 2);
            }
            // Left in the middle.
            statement.executeQuery(sql).next();
        }
        client.commit();
    }

    static void cancel(Connection client) throws Exception {
        try (Statement statement = client.createStatement()) {
            Thread other = new Thread(() -> {
                try {
                    Thread.sleep(300);
                    statement.cancel();
                } catch (Exception error) {
                    throw new RuntimeException(error);
                }
            });
            other.start();
            refused("57014", () -> statement.executeQuery(LONG));
            other.join();
            statement.setQueryTimeout(1);
            refused("57014", () -> statement.executeQuery(LONG));
        }
        expect(value(client, "select 1"), 1);
    }

    static void copy(Connection client) throws Exception {
        execute(client, "create temp table c (a int, t text)");
        CopyManager copies = client.unwrap(PGConnection.class).getCopyAPI();
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < 100000; i++) {
            lines.append(i).append(i % 10 == 0 ? ",\n" : ",\"row, " + i + "\"\n");
        }
        String sql = "copy c from stdin (format csv)";
        expect(copies.copyIn(sql, new StringReader(lines.toString())), 100000L);
        expect(value(client, "select count(t) from c"), 90000L);
        StringWriter out = new StringWriter();
        expect(copies.copyOut("copy c to stdout (format csv)", out), 100000L);
        expect(out.toString().lines().count(), 100000L);
        refused("22P02", () -> {
            try {
                copies.copyIn(sql, new StringReader("x,y\n"));
            } catch (java.io.IOException error) {
                throw new SQLException(error);
            }
        });
    }

    static void largeText(Connection client) throws SQLException {
        String text = "größer ".repeat(1 << 20);
        try (PreparedStatement statement = client.prepareStatement("select ?::text, length(?)")) {
            statement.setString(1, text);
            statement.setString(2, text);
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                expect(rows.getString(1).equals(text), true);
                expect(rows.getInt(2), text.length());
            }
        }
    }

    static void resultMetaData(Connection client) throws SQLException {
        execute(client, "create temp table m (a int not null, b numeric(10, 2), c varchar(20))");
        try (PreparedStatement statement = client.prepareStatement("select a, b, c, a + 1 as d from m")) {
            var columns = statement.getMetaData();
            expect(columns.getColumnCount(), 4);
            expect(columns.getColumnType(1), Types.INTEGER);
            expect(columns.getColumnType(2), Types.NUMERIC);
            expect(columns.getPrecision(2), 10);
            expect(columns.getScale(2), 2);
            expect(columns.getPrecision(3), 20);
            expect(columns.getColumnName(4), "d");
        }
        try (PreparedStatement statement = client.prepareStatement("insert into m values (?, ?, ?)")) {
            expect(statement.getParameterMetaData().getParameterCount(), 3);
            expect(statement.getParameterMetaData().getParameterType(2), Types.NUMERIC);
        }
    }

    static void schema(Connection client) throws SQLException {
        execute(client, "drop table if exists java_child", "drop table if exists java_parent",
            "create table java_parent (a int, b int, name varchar(30) not null default 'x', "
                + "price numeric(10, 2), primary key (a, b))",
            "create unique index java_parent_name on java_parent (name)",
            "create table java_child (id int primary key, pa int, pb int, "
                + "foreign key (pa, pb) references java_parent (a, b) on delete cascade)");
    }

    static void tables(Connection client) throws SQLException {
        schema(client);
        DatabaseMetaData data = client.getMetaData();
        ResultSet rows = data.getTables(null, "public", "java\\_%", new String[] {"TABLE"});
        expect(column(rows, "TABLE_NAME"), List.of("java_child", "java_iso", "java_parent"));
        expect(column(data.getSchemas(), "TABLE_SCHEM").contains("public"), true);
        expect(data.getDatabaseProductName(), "PostgreSQL");
    }

    static void columns(Connection client) throws SQLException {
        schema(client);
        ResultSet rows = client.getMetaData().getColumns(null, null, "java_parent", null);
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            found.add(rows.getString("COLUMN_NAME") + " " + rows.getString("TYPE_NAME") + " "
                + rows.getInt("COLUMN_SIZE") + " " + rows.getInt("DECIMAL_DIGITS") + " "
                + rows.getInt("DATA_TYPE") + " " + rows.getString("IS_NULLABLE") + " "
                // PostgreSQL adds a cast.
                + String.valueOf(rows.getString("COLUMN_DEF")).replaceFirst("::.*", ""));
        }
        expect(found, List.of("a int4 10 0 4 NO null", "b int4 10 0 4 NO null",
            "name varchar 30 0 12 NO 'x'", "price numeric 10 2 2 YES null"));
    }

    static void primaryKeys(Connection client) throws SQLException {
        schema(client);
        ResultSet rows = client.getMetaData().getPrimaryKeys(null, null, "java_parent");
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            found.add(rows.getString("COLUMN_NAME") + rows.getInt("KEY_SEQ") + rows.getString("PK_NAME"));
        }
        expect(found, List.of("a1java_parent_pkey", "b2java_parent_pkey"));
    }

    static void indexes(Connection client) throws SQLException {
        schema(client);
        ResultSet rows = client.getMetaData().getIndexInfo(null, null, "java_parent", false, false);
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            found.add(rows.getString("INDEX_NAME") + " " + rows.getString("COLUMN_NAME") + " "
                + rows.getInt("ORDINAL_POSITION") + " " + rows.getBoolean("NON_UNIQUE"));
        }
        expect(found, List.of("java_parent_name name 1 false", "java_parent_pkey a 1 false",
            "java_parent_pkey b 2 false"));
    }

    static void foreignKeys(Connection client) throws SQLException {
        schema(client);
        ResultSet rows = client.getMetaData().getImportedKeys(null, null, "java_child");
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            found.add(rows.getString("PKTABLE_NAME") + "." + rows.getString("PKCOLUMN_NAME") + " "
                + rows.getString("FKCOLUMN_NAME") + " " + rows.getInt("KEY_SEQ") + " "
                + rows.getInt("DELETE_RULE") + " " + rows.getString("FK_NAME"));
        }
        int cascade = DatabaseMetaData.importedKeyCascade;
        expect(found, List.of("java_parent.a pa 1 " + cascade + " java_child_pa_pb_fkey",
            "java_parent.b pb 2 " + cascade + " java_child_pa_pb_fkey"));
    }

    static void arrays(Connection client) throws SQLException {
        try (PreparedStatement statement = client.prepareStatement("select 2 = any(?)")) {
            statement.setArray(1, client.createArrayOf("int4", new Integer[] {1, 2}));
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                expect(rows.getBoolean(1), true);
            }
        }
        Array array = (Array) value(client, "select array['a', 'b']::text[]");
        expect(List.of((String[]) array.getArray()), List.of("a", "b"));
    }

    static void notices(Connection client) throws SQLException {
        try (Statement statement = client.createStatement()) {
            statement.execute("drop table if exists java_nothing");
            expect(statement.getWarnings() != null, true);
        }
    }

    static void run(String name, Scenario scenario) {
        String status = "ok";
        String why = "";
        try (Connection client = connect()) {
            scenario.run(client);
        } catch (Exception | AssertionError error) {
            status = "FAILED";
            why = String.valueOf(error.getMessage()).replaceAll("\\s+", " ");
        }
        System.out.println(status + "\t" + name + "\t" + why);
    }

    public static void main(String[] arguments) {
        url = "jdbc:postgresql://127.0.0.1:" + arguments[0] + "/tessera";
        password = arguments[1];
        run("connects", client -> expect(client.isValid(5), true));
        run("wrong password", Scenarios::wrongPassword);
        run("values, dates, times, ten times", Scenarios::values);
        run("nulls", Scenarios::nulls);
        run("prepared statement, 200 times", Scenarios::prepared);
        run("addBatch of 1,000", Scenarios::batch);
        run("addBatch rewritten", Scenarios::rewrittenBatch);
        run("a batch fails as a whole", Scenarios::failedBatch);
        run("generated keys, returning", Scenarios::generatedKeys);
        run("failed transaction", Scenarios::failedTransaction);
        run("savepoints", Scenarios::savepoints);
        run("isolation levels, read only", Scenarios::isolation);
        run("portals with fetch size", Scenarios::portals);
        run("cancel, query timeout", Scenarios::cancel);
        run("CopyManager, 100,000 rows", Scenarios::copy);
        run("text of 8 MB", Scenarios::largeText);
        run("metadata of results and parameters", Scenarios::resultMetaData);
        run("metadata: tables", Scenarios::tables);
        run("metadata: columns", Scenarios::columns);
        run("metadata: primary keys", Scenarios::primaryKeys);
        run("metadata: indexes", Scenarios::indexes);
        run("metadata: foreign keys", Scenarios::foreignKeys);
        run("arrays", Scenarios::arrays);
        run("notices", Scenarios::notices);
    }
}
