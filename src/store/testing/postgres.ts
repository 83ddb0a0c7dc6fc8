/** For tests: a PostgreSQL server (of Debian's package) on a free port, in a temporary folder, run by an unprivileged user. */
import { chownSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { freePort } from "../../testing/ports.ts";

const USER = "parley";
const PASSWORD = "it's @ secret/";
/** Patient: on a busy machine a server that crashed takes long to recover. */
const READY_MS = 120_000;
/** Linux's uid without any rights. */
const OVERFLOW_UID = 65_534;

/** Debian installs these programs outside PATH, in a folder per version. */
function postgresProgram(name: string): string {
  const found = [...new Bun.Glob(`/usr/lib/postgresql/*/bin/${name}`).scanSync("/")].map((path) => join("/", path));
  const program = Bun.which(name) ?? found.sort().at(-1);
  if (!program) throw new Error(`${name} is missing: apt-get install -y postgresql`);
  return program;
}

export interface PostgresOptions {
  /** It can have a standby. */
  readonly isReplicated?: boolean;
  /** Instead of a free one. */
  readonly port?: number;
  /** Put before its programs: what runs them elsewhere, such as in a network namespace. */
  readonly prefix?: readonly string[];
}

export interface StandbyOptions {
  /** The primary answers for a change when the standby has it, too. */
  readonly isSynchronous: boolean;
  /** Where the standby gets the changes: that of the primary, or of a proxy before it. */
  readonly port: number;
}

const START_ATTEMPTS = 3;

export class PostgresServer {
  private databases = 0;
  private isReplicated = false;
  private prefix: readonly string[] = [];

  private constructor(
    private readonly folder: string,
    readonly port: number,
    private readonly uid: number | undefined,
  ) {}

  /** Another process may take a free port before the server does: then it is tried with the next one. */
  static async start(options: PostgresOptions = {}): Promise<PostgresServer> {
    for (let left = START_ATTEMPTS; ; left--)
      try {
        return await PostgresServer.startOnce(options);
      } catch (error) {
        if (left === 1 || options.port !== undefined) throw error;
      }
  }

  private static async startOnce({
    isReplicated = false,
    port,
    prefix = [],
  }: PostgresOptions): Promise<PostgresServer> {
    const server = await PostgresServer.place(port);
    server.isReplicated = isReplicated;
    server.prefix = prefix;
    const made = process.env.PARLEY_TEST_POSTGRES;
    await (made ? server.run("cp", "-a", made, server.data) : server.make());
    await server.begin();
    return server;
  }

  /** Data of a new server at this path: named by PARLEY_TEST_POSTGRES, servers begin with a copy, which takes far less CPU. */
  static async template(path: string): Promise<void> {
    const server = await PostgresServer.place();
    await server.make();
    renameSync(server.data, path);
    rmSync(server.folder, { recursive: true });
  }

  private static async place(port?: number): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), "parley-test-postgres-"));
    const uid = process.getuid?.() === 0 ? unprivileged() : undefined;
    if (uid !== undefined) chownSync(folder, uid, -1);
    return new PostgresServer(folder, port ?? (await freePort()), uid);
  }

  private async make(): Promise<void> {
    const passwordFile = join(this.folder, "password");
    await Bun.write(passwordFile, PASSWORD);
    if (this.uid !== undefined) chownSync(passwordFile, this.uid, -1);
    const login = ["-U", USER, "-A", "scram-sha-256", `--pwfile=${passwordFile}`];
    await this.postgres("initdb", "-D", this.data, ...login, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync");
  }

  /** The URL of a new database: empty, or a copy of one that has no connections. */
  async newDatabase(copyOf?: string): Promise<string> {
    const name = `test_${++this.databases}`;
    const template = copyOf === undefined ? "" : ` TEMPLATE ${new URL(copyOf).pathname.slice(1)}`;
    // By its files, which takes half of the CPU time that copying through the log takes.
    await using sql = new SQL({ url: this.url("postgres"), max: 1 });
    await sql.unsafe(`CREATE DATABASE ${name} STRATEGY FILE_COPY${template}`);
    return this.url(name);
  }

  url(database: string): string {
    return `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${this.port}/${database}`;
  }

  /** Starts the server after `end`, with the same data and port. */
  begin(): Promise<void> {
    // Without fsync and whole pages in the log: what a killed server has written is with the kernel, and these tests cut no power.
    const wal = this.isReplicated ? "-c wal_level=replica" : "-c wal_level=minimal -c max_wal_senders=0";
    // And without what pays only for large tables: compiled plans, and processes that visit every database in turn.
    const cheap = `-c fsync=off -c full_page_writes=off -c jit=off -c autovacuum=off ${wal}`;
    const options = `-p ${this.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${this.folder} -c max_connections=200 ${cheap}`;
    return this.postgres(
      "pg_ctl",
      "-D",
      this.data,
      "start",
      "-w",
      "-t",
      String(READY_MS / 1000),
      "-l",
      join(this.folder, "log"),
      "-o",
      options,
    );
  }

  /** A running standby of this server. */
  async standby({ isSynchronous, port }: StandbyOptions): Promise<PostgresServer> {
    const standby = await PostgresServer.place();
    standby.isReplicated = true;
    standby.databases = this.databases;
    const source = `${this.url("postgres").replace(`:${this.port}/`, `:${port}/`)}?application_name=standby`;
    await standby.postgres("pg_basebackup", "-d", source, "-D", standby.data, "-R", "-X", "stream", "-c", "fast", "-N");
    await standby.begin();
    if (isSynchronous) await this.set("synchronous_standby_names", "standby");
    return standby;
  }

  /** The standby becomes a primary. */
  promote(): Promise<void> {
    return this.postgres("pg_ctl", "-D", this.data, "promote", "-w", "-t", String(READY_MS / 1000));
  }

  /** When it is started next, it is a standby that nothing is sent to. */
  demote(): void {
    writeFileSync(join(this.data, "standby.signal"), "");
  }

  /** Changes a setting of the server, also for connections that are open. */
  async set(name: string, value: string): Promise<void> {
    await using sql = new SQL({ url: this.url("postgres"), max: 1 });
    await sql.unsafe(`ALTER SYSTEM SET ${name} = '${value}'`);
    await sql.unsafe("SELECT pg_reload_conf()");
  }

  /** After it, recovery from a crash is short: it does not replay what earlier tests have written. */
  async checkpoint(): Promise<void> {
    await using sql = new SQL({ url: this.url("postgres"), max: 1 });
    await sql.unsafe("CHECKPOINT");
  }

  /** Stops the server as a crash would: connections break, and it recovers from its log when it is started. */
  end(): Promise<void> {
    return this.postgres("pg_ctl", "-D", this.data, "stop", "-m", "immediate", "-w");
  }

  /** Freezes the server: connections stay open, and nothing answers, not even to new connections. */
  freeze(): Promise<void> {
    return this.signalAll("SIGSTOP");
  }

  thaw(): Promise<void> {
    return this.signalAll("SIGCONT");
  }

  async stop(): Promise<void> {
    await this.thaw();
    await this.end().catch(() => undefined);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get data(): string {
    return join(this.folder, "data");
  }

  private async signalAll(signal: NodeJS.Signals): Promise<void> {
    const text = await Bun.file(join(this.data, "postmaster.pid"))
      .text()
      .catch(() => "");
    const master = Number(text.split("\n")[0]);
    if (!master) return;
    const children = await Bun.file(`/proc/${master}/task/${master}/children`)
      .text()
      .catch(() => "");
    for (const pid of [master, ...children.trim().split(" ").filter(Boolean).map(Number)])
      try {
        process.kill(pid, signal);
      } catch {
        // The process has ended meanwhile.
      }
  }

  private postgres(program: string, ...args: string[]): Promise<void> {
    const as = this.uid === undefined ? [] : ["setpriv", `--reuid=${this.uid}`, "--clear-groups"];
    return this.run(...this.prefix, ...as, postgresProgram(program), ...args);
  }

  private async run(...command: string[]): Promise<void> {
    const log = join(this.folder, "command.out");
    // Written to a file: the server that pg_ctl starts would keep a pipe open.
    const child = Bun.spawn(command, {
      cwd: this.folder,
      stdin: "ignore",
      stdout: Bun.file(log),
      stderr: Bun.file(`${log}.err`),
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), READY_MS);
    const code = await child.exited;
    clearTimeout(timer);
    if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}: ${await Bun.file(`${log}.err`).text()}`);
  }
}

/** The user that runs the server when the tests run as root, which initdb refuses. */
function unprivileged(): number {
  const entry = Bun.spawnSync(["getent", "passwd", "postgres"]).stdout.toString();
  return Number(entry.split(":")[2] ?? OVERFLOW_UID);
}
