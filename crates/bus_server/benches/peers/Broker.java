import java.io.File;
import org.apache.activemq.broker.BrokerService;
import org.apache.activemq.store.kahadb.KahaDBPersistenceAdapter;
import org.apache.activemq.store.kahadb.disk.journal.Journal.JournalDiskSyncStrategy;

/** A broker with a journal in the first argument that listens for STOMP on the second. */
public class Broker {
    public static void main(String[] arguments) throws Exception {
        var journal = new KahaDBPersistenceAdapter();
        journal.setDirectory(new File(arguments[0]));
        journal.setJournalDiskSyncStrategy(JournalDiskSyncStrategy.ALWAYS.name());
        var broker = new BrokerService();
        broker.setPersistenceAdapter(journal);
        broker.setUseJmx(false);
        broker.setUseShutdownHook(false);
        broker.addConnector("stomp://127.0.0.1:" + arguments[1]);
        broker.start();
        broker.waitUntilStopped();
    }
}
