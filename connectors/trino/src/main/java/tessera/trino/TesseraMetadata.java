package tessera.trino;

import io.trino.spi.StandardErrorCode;
import io.trino.spi.TrinoException;
import io.trino.spi.connector.AggregateFunction;
import io.trino.spi.connector.AggregationApplicationResult;
import io.trino.spi.connector.Assignment;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ColumnMetadata;
import io.trino.spi.connector.ConnectorMetadata;
import io.trino.spi.connector.ConnectorSession;
import io.trino.spi.connector.ConnectorTableHandle;
import io.trino.spi.connector.ConnectorTableMetadata;
import io.trino.spi.connector.ConnectorTableVersion;
import io.trino.spi.connector.Constraint;
import io.trino.spi.connector.ConstraintApplicationResult;
import io.trino.spi.connector.LimitApplicationResult;
import io.trino.spi.connector.ProjectionApplicationResult;
import io.trino.spi.connector.RelationColumnsMetadata;
import io.trino.spi.connector.SchemaTableName;
import io.trino.spi.expression.ConnectorExpression;
import io.trino.spi.expression.Variable;
import io.trino.spi.predicate.Domain;
import io.trino.spi.predicate.TupleDomain;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import tessera.scans.Server;

/** Tables and their columns, and what of a query is the server's: columns, conditions, limits, groups. */
final class TesseraMetadata implements ConnectorMetadata {
  private final Catalog catalog;

  TesseraMetadata(Server server) {
    catalog = new Catalog(server);
  }

  @Override
  public List<String> listSchemaNames(ConnectorSession session) {
    return Failures.told(catalog::schemas);
  }

  @Override
  public List<SchemaTableName> listTables(ConnectorSession session, Optional<String> schema) {
    return Failures.told(() -> List.copyOf(catalog.tables(schema, Optional.empty()).keySet()));
  }

  @Override
  public ConnectorTableHandle getTableHandle(
      ConnectorSession session,
      SchemaTableName name,
      Optional<ConnectorTableVersion> startVersion,
      Optional<ConnectorTableVersion> endVersion) {
    if (startVersion.isPresent() || endVersion.isPresent()) {
      throw new TrinoException(StandardErrorCode.NOT_SUPPORTED, "tessera reads the newest version of a table alone");
    }
    return Failures.told(() -> catalog.table(name)).orElse(null);
  }

  @Override
  public ConnectorTableMetadata getTableMetadata(ConnectorSession session, ConnectorTableHandle handle) {
    TesseraTable table = (TesseraTable) handle;
    return new ConnectorTableMetadata(table.shown(), columns(table));
  }

  private static List<ColumnMetadata> columns(TesseraTable table) {
    return table.all().stream().map(TesseraColumn::metadata).toList();
  }

  @Override
  public Map<String, ColumnHandle> getColumnHandles(ConnectorSession session, ConnectorTableHandle handle) {
    Map<String, ColumnHandle> columns = new LinkedHashMap<>();
    for (TesseraColumn column : ((TesseraTable) handle).all()) {
      if (columns.put(column.metadata().getName(), column) != null) {
        String message = "two columns are called \"" + column.name() + "\" in small letters";
        throw new TrinoException(StandardErrorCode.NOT_SUPPORTED, message);
      }
    }
    return columns;
  }

  @Override
  public ColumnMetadata getColumnMetadata(ConnectorSession session, ConnectorTableHandle table, ColumnHandle column) {
    return ((TesseraColumn) column).metadata();
  }

  @Override
  public Iterator<RelationColumnsMetadata> streamRelationColumns(
      ConnectorSession session, Optional<String> schema, UnaryOperator<Set<SchemaTableName>> visible) {
    List<RelationColumnsMetadata> found = new ArrayList<>();
    Set<SchemaTableName> names = Failures.told(() -> catalog.tables(schema, Optional.empty()).keySet());
    for (SchemaTableName name : visible.apply(names)) {
      // What was dropped meanwhile is none.
      Failures.told(() -> catalog.table(name))
          .ifPresent(table -> found.add(RelationColumnsMetadata.forTable(name, columns(table))));
    }
    return found.iterator();
  }

