package tessera.trino;

import io.trino.spi.connector.ConnectorSplit;
import java.util.Optional;

/**
 * A part of a snapshot, or a query that a server runs as a whole.
 *
 * @param ticket ticket of the part; empty for a query
 * @param query the query
 * @param number number of the part, which also says the node that gives it
 */
public record TesseraSplit(byte[] ticket, Optional<String> query, int number) implements ConnectorSplit {}
