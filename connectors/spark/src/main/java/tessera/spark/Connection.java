package tessera.spark;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.flight.CallHeaders;
import org.apache.arrow.flight.CallOption;
import org.apache.arrow.flight.CancelFlightInfoRequest;
import org.apache.arrow.flight.grpc.CredentialCallOption;
import org.apache.arrow.flight.FlightCallHeaders;
import org.apache.arrow.flight.FlightClient;
import org.apache.arrow.flight.FlightDescriptor;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.flight.HeaderCallOption;
import org.apache.arrow.flight.Location;
import org.apache.arrow.flight.RenewFlightEndpointRequest;
import org.apache.arrow.flight.SchemaResult;
import org.apache.arrow.flight.Ticket;
import org.apache.arrow.flight.auth2.BasicAuthCredentialWriter;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/** A connection to a server, with the rights of a user. */
final class Connection implements AutoCloseable {
  private static final BufferAllocator ROOT = new RootAllocator();

  private final String address;
  private final BufferAllocator allocator;
  private final FlightClient client;
  private final CallOption[] calls;

  /** Connects to one of the addresses of the options. */
  Connection(Options options, int node) {
    address = options.addresses().get(node % options.addresses().size());
    allocator = ROOT.newChildAllocator("tessera " + address, 0, Long.MAX_VALUE);
    FlightClient opened = null;
    try {
      opened = open(options, address, allocator);
      List<CallOption> calls = new ArrayList<>();
      if (options.database() != null) {
        CallHeaders headers = new FlightCallHeaders();
        headers.insert("database", options.database());
        calls.add(new HeaderCallOption(headers));
      }
      if (options.user() != null) {
        String password = options.password() == null ? "" : options.password();
        calls.add(new CredentialCallOption(new BasicAuthCredentialWriter(options.user(), password)));
      }
      this.calls = calls.toArray(CallOption[]::new);
      this.client = opened;
    } catch (RuntimeException e) {
      close(opened, allocator);
      throw e;
    }
  }

  private static FlightClient open(Options options, String address, BufferAllocator allocator) {
    int colon = address.lastIndexOf(':');
    int port;
    try {
      port = Integer.parseInt(address.substring(colon + 1));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("\"" + address + "\" is no address: a host and a port, as in localhost:5470");
    }
    String host = colon <= 0 ? "localhost" : address.substring(0, colon);
    if (!options.tls()) {
      return FlightClient.builder(allocator, Location.forGrpcInsecure(host, port)).build();
    }
    FlightClient.Builder builder = FlightClient.builder(allocator, Location.forGrpcTls(host, port)).useTls();
    if (options.certificates() == null) {
      return builder.build();
    }
    try (InputStream certificates = new FileInputStream(options.certificates())) {
      return builder.trustedCertificates(certificates).build();
    } catch (IOException e) {
      throw new UncheckedIOException("the certificates " + options.certificates() + " cannot be read", e);
    }
  }

  /** The memory that rows are read into. */
  BufferAllocator allocator() {
    return allocator;
  }

  /** Columns of a scan, without a snapshot. */
  SchemaResult schema(ScanCommand scan) {
    return told(() -> client.getSchema(FlightDescriptor.command(scan.bytes()), calls));
  }

  /** Holds a snapshot for a scan; tickets of its parts. */
  FlightInfo begin(ScanCommand scan) {
    return told(() -> client.getInfo(FlightDescriptor.command(scan.bytes()), calls));
  }

  /** Holds the snapshot of a part for longer. */
  void renew(FlightEndpoint endpoint) {
    told(() -> client.renewFlightEndpoint(new RenewFlightEndpointRequest(endpoint), calls));
  }

  /** Lets go of a snapshot. */
  void cancel(FlightInfo info) {
    told(() -> client.cancelFlightInfo(new CancelFlightInfoRequest(info), calls));
  }

  /** Rows of a part. */
  FlightStream rows(Ticket ticket) {
    return told(() -> client.getStream(ticket, calls));
  }

  /** Does a call; what goes wrong names the server. */
  <T> T told(java.util.function.Supplier<T> call) {
    try {
      return call.get();
    } catch (FlightRuntimeException e) {
      throw new TesseraException(address, e);
    }
  }

  @Override
  public void close() {
    close(client, allocator);
  }

  private static void close(FlightClient client, BufferAllocator allocator) {
    try {
      if (client != null) {
        client.close();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      allocator.close();
    }
  }
}
