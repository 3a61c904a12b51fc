// Scenarios of TypeORM and Sequelize: node orm.js PORT PASSWORD CLIENT. What each came to is printed as
// "status\tscenario\twhy". Expectations are what PostgreSQL 15 gives the same client.
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { DataSource, EntitySchema, Table, TableColumn, TableIndex } = require('typeorm')
const { DataTypes, Op, Sequelize } = require('sequelize')

const [port, password, only] = process.argv.slice(2)
const user = process.env.CLIENT_USER ?? 'tessera'
const database = process.env.CLIENT_DATABASE ?? 'tessera'

const author = new EntitySchema({
  name: 'TypeAuthor',
  columns: {
    id: { type: Number, primary: true, generated: 'increment' },
    name: { type: 'varchar', length: 40, unique: true },
    born: { type: 'date', nullable: true },
    score: { type: 'numeric', precision: 10, scale: 2, default: 0 },
    data: { type: 'jsonb', nullable: true },
    tags: { type: 'text', array: true, default: '{}' },
    made: { type: 'timestamptz', createDate: true },
  },
  relations: { books: { type: 'one-to-many', target: 'TypeBook', inverseSide: 'author' } },
  indices: [{ columns: ['born'] }],
})
const book = new EntitySchema({
  name: 'TypeBook',
  columns: { id: { type: 'uuid', primary: true, generated: 'uuid' }, title: { type: 'text' } },
  relations: { author: { type: 'many-to-one', target: 'TypeAuthor', inverseSide: 'books', onDelete: 'CASCADE' } },
})

const DROP = 'drop table if exists type_book, type_author, moved cascade'

async function withTypeorm(run) {
  const place = { type: 'postgres', host: '127.0.0.1', port: Number(port), username: user, password, database }
  const source = new DataSource({ ...place, entities: [author, book], uuidExtension: 'pgcrypto', installExtensions: false })
  await source.initialize()
  try {
    await source.query(DROP)
    await source.synchronize()
    await run(source)
  } finally {
    await source.query(DROP)
    await source.destroy()
  }
}

async function withSequelize(run) {
  const place = { dialect: 'postgres', host: '127.0.0.1', port: Number(port), logging: false }
  const db = new Sequelize(database, user, password, place)
  const Person = db.define('seq_person', {
    name: { type: DataTypes.STRING(40), unique: true },
    age: { type: DataTypes.INTEGER, defaultValue: 1 },
    price: DataTypes.DECIMAL(10, 2),
    data: DataTypes.JSONB,
    tags: DataTypes.ARRAY(DataTypes.TEXT),
  }, { indexes: [{ fields: ['age', 'name'] }] })
  const Pet = db.define('seq_pet', { kind: DataTypes.TEXT })
  Person.hasMany(Pet, { foreignKey: 'owner', onDelete: 'CASCADE' })
  Pet.belongsTo(Person, { foreignKey: 'owner' })
  try {
    await db.sync({ force: true })
    await run(db, Person, Pet)
  } finally {
    await db.drop()
    await db.close()
  }
}

