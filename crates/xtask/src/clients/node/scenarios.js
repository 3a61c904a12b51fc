// Scenarios of node-postgres: node scenarios.js PORT PASSWORD. What each came to is printed as
// "status\tscenario\twhy".
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import Cursor from 'pg-cursor'

const [port, password] = process.argv.slice(2)
const place = { host: '127.0.0.1', port: Number(port), user: 'tessera', database: 'tessera', password }
const LONG = 'select count(*) from generate_series(1, 1000000000000) as g(i) where i % 7 = 3'

const first = async (client, text, values) => (await client.query({ text, values, rowMode: 'array' })).rows[0]
const refused = (code, promise) => assert.rejects(promise, (error) => error.code === code || assert.fail(error))

const scenarios = {
  async 'connects'(client) {
    assert.deepEqual(await first(client, 'select 1'), [1])
  },

  async 'wrong password'() {
    const client = new pg.Client({ ...place, password: 'wrong' })
    await refused('28P01', client.connect())
  },

  async 'values, dates, times'(client) {
    const moment = new Date('2026-01-02T03:04:05.678Z')
    const sql = `select $1::int4, $2::int8, $3::numeric, $4::text, $5::bool, $6::float8, $7::timestamptz,
      $8::bytea, $9::uuid, $10::date::text, $11::interval`
    const sent = [7, '9007199254740993', '12.5', "x'y", true, 0.1, moment, Buffer.from([0, 1, 255]),
      'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1999-12-31', '1 day 02:00:00']
    const found = await first(client, sql, sent)
    const { days, hours } = found.pop()
    assert.deepEqual([days, hours], [1, 2])
    assert.deepEqual(found, sent.slice(0, -1))
  },

  async 'nulls'(client) {
    const found = await first(client, 'select $1::int4, $2::text, $3::timestamptz', [null, null, undefined])
    assert.deepEqual(found, [null, null, null])
  },

  async 'names and types of columns'(client) {
    const { fields } = await client.query("select 1 as a, 'x'::text as b, 1.5::numeric as c where false")
    assert.deepEqual(fields.map((field) => [field.name, field.dataTypeID]), [['a', 23], ['b', 25], ['c', 1700]])
  },

  async 'prepared statement, 200 times'(client) {
    for (let i = 0; i < 200; i++) {
      const { rows } = await client.query({ name: 'plus', text: 'select $1::int4 + 1 as n', values: [i] })
      assert.equal(rows[0].n, i + 1)
    }
  },

  async 'several statements in one text'(client) {
    const results = await client.query('create temp table m (a int); insert into m values (1), (2); select * from m')
    assert.deepEqual(results.map((result) => result.command), ['CREATE', 'INSERT', 'SELECT'])
    assert.equal(results[1].rowCount, 2)
  },

  async 'failed transaction'(client) {
    await client.query('begin')
    await refused('22012', client.query('select 1/0'))
    await refused('25P02', client.query('select 1'))
    await client.query('rollback')
    assert.deepEqual(await first(client, 'select 1'), [1])
  },

  async 'errors have fields'(client) {
    await client.query('create temp table e (a int constraint positive check (a > 0))')
    const error = await client.query('insert into e values (-1)').catch((error) => error)
    assert.equal(error.code, '23514')
    assert.equal(error.severity, 'ERROR')
    const place = await client.query('select nothing').catch((error) => error)
    assert.deepEqual([place.code, place.position], ['42703', '8'])
  },

  async 'returning'(client) {
    await client.query('create temp table r (id int generated always as identity, t text)')
    const { rows } = await client.query('insert into r (t) values ($1), ($2) returning id, t', ['a', 'b'])
    assert.deepEqual(rows, [{ id: 1, t: 'a' }, { id: 2, t: 'b' }])
  },

  async 'portals by cursor'(client) {
    const cursor = client.query(new Cursor('select i from generate_series(1, $1::int) as g(i)', [1050]))
    let sum = 0
    for (let rows = await cursor.read(100); rows.length > 0; rows = await cursor.read(100)) {
      sum += rows.reduce((total, row) => total + row.i, 0)
    }
    assert.equal(sum, (1050 * 1051) / 2)
    const left = client.query(new Cursor('select * from generate_series(1, 1000)'))
    await left.read(10)
    await left.close()
    assert.deepEqual(await first(client, 'select 2'), [2])
  },

  async 'copy of 100,000 rows'(client) {
    await client.query('create temp table c (a int, b text)')
    function * lines() {
      for (let i = 0; i < 100000; i++) yield `${i}\t${i % 10 === 0 ? '\\N' : `row ${i}`}\n`
    }
    await pipeline(Readable.from(lines()), client.query(copyFrom('copy c from stdin')))
    assert.deepEqual(await first(client, 'select count(*) as n, count(b) as b from c'), ['100000', '90000'])
    let bytes = 0
    const out = client.query(copyTo('copy c to stdout'))
    out.on('data', (chunk) => { bytes += chunk.length })
    await once(out, 'end')
    assert.ok(bytes > 1000000)
  },

  async 'cancel from another connection'(client) {
    const [pid] = await first(client, 'select pg_backend_pid()')
    assert.equal(pid, client.processID)
    const query = new pg.Query(LONG)
    const failed = once(query, 'error')
    client.query(query)
    await new Promise((resolve) => setTimeout(resolve, 300))
    new pg.Client(place).cancel(client, query)
    assert.equal((await failed)[0].code, '57014')
    assert.deepEqual(await first(client, 'select 1'), [1])
  },

  async 'statement timeout'() {
    const client = new pg.Client({ ...place, statement_timeout: 200 })
    await client.connect()
    await refused('57014', client.query(LONG))
    await client.end()
  },

  async 'text of 8 MB'(client) {
    const text = 'größer '.repeat(1 << 20)
    assert.equal((await first(client, 'select $1::text', [text]))[0], text)
  },

  async 'pool of 200 busy connections'() {
    const pool = new pg.Pool({ ...place, max: 200 })
    await pool.query('drop table if exists node_busy')
    await pool.query('create table node_busy (client int, n int, primary key (client, n))')
    const insert = async (client) => {
      for (let n = 0; n < 20; n++) await pool.query('insert into node_busy values ($1, $2)', [client, n])
    }
    await Promise.all(Array.from({ length: 200 }, (_, client) => insert(client)))
    assert.deepEqual(await first(pool, 'select count(*) from node_busy'), ['4000'])
    await pool.end()
  },

  async arrays(client) {
    assert.deepEqual(await first(client, 'select 2 = any($1::int[])', [[1, 2]]), [true])
    assert.deepEqual(await first(client, 'select $1::text[]', [['a', 'b']]), [['a', 'b']])
  },

  async 'listen and notify'(client) {
    await client.query('listen news')
    const heard = once(client, 'notification', { signal: AbortSignal.timeout(5000) })
    await client.query("notify news, 'hello'")
    assert.equal((await heard)[0].payload, 'hello')
  },

  async notices(client) {
    const heard = once(client, 'notice', { signal: AbortSignal.timeout(2000) })
    await client.query('drop table if exists node_nothing')
    assert.equal((await heard)[0].code, '00000')
  },
}

for (const [name, run] of Object.entries(scenarios)) {
  const client = new pg.Client(place)
  client.on('error', () => {})
  let [status, why] = ['ok', '']
  try {
    await client.connect()
    await run(client)
  } catch (error) {
    status = 'FAILED'
    why = String(error.message ?? error).replace(/\s+/g, ' ')
  }
  await client.end().catch(() => {})
  console.log(`${status}\t${name}\t${why}`)
}
