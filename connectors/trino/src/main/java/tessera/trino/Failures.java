package tessera.trino;

import static io.trino.spi.StandardErrorCode.GENERIC_USER_ERROR;
import static io.trino.spi.StandardErrorCode.NOT_FOUND;
import static io.trino.spi.StandardErrorCode.NOT_SUPPORTED;
import static io.trino.spi.StandardErrorCode.PERMISSION_DENIED;

import io.trino.spi.ErrorCode;
import io.trino.spi.ErrorCodeSupplier;
import io.trino.spi.ErrorType;
import io.trino.spi.TrinoException;
import java.util.function.Supplier;
import org.apache.arrow.flight.FlightStatusCode;
import tessera.scans.TesseraException;

/** Errors of a server as those of Trino. */
final class Failures {
  /** An error of the server, or no server. */
  private static final ErrorCodeSupplier EXTERNAL =
      () -> new ErrorCode(0x7E55_0000, "TESSERA_ERROR", ErrorType.EXTERNAL);

  private Failures() {}

  /** Does what talks to a server. */
  static <T> T told(Supplier<T> call) {
    try {
      return call.get();
    } catch (TesseraException e) {
      throw new TrinoException(code(e.code()), e.getMessage(), e);
    }
  }

  private static ErrorCodeSupplier code(FlightStatusCode code) {
    return switch (code) {
      case UNAUTHENTICATED, UNAUTHORIZED -> PERMISSION_DENIED;
      case NOT_FOUND -> NOT_FOUND;
      case UNIMPLEMENTED -> NOT_SUPPORTED;
      case INVALID_ARGUMENT -> GENERIC_USER_ERROR;
      default -> EXTERNAL;
    };
  }
}
