package tessera.trino;

import io.trino.spi.connector.ConnectorTransactionHandle;
import java.util.UUID;

/**
 * A transaction of Trino, which snapshots are held for.
 *
 * @param id its number
 */
public record TesseraTransaction(UUID id) implements ConnectorTransactionHandle {}
