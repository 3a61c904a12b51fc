package tessera.scans;

import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStatusCode;

/** An error of a server: its message begins with the SQLSTATE. */
public final class TesseraException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final FlightStatusCode code;

  TesseraException(String address, FlightRuntimeException cause) {
    super("tessera at " + address + ": " + cause.status().code() + ": " + cause.getMessage(), cause);
    code = cause.status().code();
  }

  /** An error with a message of ours. */
  public TesseraException(String message) {
    super(message);
    code = FlightStatusCode.INTERNAL;
  }

  /** The code of Flight that the server gave. */
  public FlightStatusCode code() {
    return code;
  }
}
