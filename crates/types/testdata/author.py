#!/usr/bin/env python3
"""Fills the last column of golden files with PostgreSQL's answers: author.py FILE... (psql settings from the environment).

A line is `parse TYPE INPUT ANSWER` or `cast FROM TO INPUT ANSWER` or `eval EXPRESSION ANSWER`, separated by
tabs, `\\t`, `\\n` and `\\\\` escaped; an error's answer is `!SQLSTATE`, NULL's is `NULL`. Answers that Tessera gives
otherwise on purpose end in a tab and `# reason`; they are left alone.
"""
import subprocess
import sys

FUNCTION = """
set client_min_messages = error; set timezone = 'UTC'; set intervalstyle = postgres; set bytea_output = hex;
create or replace function pg_temp.answer(kind text, a text, b text, c text) returns text language plpgsql as $$
declare result text;
begin
  if kind = 'parse' then
    execute 'drop table if exists pg_temp.one';
    execute format('create temp table one (c %s)', a);
    execute format('insert into one values (%L)', b);
    select format('%s', one.c) into result from one;
    if result = '' and (select one.c is null from one) then return 'NULL'; end if;
  elsif kind = 'cast' then
    execute format('select case when v is null then ''NULL'' else format(''%%s'', v) end from (select cast(cast(%L as %s) as %s)) s(v)', c, a, b) into result;
  else
    execute format('select case when v is null then ''NULL'' else format(''%%s'', v) end from (select %s) s(v)', a) into result;
  end if;
  return result;
exception when others then return '!' || sqlstate;
end $$;
"""


def unescape(text):
    return text.replace("\\\\", "\0").replace("\\t", "\t").replace("\\n", "\n").replace("\0", "\\")


def escape(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def quote(text):
    return "'" + text.replace("'", "''") + "'"


ARITY = {"parse": 2, "cast": 3, "eval": 1}
for path in sys.argv[1:]:
    lines = [line.rstrip("\n") for line in open(path)]
    wanted = [i for i, line in enumerate(lines) if line and not line.startswith("#") and "\t# " not in line]
    sql = [FUNCTION]
    for i in wanted:
        kind, *fields = lines[i].split("\t")
        inputs = [unescape(f) for f in fields[: ARITY[kind]]]
        arguments = ", ".join(quote(f) for f in inputs + [""] * (3 - len(inputs)))
        sql.append(f"select encode(convert_to(pg_temp.answer('{kind}', {arguments}), 'UTF8'), 'hex');")
    run = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1"], input="\n".join(sql), capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    answers = run.stdout.split("\n")[: len(wanted)]
    for i, answer in zip(wanted, answers):
        fields = lines[i].split("\t")
        fields = fields[: 1 + ARITY[fields[0]]]
        lines[i] = "\t".join(fields + [escape(bytes.fromhex(answer).decode())])
    open(path, "w").write("\n".join(lines) + "\n")
