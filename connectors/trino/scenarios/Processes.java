import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Processes on this machine, which end with this: Trino's, or those of a shared database. */
final class Processes implements AutoCloseable {
  private final Path home;
  private final List<Process> processes = new ArrayList<>();
  private final List<String> flights = new ArrayList<>();
  private String sql;

  private Processes() throws IOException {
    home = Files.createTempDirectory("tessera-trino");
  }

  /** Address of SQL: of Trino's coordinator, or of one of the nodes. */
  String sql() {
    return sql;
  }

  /** Addresses of Arrow Flight, of all nodes. */
  List<String> flights() {
    return flights;
  }

  /** A coordinator and a worker of Trino, with the plugin that was packaged. */
  static Processes trino() throws IOException {
    Processes trino = new Processes();
    Path plugins = Files.createDirectories(trino.home.resolve("plugins"));
    Files.createSymbolicLink(plugins.resolve("tessera"), Path.of("../target/tessera").toAbsolutePath());
    int coordinator = freePort();
    trino.sql = "127.0.0.1:" + coordinator;
    trino.node("coordinator", coordinator, coordinator);
    trino.node("worker", freePort(), coordinator);
    return trino;
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private void node(String name, int port, int coordinator) throws IOException {
    List<String> config =
        new ArrayList<>(
            List.of(
                "coordinator=" + (port == coordinator),
                "http-server.http.port=" + port,
                "discovery.uri=http://127.0.0.1:" + coordinator,
                "plugin.dir=" + home.resolve("plugins"),
                "catalog.management=dynamic"));
    if (port == coordinator) {
      config.add("catalog.store=memory");
    }
    Path file = Files.write(home.resolve(name + ".properties"), config);
    List<String> command =
        List.of(
            ProcessHandle.current().info().command().orElse("java"),
            "-Xmx1g",
            "--add-modules=jdk.incubator.vector",
            "--add-opens=java.base/java.nio=ALL-UNNAMED",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "-Dnode.environment=scenarios",
            "-Dnode.id=" + name,
            "-Dnode.internal-address=127.0.0.1",
            "-Dnode.bind-ip=127.0.0.1",
            "-Dnode.data-dir=" + home.resolve(name),
            "-Dconfig=" + file,
            "-cp",
            "target/lib/*",
            "TrinoServer.java",
            "483");
    Path log = Path.of("target", name + ".log");
    processes.add(
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start());
  }

  /** A commit manager, stores and nodes. */
  static Processes shared(String program, int stores, int nodes) throws IOException {
    Processes shared = new Processes();
    Path home = shared.home;
    String manager = shared.start(program, "commit-manager", home.resolve("manager").toString(), "--listen", "127.0.0.1:0");
    List<String> addresses = new ArrayList<>();
    for (int i = 0; i < stores; i++) {
      addresses.add(shared.start(program, "store", home.resolve("store" + i).toString(), "--listen", "127.0.0.1:0"));
    }
    for (int i = 0; i < nodes; i++) {
      String address =
          shared.start(program, "serve", "--listen", "127.0.0.1:0", "--flight", "127.0.0.1:0", "--auth", "trust",
              "--shared", manager, "--stores", String.join(",", addresses));
      // That of the node which is asked first for tables: views are those of one node.
      shared.sql = shared.sql == null ? address : shared.sql;
    }
    return shared;
  }

  private String start(String... command) throws IOException {
    Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    processes.add(process);
    BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream()));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      int at = line.lastIndexOf(" on ");
      if (line.contains("Arrow Flight on ")) {
        flights.add(line.substring(at + 4));
      } else if (at >= 0) {
        // What it says later is read, so that it never waits.
        Thread.ofVirtual().start(() -> lines.lines().forEach(l -> {}));
        return line.substring(at + 4);
      }
    }
    throw new IOException(String.join(" ", command) + " does not listen");
  }

  /** True while all of them run. */
  boolean areAlive() {
    return processes.stream().allMatch(Process::isAlive);
  }

  @Override
  public void close() throws IOException {
    processes.forEach(Process::destroyForcibly);
    for (Process process : processes) {
      process.onExit().join();
    }
    try (Stream<Path> files = Files.walk(home)) {
      for (Path path : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }
}
