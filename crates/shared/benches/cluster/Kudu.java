import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kudu.ColumnSchema.ColumnSchemaBuilder;
import org.apache.kudu.Schema;
import org.apache.kudu.Type;
import org.apache.kudu.client.CreateTableOptions;
import org.apache.kudu.client.KuduClient;
import org.apache.kudu.client.KuduPredicate;
import org.apache.kudu.client.KuduPredicate.ComparisonOp;
import org.apache.kudu.client.KuduScanner;
import org.apache.kudu.client.KuduSession;
import org.apache.kudu.client.KuduTable;
import org.apache.kudu.client.Operation;
import org.apache.kudu.client.PartialRow;
import org.apache.kudu.client.RowResult;
import org.apache.kudu.client.SessionConfiguration.FlushMode;
import org.apache.kudu.test.cluster.MiniKuduCluster.MiniKuduClusterBuilder;

/** YCSB# on one tablet server: directory, rows, calls, scans. Prints a line for each figure. */
public class Kudu {
    static final int LOAD = 1000;
    static final String[] FIXED = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static final Type[] TYPES = {Type.DOUBLE, Type.INT64, Type.INT32, Type.INT16};

    static KuduTable table;
    static KuduClient client;

    static void fill(PartialRow row, long key, Random random) {
        row.addLong("key", key);
        for (int i = 0; i < FIXED.length; i += 4) {
            row.addDouble(FIXED[i], random.nextDouble());
            row.addLong(FIXED[i + 1], random.nextInt(2000) - 1000);
            row.addInt(FIXED[i + 2], random.nextInt(10_000));
            row.addShort(FIXED[i + 3], (short) random.nextInt(256));
        }
        row.addString("i", "OUGHTABLEPRI");
        row.addString("j", "PRESESEANTICALLY");
    }

    static void create() throws Exception {
        var columns = new ArrayList<org.apache.kudu.ColumnSchema>();
        columns.add(new ColumnSchemaBuilder("key", Type.INT64).key(true).build());
        for (int i = 0; i < FIXED.length; i++) {
            columns.add(new ColumnSchemaBuilder(FIXED[i], TYPES[i % 4]).build());
        }
        for (String name : List.of("i", "j")) {
            columns.add(new ColumnSchemaBuilder(name, Type.STRING).build());
        }
        var options = new CreateTableOptions().setNumReplicas(1).setRangePartitionColumns(List.of());
        table = client.createTable("main", new Schema(columns), options);
    }

    static void apply(KuduSession session, Operation operation) throws Exception {
        session.apply(operation);
    }

    static void load(long rows) throws Exception {
        KuduSession session = client.newSession();
        session.setFlushMode(FlushMode.MANUAL_FLUSH);
        session.setMutationBufferSpace(2 * LOAD);
        var random = new Random(5);
        for (long key = 0; key < rows; key++) {
            var insert = table.newInsert();
            fill(insert.getRow(), key, random);
            apply(session, insert);
            if (key % LOAD == LOAD - 1) {
                session.flush();
            }
        }
        session.close();
    }

    static long count(KuduScanner scanner, boolean isMax) throws Exception {
        long rows = 0;
        double max = Double.NEGATIVE_INFINITY;
        while (scanner.hasMoreRows()) {
            for (RowResult row : scanner.nextRows()) {
                rows++;
                if (isMax) {
                    max = Math.max(max, row.getDouble(0));
                }
            }
        }
        return rows;
    }

    static KuduPredicate test(String column, ComparisonOp op, Object value) {
        return KuduPredicate.newComparisonPredicate(table.getSchema().getColumn(column), op, value);
    }

    static void get(long key) throws Exception {
        var scanner = client.newScannerBuilder(table)
            .addPredicate(test("key", ComparisonOp.EQUAL, key)).build();
        if (count(scanner, false) != 1) {
            throw new IllegalStateException("no row " + key);
        }
    }

    /** Calls of one client: gets, or gets and updates in turn. */
    static void calls(long calls, long rows, boolean isMixed, long seed) throws Exception {
        KuduSession session = client.newSession();
        session.setFlushMode(FlushMode.AUTO_FLUSH_SYNC);
        var random = new Random(seed);
        for (long call = 0; call < calls; call++) {
            long key = Math.floorMod(random.nextLong(), rows);
            if (isMixed && call % 2 == 1) {
                var update = table.newUpdate();
                fill(update.getRow(), key, random);
                apply(session, update);
            } else {
                get(key);
            }
        }
        session.close();
    }

    static void rates(long calls, long rows, int clients) throws Exception {
        for (boolean isMixed : new boolean[] {false, true}) {
            var pool = Executors.newFixedThreadPool(clients);
            var work = new ArrayList<Callable<Void>>();
            for (int i = 0; i < clients; i++) {
                long seed = i;
                work.add(() -> {
                    calls(calls / clients, rows, isMixed, seed);
                    return null;
                });
            }
            long begin = System.nanoTime();
            for (Future<Void> end : pool.invokeAll(work)) {
                end.get();
            }
            double rate = calls / clients * clients / ((System.nanoTime() - begin) / 1e9);
            pool.shutdown();
            String what = isMixed ? "gets and puts/s" : "gets/s";
            System.out.printf("kudu: %.0f %s, %d at a time%n", rate, what, clients);
        }
    }

    static void scans(long rows, int scans) throws Exception {
        String[] names = {
            "Q1: the largest of a field", "Q2: of half of the rows", "Q3: a tenth of the rows"
        };
        for (int query = 0; query < names.length; query++) {
            long begin = System.nanoTime();
            for (int i = 0; i < scans; i++) {
                var builder = client.newScannerBuilder(table);
                if (query < 2) {
                    builder.setProjectedColumnNames(List.of("a"));
                }
                if (query == 1) {
                    builder.addPredicate(test("e", ComparisonOp.GREATER, 0.0));
                    builder.addPredicate(test("e", ComparisonOp.LESS, 0.5));
                } else if (query == 2) {
                    builder.addPredicate(test("d", ComparisonOp.GREATER, (short) 0));
                    builder.addPredicate(test("d", ComparisonOp.LESS, (short) 26));
                }
                count(builder.build(), query < 2);
            }
            double rate = rows * scans / ((System.nanoTime() - begin) / 1e9);
            System.out.printf("kudu: %.2f million rows/s, %s%n", rate / 1e6, names[query]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        long rows = Long.parseLong(arguments[1]);
        long calls = Long.parseLong(arguments[2]);
        int scans = Integer.parseInt(arguments[3]);
        var builder = new MiniKuduClusterBuilder().numMasterServers(1).numTabletServers(1)
            .clusterRoot(arguments[0]);
        for (String flag : List.of("--unlock_unsafe_flags", "--time_source=system_unsync")) {
            builder.addMasterServerFlag(flag).addTabletServerFlag(flag);
        }
        try (var cluster = builder.build()) {
            client = new KuduClient.KuduClientBuilder(cluster.getMasterAddressesAsString()).build();
            create();
            load(rows);
            rates(calls, rows, 1);
            rates(calls, rows, 16);
            scans(rows, scans);
            client.close();
        }
        // Its threads do not end by themselves.
        System.exit(0);
    }
}
