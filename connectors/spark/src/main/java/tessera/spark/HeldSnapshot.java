package tessera.spark;

import java.lang.ref.Cleaner;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.flight.FlightInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A snapshot that the server holds until its scan is garbage.
 *
 * <p>The server lets go of a snapshot that nobody uses for 60 s. A plan may be run again much
 * later, and its tasks may wait for long, so the driver says now and then that it is in use.
 */
final class HeldSnapshot implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(HeldSnapshot.class);
  private static final Cleaner CLEANER = Cleaner.create();
  private static final long RENEW_SECONDS = 15;
  private static final ScheduledExecutorService CLOCK =
      Executors.newSingleThreadScheduledExecutor(
          work -> {
            Thread thread = new Thread(work, "tessera-snapshots");
            thread.setDaemon(true);
            return thread;
          });

  private final Options options;
  private final FlightInfo info;
  private ScheduledFuture<?> renewing;

  private HeldSnapshot(Options options, FlightInfo info) {
    this.options = options;
    this.info = info;
  }

  /** Holds a snapshot for {@code scan}, and as long as that is there. */
  static HeldSnapshot begin(Options options, ScanCommand command, Object scan) {
    try (Connection connection = new Connection(options, 0)) {
      HeldSnapshot held = new HeldSnapshot(options, connection.begin(command));
      held.renewing = CLOCK.scheduleWithFixedDelay(held, RENEW_SECONDS, RENEW_SECONDS, TimeUnit.SECONDS);
      CLEANER.register(scan, held::end);
      return held;
    }
  }

  /** Tickets of its parts. */
  FlightInfo info() {
    return info;
  }

  /** Says that it is in use. */
  @Override
  public void run() {
    try (Connection connection = new Connection(options, 0)) {
      connection.renew(info.getEndpoints().get(0));
    } catch (RuntimeException e) {
      // The tasks that need it say so, too.
      LOG.warn("a snapshot of {} may be lost", options, e);
    }
  }

  private void end() {
    renewing.cancel(false);
    try (Connection connection = new Connection(options, 0)) {
      connection.cancel(info);
    } catch (RuntimeException e) {
      LOG.debug("a snapshot of {} ends by itself", options, e);
    }
  }
}
