/**
 * A person who has just cloned the project: a folder with its files and nothing else, no settings, the default port. A network namespace makes
 * the port free, whatever runs on this machine; without the right to make one it is the machine's own. PARLEY_TEST_INSTALLED names a command
 * that was installed without a clone: then the folder has only that, as `bin/parley`, and the pages that the tests read.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { launchChromiumBy } from "../../browser/support/chromium.ts";
import { Child } from "../../docs/support/child.ts";
import { type Outcome, paste, stay } from "../../docs/support/shell.ts";
import { cloneInto, installInto } from "../../support/clone.ts";
import { addNamespace, deleteNamespace, inNamespace, must, whyNoNamespaces } from "../../support/namespaces.ts";
import { DISK, removeFolder, tempFolder } from "../../support/temp.ts";

/** Calls between two pages need an address that is not loopback: browsers offer no other. */
const ADDRESS = "198.18.3.1/24";

const { PARLEY_TEST_INSTALLED: INSTALLED } = process.env;
const PROJECT = join(import.meta.dir, "../../..");

/** For a busy machine; without a failure nothing here takes that long. */
const PATIENCE_MS = 60_000;

export interface Arrival {
  /** `npm start` installs the dependencies itself, for which it needs the machine's own network, and a free default port. */
  readonly installs?: boolean;
}

/** A terminal that is not in the folder of Parley, or that has variables. */
export interface Shell {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export class Newcomer {
  private server: Child | undefined;

  private constructor(
    readonly home: string,
    private readonly namespace: string | undefined,
  ) {}

  static async arrive({ installs = false }: Arrival = {}): Promise<Newcomer> {
    const isApart = !installs && (await whyNoNamespaces()) === undefined;
    const newcomer = new Newcomer(tempFolder(DISK), isApart ? `parley-defaults-${process.pid}` : undefined);
    await newcomer.take(installs);
    if (newcomer.namespace) await makeNetwork(newcomer.namespace);
    return newcomer;
  }

  private async take(installs: boolean): Promise<void> {
    if (INSTALLED !== undefined) {
      mkdirSync(join(this.folder, "bin"), { recursive: true });
      symlinkSync(INSTALLED, join(this.folder, "bin/parley"));
      return cpSync(join(PROJECT, "docs"), join(this.folder, "docs"), { recursive: true });
    }
    await cloneInto(this.folder);
    if (!installs) await installInto(this.folder);
  }

  /** What was cloned. People have spaces and other letters in the names of their folders. */
  get folder(): string {
    return join(this.home, "Projekte für später", "parley");
  }

  /** Prints what a start prints, to a pipe. */
  async start(...flags: string[]): Promise<string> {
    const npm = flags.length > 0 ? ["npm", "start", "--", ...flags] : ["npm", "start"];
    const command = INSTALLED === undefined ? npm : ["bin/parley", "up", ...flags];
    const env = { npm_config_ignore_scripts: "true" };
    this.server = new Child([...this.prefix, ...command], { cwd: this.folder, env });
    await this.server.writes(/parley is ready/, PATIENCE_MS);
    return this.server.output;
  }

  /** As Ctrl-C or a service manager does; resolves with the exit code. */
  async stop(): Promise<number> {
    const code = await this.server?.stop("SIGTERM");
    this.server = undefined;
    return code ?? 0;
  }

  /** All commands of a block, in one shell. */
  paste(script: string, { env = {}, cwd = this.folder }: Shell = {}): Promise<Outcome[]> {
    return paste(script, env, { cwd, prefix: this.prefix });
  }

  /** One command, whose output is returned; it must succeed. */
  async runs(command: string): Promise<string> {
    const [outcome] = await this.paste(command);
    if (outcome?.code !== 0) throw new Error(`${command}\nended with ${outcome?.code}: ${outcome?.err}${outcome?.out}`);
    return outcome.out;
  }

  /** Repeats a command until its output is what is waited for. */
  async until<T>(command: string, read: (out: string) => T | undefined): Promise<T> {
    for (const end = performance.now() + PATIENCE_MS; ; ) {
      const out = await this.runs(command);
      const found = read(out);
      if (found !== undefined) return found;
      if (performance.now() > end) throw new Error(`${command} still prints:\n${out}`);
    }
  }

  /** A block whose last command keeps running. */
  stay(script: string, { env = {}, cwd = this.folder }: Shell = {}): Child {
    return stay(script, env, { cwd, prefix: this.prefix });
  }

  browser(): Promise<Browser> {
    return launchChromiumBy(this.prefix, this.home);
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), "utf8");
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  async leave(): Promise<void> {
    await this.stop();
    if (this.namespace) await deleteNamespace(this.namespace);
    removeFolder(this.home);
  }

  /** Runs a program in the network of this person. Empty: there are no namespaces here. */
  get prefix(): string[] {
    return this.namespace === undefined ? [] : inNamespace(this.namespace);
  }
}

async function makeNetwork(name: string): Promise<void> {
  await addNamespace(name);
  const ip = (...command: string[]): Promise<void> => must(...inNamespace(name, "ip", ...command));
  await ip("link", "add", "eth0", "type", "veth", "peer", "name", "eth1");
  await ip("addr", "add", ADDRESS, "dev", "eth0");
  await ip("link", "set", "eth0", "up");
  await ip("link", "set", "eth1", "up");
}
