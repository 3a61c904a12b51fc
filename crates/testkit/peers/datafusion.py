# DataFusion: tables of Arrow batches in memory, one partition per thread.

import datafusion


class DataFusion:
    """A session context."""

    def __init__(self, _file, threads):
        config = datafusion.SessionConfig().with_target_partitions(threads)
        self.context = datafusion.SessionContext(config)

    def rows(self, sql):
        """The rows of a query."""
        frame = self.context.sql(sql)
        batches = frame.collect()
        rows = [
            [cell(value) for value in row]
            for batch in batches
            for row in zip(*(column.to_pylist() for column in batch.columns))
        ]
        return {"types": [str(field.type) for field in frame.schema()], "rows": rows}

    def time(self, sql):
        """Runs a query; its batches stay as they are."""
        start = time.perf_counter()
        batches = self.context.sql(sql).collect()
        return timed(time.perf_counter() - start, sum(batch.num_rows for batch in batches))

    def warm(self, sql):
        """Runs a query a few times."""
        return min((self.time(sql) for _ in range(3)), key=lambda reply: reply["seconds"])

    def done(self, sql):
        """Runs a statement."""
        return self.time(sql)

    def load(self, table, file):
        """Makes a table from a Parquet file."""
        start = time.perf_counter()
        self.context.register_parquet("loaded", file)
        self.context.sql(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM loaded").collect()
        self.context.deregister_table("loaded")
        return timed(time.perf_counter() - start)

    def profile(self, sql):
        """Seconds of planning, parsing included; it does not say what memory it takes."""
        start = time.perf_counter()
        self.context.sql(sql).execution_plan()
        return {"planning": time.perf_counter() - start, "bytes": None}


serve(DataFusion)
