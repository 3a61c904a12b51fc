package tessera.trino;

import java.util.List;
import java.util.Map;
import tessera.scans.Server;

/**
 * Properties of a catalog.
 *
 * @param server where it is, and who asks
 * @param parts parts of a scan at most; 0 for as many as the workers have processors
 */
record Settings(Server server, int parts) {
  private static final List<String> KNOWN =
      List.of(
          "tessera.address",
          "tessera.user",
          "tessera.password",
          "tessera.database",
          "tessera.tls",
          "tessera.certificates",
          "tessera.parts");

  /** Reads properties; a wrong one is named. */
  static Settings of(Map<String, String> properties) {
    for (String key : properties.keySet()) {
      if (!KNOWN.contains(key)) {
        throw new IllegalArgumentException("a catalog of tessera has no property \"" + key + "\"; there are " + KNOWN);
      }
    }
    String address = properties.get("tessera.address");
    if (address == null || address.isBlank()) {
      throw new IllegalArgumentException("a catalog of tessera needs the property \"tessera.address\"");
    }
    String certificates = properties.get("tessera.certificates");
    String tls = properties.get("tessera.tls");
    Server server =
        new Server(
            Server.addresses(address),
            properties.get("tessera.user"),
            properties.get("tessera.password"),
            properties.get("tessera.database"),
            tls == null ? certificates != null : Boolean.parseBoolean(tls),
            certificates);
    return new Settings(server, parts(properties.getOrDefault("tessera.parts", "0")));
  }

  private static int parts(String text) {
    try {
      return Integer.parseInt(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("\"" + text + "\" is no number of parts", e);
    }
  }
}
