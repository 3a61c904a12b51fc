# Writes the tables and queries of TPC-DS into a folder: T.parquet and N.sql.

import pathlib
import sys

import duckdb
from duckdb_extensions import import_extension

folder, scale = pathlib.Path(sys.argv[1]), sys.argv[2]
import_extension("tpcds")
connection = duckdb.connect()
connection.execute("LOAD tpcds")
connection.execute(f"CALL dsdgen(sf = {scale})")
for (table,) in connection.execute("SHOW TABLES").fetchall():
    connection.execute(f"COPY {table} TO '{folder / table}.parquet' (FORMAT parquet)")
queries = connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall()
for number, query in queries:
    (folder / f"{number}.sql").write_text(query)
