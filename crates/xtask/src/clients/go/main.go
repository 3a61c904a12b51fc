// Scenarios of pgx: main PORT PASSWORD. What each came to is printed as "status\tscenario\twhy".
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

const long = "select count(*) from generate_series(1, 1000000000000) as g(i) where i % 7 = 3"

var url string

type scenario struct {
	name string
	run  func(context.Context, *pgx.Conn) error
}

func expect(found, wanted any) error {
	if reflect.DeepEqual(found, wanted) {
		return nil
	}
	return fmt.Errorf("%v instead of %v", found, wanted)
}

// refused is nil when err has the SQLSTATE.
func refused(err error, state string) error {
	var server *pgconn.PgError
	if errors.As(err, &server) && server.Code == state {
		return nil
	}
	return fmt.Errorf("not refused with %s: %v", state, err)
}

// all runs the steps until one fails.
func all(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func value[T any](ctx context.Context, client *pgx.Conn, sql string, arguments ...any) (T, error) {
	var found T
	err := client.QueryRow(ctx, sql, arguments...).Scan(&found)
	return found, err
}

func equal[T any](ctx context.Context, client *pgx.Conn, wanted T, sql string, arguments ...any) error {
	found, err := value[T](ctx, client, sql, arguments...)
	if err != nil {
		return err
	}
	return expect(found, wanted)
}

func execute(ctx context.Context, client *pgx.Conn, statements ...string) error {
	for _, sql := range statements {
		if _, err := client.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func wrongPassword(ctx context.Context, _ *pgx.Conn) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return err
	}
	config.Password = "wrong"
	_, err = pgx.ConnectConfig(ctx, config)
	return refused(err, "28P01")
}

func numbers(ctx context.Context, client *pgx.Conn) error {
	for _, text := range []string{"0", "-1", "12345678901234567890.0123456789", "0.0001", "-99999.5", "1000000"} {
		var sent pgtype.Numeric
		if err := sent.Scan(text); err != nil {
			return err
		}
		found, err := value[pgtype.Numeric](ctx, client, "select $1::numeric(38, 10)", sent)
		if err != nil {
			return err
		}
		back, err := value[string](ctx, client, "select ($1::numeric(38, 10) = $2::numeric(38, 10))::text", found, sent)
		if err != nil || back != "true" {
			return fmt.Errorf("%s came back as %v %v", text, found, err)
		}
	}
	return all(
		func() error { return equal(ctx, client, int16(-32768), "select (-32768)::int2") },
		func() error {
			return equal(ctx, client, int64(9007199254740993), "select $1::int8", int64(9007199254740993))
		},
		func() error { return equal(ctx, client, 0.1, "select $1::float8", 0.1) },
		func() error { return equal(ctx, client, float32(1.5), "select $1::float4", float32(1.5)) },
	)
}

func values(ctx context.Context, client *pgx.Conn) error {
	moment := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	day := time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)
	key := [16]byte{0xa0, 0xee, 0xbc, 0x99, 0x9c, 0x0b, 0x4e, 0xf8, 0xbb, 0x6d, 0x6b, 0xb9, 0xbd, 0x38, 0x0a, 0x11}
	return all(
		func() error { return equal(ctx, client, "x'y", "select $1::text", "x'y") },
		func() error { return equal(ctx, client, []byte{0, 1, 255}, "select $1::bytea", []byte{0, 1, 255}) },
		func() error { return equal(ctx, client, true, "select $1::bool", true) },
		func() error { return equal(ctx, client, day, "select $1::date", day) },
		func() error { return equal(ctx, client, moment, "select $1::timestamp", moment) },
		func() error {
			found, err := value[time.Time](ctx, client, "select $1::timestamptz", moment)
			if err == nil && !found.Equal(moment) {
				err = expect(found, moment)
			}
			return err
		},
		func() error {
			sent := pgtype.Interval{Months: 14, Days: 3, Microseconds: 5000000, Valid: true}
			return equal(ctx, client, sent, "select $1::interval", sent)
		},
		func() error {
			return equal(ctx, client, pgtype.UUID{Bytes: key, Valid: true}, "select $1::uuid", pgtype.UUID{Bytes: key, Valid: true})
		},
	)
}

func nulls(ctx context.Context, client *pgx.Conn) error {
	var a *int32
	var b *string
	var c pgtype.Numeric
	var d *time.Time
	err := client.QueryRow(ctx, "select $1::int4, $2::text, null::numeric, null::timestamptz", nil, nil).Scan(&a, &b, &c, &d)
	if err != nil {
		return err
	}
	return expect(a == nil && b == nil && !c.Valid && d == nil, true)
}

