package tessera.spark;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A commit manager, stores and nodes on this machine, which end with this. */
final class SharedProcesses implements AutoCloseable {
  private final String program;
  private final Path home;
  private final List<Process> processes = new ArrayList<>();
  private final List<String> flights = new ArrayList<>();
  private String sql;

  SharedProcesses(String program, int stores, int nodes) throws IOException {
    this.program = program;
    home = Files.createTempDirectory("tessera-spark");
    String manager = start("commit-manager", home.resolve("manager").toString(), "--listen", "127.0.0.1:0");
    List<String> addresses = new ArrayList<>();
    for (int i = 0; i < stores; i++) {
      addresses.add(start("store", home.resolve("store" + i).toString(), "--listen", "127.0.0.1:0"));
    }
    for (int i = 0; i < nodes; i++) {
      sql = start("serve", "--listen", "127.0.0.1:0", "--flight", "127.0.0.1:0", "--auth", "trust",
          "--shared", manager, "--stores", String.join(",", addresses));
    }
  }

  /** Address of SQL, of one of the nodes. */
  String sql() {
    return sql;
  }

  /** Addresses of Arrow Flight, of all nodes. */
  List<String> flights() {
    return flights;
  }

  private String start(String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(program));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    processes.add(process);
    BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream()));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      int at = line.lastIndexOf(" on ");
      if (line.contains("Arrow Flight on ")) {
        flights.add(line.substring(at + 4));
      } else if (at >= 0) {
        // What it says later is read, so that it never waits.
        Thread rest = new Thread(() -> lines.lines().forEach(l -> {}));
        rest.setDaemon(true);
        rest.start();
        return line.substring(at + 4);
      }
    }
    throw new IOException(command + " does not listen");
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
