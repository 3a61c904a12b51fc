import io.trino.server.Server;

/** Trino's server, by the system property {@code config}. */
public final class TrinoServer {
  private TrinoServer() {}

  /** Starts it. */
  public static void main(String[] arguments) {
    new Server().start(arguments[0]);
  }
}