func prepared(ctx context.Context, client *pgx.Conn) error {
	if _, err := client.Prepare(ctx, "plus", "select $1::int4 + $2::int4"); err != nil {
		return err
	}
	for i := range int32(200) {
		if err := equal(ctx, client, i+1, "plus", i, int32(1)); err != nil {
			return err
		}
	}
	return client.Deallocate(ctx, "plus")
}

func batches(ctx context.Context, client *pgx.Conn) error {
	if err := execute(ctx, client, "create temp table b (a int primary key)"); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for i := range 500 {
		batch.Queue("insert into b values ($1)", i)
	}
	batch.Queue("select count(*), sum(a) from b")
	results := client.SendBatch(ctx, batch)
	for range 500 {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	var count, sum int64
	if err := results.QueryRow().Scan(&count, &sum); err != nil {
		return err
	}
	if err := results.Close(); err != nil {
		return err
	}
	return expect([2]int64{count, sum}, [2]int64{500, 124750})
}

func batchFails(ctx context.Context, client *pgx.Conn) error {
	if err := execute(ctx, client, "create temp table b (a int primary key)"); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for _, i := range []int{1, 2, 1, 3} {
		batch.Queue("insert into b values ($1)", i)
	}
	if err := refused(client.SendBatch(ctx, batch).Close(), "23505"); err != nil {
		return err
	}
	return equal(ctx, client, int64(0), "select count(*) from b")
}

func copies(ctx context.Context, client *pgx.Conn) error {
	if err := execute(ctx, client, "create temp table c (a int8, b text, c numeric(20, 4), d timestamptz)"); err != nil {
		return err
	}
	now := time.Now()
	source := pgx.CopyFromSlice(100000, func(i int) ([]any, error) {
		var price pgtype.Numeric
		if err := price.Scan(fmt.Sprintf("%d.25", i)); err != nil {
			return nil, err
		}
		if i%10 == 0 {
			return []any{int64(i), nil, price, nil}, nil
		}
		return []any{int64(i), fmt.Sprintf("row %d", i), price, now}, nil
	})
	copied, err := client.CopyFrom(ctx, pgx.Identifier{"c"}, []string{"a", "b", "c", "d"}, source)
	if err != nil {
		return err
	}
	return all(
		func() error { return expect(copied, int64(100000)) },
		func() error { return equal(ctx, client, int64(90000), "select count(b) from c") },
		func() error { return equal(ctx, client, "4999975000.0000", "select sum(c)::text from c") },
	)
}

func aborted(ctx context.Context, client *pgx.Conn) error {
	tx, err := client.Begin(ctx)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "select 1/0")
	if err := refused(err, "22012"); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "select 1")
	if err := refused(err, "25P02"); err != nil {
		return err
	}
	if err := tx.Commit(ctx); !errors.Is(err, pgx.ErrTxCommitRollback) {
		return fmt.Errorf("commit of a failed transaction: %v", err)
	}
	return equal(ctx, client, int32(1), "select 1")
}

func savepoints(ctx context.Context, client *pgx.Conn) error {
	if err := execute(ctx, client, "create temp table s (a int primary key)"); err != nil {
		return err
	}
	tx, err := client.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err = tx.Exec(ctx, "insert into s values (1)"); err != nil {
		return err
	}
	inner, err := tx.Begin(ctx)
	if err != nil {
		return err
	}
	_, err = inner.Exec(ctx, "insert into s values (1)")
	if err := refused(err, "23505"); err != nil {
		return err
	}
	if err := inner.Rollback(ctx); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	return equal(ctx, client, int64(1), "select count(*) from s")
}

// Two serializable transactions that each read what the other writes: one must fail.
func serializable(ctx context.Context, client *pgx.Conn) error {
	err := execute(ctx, client, "drop table if exists go_skew", "create table go_skew (a int primary key, v int)",
		"insert into go_skew values (1, 1), (2, 1)")
	if err != nil {
		return err
	}
	other, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer other.Close(ctx)
	options := pgx.TxOptions{IsoLevel: pgx.Serializable}
	one, err := client.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	two, err := other.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	var sum int64
	for i, tx := range []pgx.Tx{one, two} {
		if err := tx.QueryRow(ctx, "select sum(v) from go_skew").Scan(&sum); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "update go_skew set v = 0 where a = $1", i+1); err != nil {
			return refused(err, "40001")
		}
	}
	first, second := one.Commit(ctx), two.Commit(ctx)
	if first != nil {
		return refused(first, "40001")
	}
	return refused(second, "40001")
}

