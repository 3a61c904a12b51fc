package tessera.scans;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.flight.FlightInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A snapshot that the server holds until it is told to let go.
 *
 * <p>The server lets go of a snapshot that nobody uses for 60 s. Parts may be read much later, and
 * again, so whoever made the scan says now and then that it is in use.
 */
public final class HeldSnapshot implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(HeldSnapshot.class);
  private static final long RENEW_SECONDS = 15;
  private static final ScheduledExecutorService CLOCK =
      Executors.newSingleThreadScheduledExecutor(
          work -> {
            Thread thread = new Thread(work, "tessera-snapshots");
            thread.setDaemon(true);
            return thread;
          });

  private final Server server;
  private final FlightInfo info;
  private ScheduledFuture<?> renewing;

  private HeldSnapshot(Server server, FlightInfo info) {
    this.server = server;
    this.info = info;
  }

  /** Holds a snapshot for a scan. */
  public static HeldSnapshot begin(Server server, ScanCommand command) {
    try (Connection connection = new Connection(server, 0)) {
      HeldSnapshot held = new HeldSnapshot(server, connection.begin(command));
      held.renewing = CLOCK.scheduleWithFixedDelay(held, RENEW_SECONDS, RENEW_SECONDS, TimeUnit.SECONDS);
      return held;
    }
  }

  /** Tickets of its parts. */
  public FlightInfo info() {
    return info;
  }

  /** Says that it is in use. */
  @Override
  public void run() {
    try (Connection connection = new Connection(server, 0)) {
      connection.renew(info.getEndpoints().get(0));
    } catch (RuntimeException e) {
      // The tasks that need it say so, too.
      LOG.warn("a snapshot of {} may be lost", server, e);
    }
  }

  /** Lets go of it. */
  public void end() {
    renewing.cancel(false);
    try (Connection connection = new Connection(server, 0)) {
      connection.cancel(info);
    } catch (RuntimeException e) {
      LOG.debug("a snapshot of {} ends by itself", server, e);
    }
  }
}