const typeorm = {
  'synchronize finds nothing to change the second time': (source) => source.driver.createSchemaBuilder().log()
    .then((log) => assert.deepEqual(log.upQueries.map((query) => query.query), [])),

  async 'entities with relations'(source) {
    const authors = source.getRepository('TypeAuthor')
    const saved = await authors.save({ name: 'Ada', born: '1815-12-10', data: { a: [1] }, tags: ['x', 'y'] })
    await source.getRepository('TypeBook').save([{ title: 'One', author: saved }, { title: 'Two', author: saved }])
    const [found] = await authors.find({ relations: { books: true }, order: { books: { title: 'DESC' } } })
    assert.deepEqual([found.name, found.born, found.score, found.data, found.tags], ['Ada', '1815-12-10', '0.00', { a: [1] }, ['x', 'y']])
    assert.deepEqual(found.books.map((one) => one.title), ['Two', 'One'])
    assert.equal(await authors.countBy({ name: 'Ada' }), 1)
  },

  async 'upsert gives each entity its id'(source) {
    const authors = source.getRepository('TypeAuthor')
    await authors.insert([{ name: 'a' }, { name: 'b' }])
    const rows = [{ name: 'a', score: 5 }, { name: 'new', score: 1 }, { name: 'b', score: 7 }]
    const { identifiers } = await authors.upsert(rows, ['name'])
    const names = await Promise.all(identifiers.map(({ id }) => authors.findOneBy({ id })))
    assert.deepEqual(names.map((one) => one.name), ['a', 'new', 'b'])
  },

  async 'getTable and changes of a table'(source) {
    const runner = source.createQueryRunner()
    const columns = [{ name: 'id', type: 'int', isPrimary: true }, { name: 'text', type: 'varchar', length: '20', default: "'x'" }]
    await runner.createTable(new Table({ name: 'moved', columns }), true)
    await runner.addColumn('moved', new TableColumn({ name: 'extra', type: 'numeric(8,3)', isNullable: true }))
    await runner.createIndex('moved', new TableIndex({ name: 'moved_text', columnNames: ['text'] }))
    const table = await runner.getTable('moved')
    assert.deepEqual(table.columns.map((c) => [c.name, c.type, c.length, c.default ?? null]),
      [['id', 'integer', '', null], ['text', 'character varying', '20', "'x'"], ['extra', 'numeric', '', null]])
    assert.deepEqual(table.indices.map((index) => [index.name, index.columnNames]), [['moved_text', ['text']]])
    await runner.changeColumn('moved', 'text', new TableColumn({ name: 'words', type: 'varchar', length: '20', isNullable: true }))
    await runner.dropColumn('moved', 'extra')
    assert.deepEqual((await runner.getTable('moved')).columns.map((c) => c.name), ['id', 'words'])
    await runner.release()
  },

  async 'query builder, paging, transaction'(source) {
    await source.transaction(async (manager) => {
      for (let i = 0; i < 20; i++) await manager.getRepository('TypeAuthor').insert({ name: `n${i}`, score: i })
    })
    const builder = source.getRepository('TypeAuthor').createQueryBuilder('a').leftJoinAndSelect('a.books', 'b')
    const [rows, count] = await builder.where('a.score >= :low', { low: 5 }).orderBy('a.score', 'DESC').skip(2).take(3).getManyAndCount()
    assert.deepEqual([rows.map((row) => row.name), count], [['n17', 'n16', 'n15'], 15])
  },
}

const sequelize = {
  async 'sync with alter changes nothing the second time'(db) {
    await db.sync({ alter: true })
    await db.sync({ alter: true })
    const described = await db.getQueryInterface().describeTable('seq_people')
    assert.deepEqual([described.id.primaryKey, described.name.type, described.price.type],
      [true, 'CHARACTER VARYING(40)', 'NUMERIC'])
  },

  async 'indexes and keys are found'(db) {
    const indexes = await db.getQueryInterface().showIndex('seq_people')
    const found = indexes.map((index) => [index.primary, index.unique, index.fields.map((field) => field.attribute)])
    assert.deepEqual(found.sort(), [[false, false, ['age', 'name']], [false, true, ['name']], [true, true, ['id']]].sort())
    const keys = await db.getQueryInterface().getForeignKeyReferencesForTable('seq_pets')
    assert.deepEqual(keys.map((key) => [key.columnName, key.referencedTableName]), [['owner', 'seq_people']])
  },

  async 'rows, includes, bulk upsert'(db, Person, Pet) {
    const ann = await Person.create({ name: 'Ann', price: '1.50', data: { a: 1 }, tags: ['x'] })
    await Pet.bulkCreate([{ kind: 'cat', owner: ann.id }, { kind: 'dog', owner: ann.id }])
    const rows = [{ name: 'Ann', age: 5 }, { name: 'Bob', age: 6 }]
    const made = await Person.bulkCreate(rows, { updateOnDuplicate: ['age'], conflictAttributes: ['name'] })
    assert.deepEqual(made.map((one) => one.id === ann.id), [true, false])
    const found = await Person.findAll({ include: Pet, where: { age: { [Op.gte]: 5 } }, order: [['id', 'ASC'], [Pet, 'kind', 'DESC']] })
    assert.deepEqual(found.map((one) => one.seq_pets.map((pet) => pet.kind)), [['dog', 'cat'], []])
    assert.deepEqual([found[0].price, found[0].data, found[0].tags], ['1.50', { a: 1 }, ['x']])
    const [, created] = await Person.findOrCreate({ where: { name: 'Cid' } })
    assert.equal(created, true)
    assert.equal(await Person.count({ where: { 'data.a': 1 } }), 1)
  },
}

const clients = { typeorm: [typeorm, withTypeorm], sequelize: [sequelize, withSequelize] }
const [scenarios, open] = clients[only]
for (const [name, run] of Object.entries(scenarios)) {
  let line = `ok\t${name}\t`
  try {
    await open(run)
  } catch (error) {
    line = `FAILED\t${name}\t${String(error.stack ?? error).split('\n').slice(0, 4).join(' ').replace(/\s+/g, ' ')}`
  }
  console.log(line)
}