  @Override
  public Optional<ConstraintApplicationResult<ConnectorTableHandle>> applyFilter(
      ConnectorSession session, ConnectorTableHandle handle, Constraint constraint) {
    TesseraTable table = (TesseraTable) handle;
    if (!table.isPlain()) {
      return Optional.empty();
    }
    List<String> pushed = new ArrayList<>();
    Map<ColumnHandle, Domain> left = new HashMap<>();
    constraint.getSummary().getDomains().ifPresentOrElse(
        domains ->
            domains.forEach(
                (column, domain) -> {
                  Optional<Domains.Condition> condition = Domains.of((TesseraColumn) column, domain);
                  condition.ifPresent(found -> pushed.add(found.sql()));
                  if (condition.isEmpty() || !condition.get().isExact()) {
                    left.put(column, domain);
                  }
                }),
        () -> pushed.add("false"));
    Conditions sql = new Conditions(constraint.getAssignments());
    List<ConnectorExpression> rest = new ArrayList<>();
    for (ConnectorExpression conjunct : Conditions.conjuncts(constraint.getExpression())) {
      sql.of(conjunct).ifPresentOrElse(pushed::add, () -> rest.add(conjunct));
    }
    // Trino asks again, until nothing is new.
    pushed.removeAll(table.conditions());
    if (pushed.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        new ConstraintApplicationResult<>(
            table.withConditions(pushed), TupleDomain.withColumnDomains(left), Conditions.and(rest), false));
  }

  @Override
  public Optional<ProjectionApplicationResult<ConnectorTableHandle>> applyProjection(
      ConnectorSession session,
      ConnectorTableHandle handle,
      List<ConnectorExpression> projections,
      Map<String, ColumnHandle> variables) {
    TesseraTable table = (TesseraTable) handle;
    List<TesseraColumn> read = variables.values().stream().map(TesseraColumn.class::cast).distinct().toList();
    if (table.groups().isPresent() || Set.copyOf(table.columns().orElse(table.all())).equals(Set.copyOf(read))) {
      return Optional.empty();
    }
    List<Assignment> assignments = new ArrayList<>();
    variables.forEach(
        (name, column) -> assignments.add(new Assignment(name, column, ((TesseraColumn) column).type())));
    return Optional.of(new ProjectionApplicationResult<>(table.withColumns(read), projections, assignments, false));
  }

  @Override
  public Optional<LimitApplicationResult<ConnectorTableHandle>> applyLimit(
      ConnectorSession session, ConnectorTableHandle handle, long limit) {
    TesseraTable table = (TesseraTable) handle;
    boolean isSmaller = table.limit().isEmpty() || table.limit().get() > limit;
    if (table.groups().isPresent() || !isSmaller || limit > Integer.MAX_VALUE) {
      return Optional.empty();
    }
    return Optional.of(new LimitApplicationResult<>(table.withLimit((int) limit), true, false));
  }

  @Override
  public Optional<AggregationApplicationResult<ConnectorTableHandle>> applyAggregation(
      ConnectorSession session,
      ConnectorTableHandle handle,
      List<AggregateFunction> functions,
      Map<String, ColumnHandle> variables,
      List<List<ColumnHandle>> groupings) {
    TesseraTable table = (TesseraTable) handle;
    if (!table.isPlain() || groupings.size() != 1) {
      return Optional.empty();
    }
    return new Aggregates(variables)
        .of(functions, groupings.get(0))
        .map(
            groups -> {
              List<ConnectorExpression> projections = new ArrayList<>();
              List<Assignment> assignments = new ArrayList<>();
              for (TesseraTable.Value value : groups.values()) {
                TesseraColumn column = value.column();
                projections.add(new Variable(column.name(), column.type()));
                assignments.add(new Assignment(column.name(), column, column.type()));
              }
              return new AggregationApplicationResult<ConnectorTableHandle>(
                  table.withGroups(groups), projections, assignments, Map.of(), false);
            });
  }
}
