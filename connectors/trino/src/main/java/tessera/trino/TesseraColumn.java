package tessera.trino;

import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ColumnMetadata;
import io.trino.spi.type.Type;
import java.util.Locale;

/**
 * A column of a table, or a value of groups.
 *
 * @param name its name in the server
 * @param type its type in Trino
 * @param sqlType name of its type of SQL, without digits; empty when it is not known
 */
public record TesseraColumn(String name, Type type, String sqlType) implements ColumnHandle {
  /** The column as Trino shows it, whose names are in small letters. */
  ColumnMetadata metadata() {
    return new ColumnMetadata(name.toLowerCase(Locale.ENGLISH), type);
  }
}
