package tessera.scans;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
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
public final class Connection implements AutoCloseable {
  private static final BufferAllocator ROOT = new RootAllocator();
  private static final String STATEMENT =
      "type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery";

  private final String address;
  private final BufferAllocator allocator;
  private final FlightClient client;
  private final CallOption[] calls;

  /** Connects to one of the addresses of a server. */
  public Connection(Server server, int node) {
    address = server.addresses().get(node % server.addresses().size());
    allocator = ROOT.newChildAllocator("tessera " + address, 0, Long.MAX_VALUE);
    FlightClient opened = null;
    try {
      opened = open(server, address, allocator);
      List<CallOption> calls = new ArrayList<>();
      if (server.database() != null) {
        CallHeaders headers = new FlightCallHeaders();
        headers.insert("database", server.database());
        calls.add(new HeaderCallOption(headers));
      }
      if (server.user() != null) {
        String password = server.password() == null ? "" : server.password();
        calls.add(new CredentialCallOption(new BasicAuthCredentialWriter(server.user(), password)));
      }
      this.calls = calls.toArray(CallOption[]::new);
      this.client = opened;
    } catch (RuntimeException e) {
      close(opened, allocator);
      throw e;
    }
  }

  private static FlightClient open(Server server, String address, BufferAllocator allocator) {
    int colon = address.lastIndexOf(':');
    int port;
    try {
      port = Integer.parseInt(address.substring(colon + 1));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("\"" + address + "\" is no address: a host and a port, as in localhost:5470");
    }
    String host = colon <= 0 ? "localhost" : address.substring(0, colon);
    if (!server.tls()) {
      return FlightClient.builder(allocator, Location.forGrpcInsecure(host, port)).build();
    }
    FlightClient.Builder builder = FlightClient.builder(allocator, Location.forGrpcTls(host, port)).useTls();
    if (server.certificates() == null) {
      return builder.build();
    }
    try (InputStream certificates = new FileInputStream(server.certificates())) {
      return builder.trustedCertificates(certificates).build();
    } catch (IOException e) {
      throw new UncheckedIOException("the certificates " + server.certificates() + " cannot be read", e);
    }
  }

  /** The memory that rows are read into. */
  public BufferAllocator allocator() {
    return allocator;
  }

  /** Columns of a scan, without a snapshot. */
  public SchemaResult schema(ScanCommand scan) {
    return told(() -> client.getSchema(FlightDescriptor.command(scan.bytes()), calls));
  }

  /** Holds a snapshot for a scan; tickets of its parts. */
  public FlightInfo begin(ScanCommand scan) {
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
  public FlightStream rows(Ticket ticket) {
    return told(() -> client.getStream(ticket, calls));
  }

  /** Rows of a query of SQL, which the server runs as a whole. */
  public FlightStream rows(String query) {
    FlightDescriptor descriptor = FlightDescriptor.command(statement(query));
    FlightInfo info = told(() -> client.getInfo(descriptor, calls));
    return rows(info.getEndpoints().get(0).getTicket());
  }

  /** The command of Flight SQL for a query, whose first field it is. */
  private static byte[] statement(String query) {
    ByteString text = ByteString.copyFromUtf8(query);
    UnknownFieldSet.Field field = UnknownFieldSet.Field.newBuilder().addLengthDelimited(text).build();
    ByteString command = UnknownFieldSet.newBuilder().addField(1, field).build().toByteString();
    return Any.newBuilder().setTypeUrl(STATEMENT).setValue(command).build().toByteArray();
  }

  /** Does a call; what goes wrong names the server. */
  public <T> T told(Supplier<T> call) {
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
