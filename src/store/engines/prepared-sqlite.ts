/**
 * SQLite with the calls of Bun's SQL that the store uses: templates, lists, `unsafe`, `begin` and `close`. Bun's own adapter compiles every statement
 * anew, which costs more than running it; here each template is compiled once, and so are texts that come often.
 */
import { Database, type SQLQueryBindings, type Statement } from "bun:sqlite";
import type { SQL } from "bun";

type Row = Readonly<Record<string, SQLQueryBindings>>;

/** What `IN ${sql(values)}` and `INSERT INTO things ${sql(rows)}` stand for. */
class List {
  readonly text: string;
  readonly values: readonly SQLQueryBindings[];

  constructor(items: readonly (SQLQueryBindings | Row)[]) {
    const [first] = items;
    const columns = typeof first === "object" && first !== null ? Object.keys(first) : undefined;
    const holes = (count: number): string => `(${Array(count).fill("?").join(", ")})`;
    if (columns) {
      this.values = (items as readonly Row[]).flatMap((row) => columns.map((column) => row[column] ?? null));
      this.text = `(${columns.join(", ")}) VALUES ${Array(items.length).fill(holes(columns.length)).join(", ")}`;
    } else {
      this.values = items as readonly SQLQueryBindings[];
      this.text = holes(items.length);
    }
  }
}

type Part = SQLQueryBindings | List | undefined;

/** Opens the file, or creates it. */
export function openPrepared(path: string): SQL {
  const connection = new Connection(new Database(path, { readwrite: true, create: true }));
  const sql = (first: TemplateStringsArray | readonly SQLQueryBindings[], ...parts: Part[]): Promise<unknown> | List =>
    "raw" in first ? connection.template(first, parts) : new List(first);
  const calls = {
    unsafe: (text: string, values?: readonly Part[]) => connection.unsafe(text, values),
    begin: <T>(work: (tx: SQL) => Promise<T>) => connection.begin(() => work(asSql)),
    close: () => connection.close(),
  };
  // The store uses no other call.
  const asSql = Object.assign(sql, calls) as unknown as SQL;
  return asSql;
}

/** Texts of `unsafe` that stay compiled: some are put together, and then of many kinds. */
const COMPILED_TEXTS_MAX = 64;

class Connection {
  /** Bound: the templates of the code. A list makes its template another text each time, so those are not kept. */
  private readonly compiled = new Map<TemplateStringsArray, Statement>();
  /** Those that were used last, behind the others. Bound: COMPILED_TEXTS_MAX. */
  private readonly texts = new Map<string, Statement>();
  private readonly begun: Statement;
  private readonly committed: Statement;

  constructor(private readonly db: Database) {
    this.begun = db.prepare("BEGIN");
    this.committed = db.prepare("COMMIT");
  }

  async template(texts: TemplateStringsArray, parts: readonly Part[]): Promise<unknown[]> {
    const values: SQLQueryBindings[] = [];
    for (const part of parts) {
      if (part instanceof List) return this.once(withLists(texts, parts), parts.flatMap(valuesOf));
      values.push(part ?? null);
    }
    let statement = this.compiled.get(texts);
    if (!statement) {
      statement = this.db.prepare(texts.join("?"));
      this.compiled.set(texts, statement);
    }
    return statement.all(...values);
  }

  /** Several statements, as in a migration, have no values and no result. */
  async unsafe(text: string, values: readonly Part[] = []): Promise<unknown[]> {
    // A statement that explains another one stays in progress until it is finalized, and nothing could be committed.
    const isKept = values.length > 0 && !text.startsWith("EXPLAIN");
    if (isKept) return this.compiledText(text).all(...values.flatMap(valuesOf));
    if (values.length > 0 || !text.includes(";")) return this.once(text, values.flatMap(valuesOf));
    this.db.run(text);
    return [];
  }

  async begin<T>(work: () => Promise<T>): Promise<T> {
    this.begun.run();
    try {
      const result = await work();
      this.committed.run();
      return result;
    } catch (error) {
      // After errors such as a full disk, SQLite has rolled back itself.
      if (this.db.inTransaction) this.db.run("ROLLBACK");
      throw error;
    }
  }

  async close(): Promise<void> {
    // A statement that is left would keep the file locked.
    const compiled = [...this.compiled.values(), ...this.texts.values()];
    for (const statement of [this.begun, this.committed, ...compiled]) statement.finalize();
    this.compiled.clear();
    this.texts.clear();
    this.db.close();
  }

  private compiledText(text: string): Statement {
    const statement = this.texts.get(text) ?? this.db.prepare(text);
    this.texts.delete(text);
    this.texts.set(text, statement);
    const [oldest] = this.texts;
    if (this.texts.size > COMPILED_TEXTS_MAX && oldest) {
      this.texts.delete(oldest[0]);
      oldest[1].finalize();
    }
    return statement;
  }

  private once(text: string, values: readonly SQLQueryBindings[]): unknown[] {
    const statement = this.db.prepare(text);
    try {
      return statement.all(...values);
    } finally {
      statement.finalize();
    }
  }
}

const valuesOf = (part: Part): readonly SQLQueryBindings[] =>
  part instanceof List ? part.values : [part === undefined ? null : part];

const withLists = (texts: readonly string[], parts: readonly Part[]): string =>
  texts
    .map((text, i) => {
      const part = parts[i];
      return i >= parts.length ? text : `${text}${part instanceof List ? part.text : "?"}`;
    })
    .join("");
