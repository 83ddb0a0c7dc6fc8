/** A real Parley process for a test: start, logs, kill, and restart on the same data. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { Admin } from "./admin.ts";
import { commandOf, NO_RUNTIME_FOLDER, parleyCommand, sourcesCommand } from "./command.ts";
import { started, stopped } from "./left-running.ts";
import { refuseLeaks, rememberSettings, searchLog } from "./seen-credentials.ts";
import { removeFolder, tempFolder } from "./temp.ts";

const PROJECT = join(import.meta.dir, "../..");

export interface Options {
  readonly env?: Readonly<Record<string, string>>;
  /** Default: a fresh folder, which is removed when the server is stopped. */
  readonly data?: string;
  readonly flags?: readonly string[];
  /** The address it listens on; 127.0.0.1 unless a test needs another. */
  readonly host?: string;
  /** Default: a free port. A node that is started again for clients without a proxy needs its old one. */
  readonly port?: string;
  /** The file to run, if it is not that of this tree: such as that of an earlier release. */
  readonly main?: string | undefined;
  /** Prefix of the command: a tracer, or a shell that sets limits. It must exec the server, so that signals reach it. */
  readonly wrap?: readonly string[];
}

/** The contents of first-run.txt after the first start. */
export interface FirstRunKeys {
  readonly publishableKey: string;
  /** `<sk_id>:<sk_secret>` */
  readonly secretKey: string;
  readonly appSecret: string;
  /** "" if the operator set one. */
  readonly adminToken: string;
}

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export class Parley {
  /** All output so far, standard error included. */
  output = "";
  readonly exited: Promise<number>;
  private watchers = new Set<() => void>();
  private readonly parsed: LogLine[] = [];
  /** As far as `parsed` has the output. */
  private parsedTo = 0;
  private readonly child: Subprocess<"ignore", "pipe", "pipe">;

  constructor(
    command: readonly string[],
    env: Readonly<Record<string, string>>,
    readonly data: string,
    private readonly ownsData: boolean,
  ) {
    this.child = Bun.spawn([...command], {
      cwd: PROJECT,
      env: { ...inherited(), ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    started(this, () => this.stop("SIGKILL"));
    const read = Promise.all([this.collect(this.child.stdout), this.collect(this.child.stderr)]);
    this.exited = this.child.exited.then(async (code) => {
      stopped(this);
      await read;
      this.changed();
      return code;
    });
  }

  get pid(): number {
    return this.child.pid;
  }

  get log(): LogLine[] {
    // Only what was added since: tests ask after every line.
    const end = this.output.lastIndexOf("\n") + 1;
    for (const line of this.output.slice(this.parsedTo, end).split("\n"))
      if (line.startsWith("{") && line.endsWith("}")) this.parsed.push(JSON.parse(line));
    this.parsedTo = end;
    return [...this.parsed];
  }

  /** The first log line after the first `skip` lines for which `fits` holds. */
  async logged(fits: (line: LogLine) => boolean, skip = 0): Promise<LogLine> {
    for (;;) {
      const found = this.log.slice(skip).find(fits);
      if (found) return found;
      if (this.child.exitCode !== null || this.child.signalCode !== null)
        throw new Error(`parley ended before it wrote that line:\n${this.output}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.watchers.add(resolve);
      await promise;
      this.watchers.delete(resolve);
    }
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Ends the process and keeps its data: SIGKILL by default, as in a power loss. Throws if the log of a server shows a credential. */
  async kill(name: NodeJS.Signals = "SIGKILL"): Promise<number> {
    this.child.kill(name);
    const code = await this.exited;
    refuseLeaks();
    return code;
  }

  async stop(name: NodeJS.Signals = "SIGTERM"): Promise<void> {
    try {
      await this.kill(name);
    } finally {
      if (this.ownsData) removeFolder(this.data);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  private async collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      this.output += decoder.decode(bytes, { stream: true });
      this.changed();
    }
  }

  private changed(): void {
    for (const wake of this.watchers) wake();
  }
}

/** A node that answers requests. */
export class Server extends Parley {
  url = "";
  /** The admin token it was started with; "": it generates one. */
  setToken = "";
  admin = new Admin("", "");

  get adminToken(): string {
    return this.admin.token;
  }

  get keys(): FirstRunKeys {
    return readFirstRun(this.data);
  }
}

/** One node; or several behind a load balancer, if the environment says so (nodes.ts). */
export async function startParley(options: Options = {}): Promise<Server> {
  // Imported here and not at the top, because nodes.ts imports this file.
  const { jointOf, startNodes } = await import("./nodes.ts");
  const joint = jointOf(process.env);
  return joint ? startNodes(joint, options) : startOne(options);
}

async function startOne(options: Options): Promise<Server> {
  const server = launchParley(options);
  const ready = await server.logged((line) => line.msg === "parley is ready");
  server.url = String(ready.url);
  server.admin = new Admin(server.url, server.setToken || server.keys.adminToken);
  return server;
}

/** Starts a process and does not wait until it is ready. */
export function launchParley(options: Options = {}): Server {
  const env = {
    PARLEY_LOG_FORMAT: "json",
    PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}`,
    // Tests send thousands of bad credentials from one address; tests of the limit set it themselves.
    PARLEY_HTTP_REQUESTS_PER_MINUTE_PER_IP: "0",
    // A suite written for one process, against several workers.
    ...(process.env.PARLEY_TEST_WORKERS && { PARLEY_WORKERS: process.env.PARLEY_TEST_WORKERS }),
    ...options.env,
  };
  const data = options.data ?? tempFolder();
  const { host = "127.0.0.1", port = "0" } = options;
  const flags = ["up", "--port", port, "--host", host, "--data", data, ...(options.flags ?? [])];
  const { main } = options;
  const own = options.env?.BUN_OPTIONS ? sourcesCommand : parleyCommand;
  const command = main === undefined ? own : (...args: string[]) => commandOf(main, args);
  const server = new Server([...(options.wrap ?? []), ...command(...flags)], env, data, options.data === undefined);
  server.setToken = env.PARLEY_ADMIN_TOKEN;
  rememberSettings(env);
  void server.exited.then(() => searchLog(server.output));
  return server;
}

/** Runs a command of Parley until it exits, such as a start that must be refused. */
export async function runParley(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; output: string }> {
  const process = new Parley(parleyCommand(...args), env, "", false);
  const code = await process.exited;
  return { code, output: process.output };
}

/** A start on that folder that must be refused. */
export const refusedStart = (data: string, ...flags: string[]): ReturnType<typeof runParley> =>
  runParley(["up", "--port", "0", "--host", "127.0.0.1", "--data", data, ...flags], { PARLEY_LOG_FORMAT: "json" });

/** The environment of the test run without its Parley settings, which must not reach the servers under test. */
const inherited = (): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || name.startsWith("PARLEY_") ? [] : [[name, value]],
    ),
  ),
  XDG_RUNTIME_DIR: NO_RUNTIME_FOLDER,
});

export function readFirstRun(data: string): FirstRunKeys {
  const path = join(data, "first-run.txt");
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const field = (name: string): string => new RegExp(`^ +${name} +(\\S+)$`, "m").exec(text)?.[1] ?? "";
  return {
    publishableKey: field("publishable key"),
    secretKey: field("secret key"),
    appSecret: field("app secret"),
    adminToken: field("admin token"),
  };
}
