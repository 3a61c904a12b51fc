package tessera.spark;

import org.apache.arrow.flight.FlightRuntimeException;

/** An error of a server: its message begins with the SQLSTATE. */
public final class TesseraException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  TesseraException(String address, FlightRuntimeException cause) {
    super("tessera at " + address + ": " + cause.status().code() + ": " + cause.getMessage(), cause);
  }

  TesseraException(String message) {
    super(message);
  }
}
