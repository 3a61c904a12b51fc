package tessera.trino;

import io.trino.spi.Plugin;
import io.trino.spi.connector.Connector;
import io.trino.spi.connector.ConnectorContext;
import io.trino.spi.connector.ConnectorFactory;
import java.util.List;
import java.util.Map;

/** Tables of Tessera as a catalog: {@code connector.name=tessera}. */
public final class TesseraPlugin implements Plugin {
  @Override
  public Iterable<ConnectorFactory> getConnectorFactories() {
    return List.of(
        new ConnectorFactory() {
          @Override
          public String getName() {
            return "tessera";
          }

          @Override
          public Connector create(String catalog, Map<String, String> properties, ConnectorContext context) {
            return new TesseraConnector(Settings.of(properties), context.getNodeManager());
          }
        });
  }
}