func cancels(ctx context.Context, client *pgx.Conn) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return err
	}
	// pgx closes the connection when a context ends, unless it is told to cancel the statement.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 20 * time.Second}
	}
	own, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer own.Close(ctx)
	brief, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	_, err = own.Exec(brief, long)
	if err := refused(err, "57014"); err != nil {
		return err
	}
	return equal(ctx, own, int32(1), "select 1")
}

func timeouts(ctx context.Context, client *pgx.Conn) error {
	if err := execute(ctx, client, "set statement_timeout = '200ms'"); err != nil {
		return err
	}
	_, err := client.Exec(ctx, long)
	if err := refused(err, "57014"); err != nil {
		return err
	}
	return execute(ctx, client, "reset statement_timeout", "select 1")
}

func largeText(ctx context.Context, client *pgx.Conn) error {
	text := strings.Repeat("größer ", 1<<20)
	return equal(ctx, client, text, "select $1::text", text)
}

func simple(ctx context.Context, client *pgx.Conn) error {
	mode := pgx.QueryExecModeSimpleProtocol
	return all(
		func() error { return equal(ctx, client, "it's 5", "select $1 || $2", mode, "it's ", "5") },
		func() error { return equal(ctx, client, int32(7), "select $1::int4 + 2", mode, 5) },
	)
}

func busy(ctx context.Context, _ *pgx.Conn) error {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return err
	}
	config.MaxConns = 200
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "drop table if exists go_busy"); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, "create table go_busy (client int, n int, primary key (client, n))"); err != nil {
		return err
	}
	failures := make(chan error, 200)
	var group sync.WaitGroup
	for client := range 200 {
		group.Go(func() {
			for n := range 20 {
				if _, err := pool.Exec(ctx, "insert into go_busy values ($1, $2)", client, n); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(failures)
	if err := <-failures; err != nil {
		return err
	}
	var count int64
	if err := pool.QueryRow(ctx, "select count(*) from go_busy").Scan(&count); err != nil {
		return err
	}
	return expect(count, int64(4000))
}

func arrays(ctx context.Context, client *pgx.Conn) error {
	return all(
		func() error { return equal(ctx, client, true, "select 2 = any($1::int4[])", []int32{1, 2}) },
		func() error { return equal(ctx, client, []string{"a", "b"}, "select $1::text[]", []string{"a", "b"}) },
	)
}

func notifications(ctx context.Context, client *pgx.Conn) error {
	if err := execute(ctx, client, "listen news", "notify news, 'hello'"); err != nil {
		return err
	}
	brief, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	found, err := client.WaitForNotification(brief)
	if err != nil {
		return err
	}
	return expect(found.Payload, "hello")
}

var scenarios = []scenario{
	{name: "connects", run: func(ctx context.Context, c *pgx.Conn) error { return c.Ping(ctx) }},
	{name: "wrong password", run: wrongPassword},
	{name: "numbers in binary", run: numbers},
	{name: "values, dates, times", run: values},
	{name: "nulls", run: nulls},
	{name: "prepared statement, 200 times", run: prepared},
	{name: "SendBatch of 500", run: batches},
	{name: "a batch fails as a whole", run: batchFails},
	{name: "CopyFrom of 100,000 rows", run: copies},
	{name: "failed transaction", run: aborted},
	{name: "savepoints", run: savepoints},
	{name: "serializable, write skew", run: serializable},
	{name: "cancel by context", run: cancels},
	{name: "statement timeout", run: timeouts},
	{name: "text of 8 MB", run: largeText},
	{name: "simple protocol", run: simple},
	{name: "pool of 200 busy connections", run: busy},
	{name: "arrays", run: arrays},
	{name: "listen and notify", run: notifications},
}

func attempt(ctx context.Context, scenario scenario) error {
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	client, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer client.Close(ctx)
	return scenario.run(ctx, client)
}

func main() {
	url = fmt.Sprintf("postgres://tessera:%s@127.0.0.1:%s/tessera?sslmode=disable", os.Args[2], os.Args[1])
	for _, scenario := range scenarios {
		err := attempt(context.Background(), scenario)
		if err == nil {
			fmt.Printf("ok\t%s\t\n", scenario.name)
		} else {
			fmt.Printf("FAILED\t%s\t%s\n", scenario.name, oneLine(err))
		}
	}
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
