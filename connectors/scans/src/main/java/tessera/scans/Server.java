package tessera.scans;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;

/**
 * A server of Arrow Flight, or the nodes of one shared database, and who asks.
 *
 * @param addresses hosts and ports; the first one makes scans, parts are read from all
 * @param user who reads; null where nobody is asked
 * @param password the password of the user
 * @param database another database than the user's own; null without
 * @param tls whether connections are encrypted
 * @param certificates path of a PEM file with the certificates to be trusted; null for those of Java
 */
public record Server(
    List<String> addresses, String user, String password, String database, boolean tls, String certificates)
    implements Serializable {

  /** The addresses of a text, which has commas between them. */
  public static List<String> addresses(String text) {
    return Arrays.stream(text.split(",")).map(String::trim).toList();
  }

  /** Without the password. */
  @Override
  public String toString() {
    return String.join(", ", addresses);
  }
}
