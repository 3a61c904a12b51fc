# Compiles and runs the scenarios: sh run.sh PORT PASSWORD, in their directory.
set -e
DATABASE_URL="postgres://tessera:$2@127.0.0.1:$1/tessera"
export DATABASE_URL
psql -q -X -v ON_ERROR_STOP=1 -f setup.sql "$DATABASE_URL" 2>/dev/null
# The server is another one each time, so that what was checked before does not count.
touch src/main.rs
if why=$(cargo build --quiet --target-dir target 2>&1); then
    exec target/debug/clients-sqlx
fi
why=$(printf '%s' "$why" | grep '^error' | head -n 3 | tr '\n\t' '  ')
printf 'FAILED\tquery! checked while compiled\t%s\n' "$why"
