/** bin/setup.sh: who installs the dependencies, and that no install disturbs a service that is running from them. npm and Bun are small scripts here. */
import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SERVER_NAME } from "../../scripts/release/npm.ts";
import { until } from "../support/wait.ts";
import { PROJECT } from "./support/files.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-setup-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What npm has "installed": a Bun that prints how it was started. */
const BUN = `#!/bin/sh
[ "$1" = --version ] && exit 0
while case "$1" in --*) ;; *) false ;; esac do shift; done
echo "$PARLEY_PROGRAM: $(basename "$1") $2, version $(cat "$(dirname "$0")/../../zod/version")"
`;
/** Notes each run, and begins only when the test has written to its pipe. */
const NPM = `#!/bin/sh
echo "$*" >>"$LOG"
[ -p "$LOG.go" ] && read -r outcome <"$LOG.go"
[ "$outcome" = fail ] && { echo "npm: no network"; exit 1; }
mkdir -p node_modules/zod node_modules/bun/bin node_modules/@biomejs/biome
cp package-lock.json node_modules/zod/version
cp package-lock.json node_modules/.package-lock.json
cp "$LOG.bun" node_modules/bun/install.bun
echo >node_modules/bun/install.js
[ -e "$LOG.no-scripts" ] || { cp "$LOG.bun" node_modules/bun/bin/bun.exe; chmod +x node_modules/bun/bin/bun.exe; }
`;
/** Runs bun/install.js. */
const NODE = `#!/bin/sh
cp install.bun bin/bun.exe && chmod +x bin/bun.exe
`;

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

let clones = 0;
class Clone {
  readonly root = join(folder, `clone ${++clones}`);
  private readonly tools = join(folder, `tools-${clones}`);
  private readonly log = join(this.tools, "log");

  constructor() {
    mkdirSync(join(this.root, "bin"), { recursive: true });
    mkdirSync(this.tools);
    for (const name of ["parley", "dev", "setup.sh"])
      copyFileSync(join(PROJECT, "bin", name), join(this.root, "bin", name));
    writeFileSync(join(this.root, "package.json"), "{}");
    writeFileSync(`${this.log}.bun`, BUN);
    for (const [name, text] of Object.entries({ npm: NPM, node: NODE })) {
      writeFileSync(join(this.tools, name), text);
      chmodSync(join(this.tools, name), 0o755);
    }
    this.lockfile("1");
  }

  /** Its date is that of a file which git has just written. */
  lockfile(version: string): void {
    writeFileSync(join(this.root, "package-lock.json"), version);
    const later = new Date(Date.now() + 60_000);
    utimesSync(join(this.root, "package-lock.json"), later, later);
  }

  async run(...args: readonly string[]): Promise<Ended> {
    const child = Bun.spawn(["sh", ...args], {
      cwd: this.root,
      env: { PATH: `${this.tools}:/usr/bin:/bin`, LOG: this.log },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return { code, out, err };
  }

  parley(...args: readonly string[]): Promise<Ended> {
    return this.run("bin/parley", ...args);
  }

  /** How npm was called, each time. */
  get installs(): string[] {
    return existsSync(this.log) ? readFileSync(this.log, "utf8").trim().split("\n") : [];
  }

  withoutInstallScripts(): void {
    writeFileSync(`${this.log}.no-scripts`, "");
  }

  /** From now on npm waits; the result lets it continue. */
  async holdNpm(): Promise<(outcome: "ok" | "fail") => Promise<void>> {
    expect(await Bun.spawn(["mkfifo", `${this.log}.go`]).exited).toBe(0);
    return async (outcome) => {
      // The writer waits until npm reads.
      expect(await Bun.spawn(["sh", "-c", `echo ${outcome} >"$1"`, "sh", `${this.log}.go`]).exited).toBe(0);
    };
  }

  get left(): string[] {
    return readdirSync(this.root).toSorted();
  }
}

const TIDY = ["bin", "node_modules", "package-lock.json", "package.json"];

test("a fresh clone installs without development packages, and its first command runs", async () => {
  const clone = new Clone();
  expect(await clone.parley("version")).toEqual({
    code: 0,
    out: "bin/parley: main.ts version, version 1\n",
    err: "parley: installing dependencies (once)\n",
  });
  expect([clone.installs, clone.left]).toEqual([["ci --no-audit --no-fund --omit=dev"], TIDY]);
  expect(await clone.parley("version")).toMatchObject({ code: 0, err: "" });
  expect(clone.installs).toHaveLength(1);
});

test("where npm runs no install scripts, Bun's launcher is made", async () => {
  const clone = new Clone();
  clone.withoutInstallScripts();
  expect(await clone.parley("version")).toMatchObject({ code: 0, out: expect.stringContaining("main.ts version") });
  rmSync(join(clone.root, "node_modules/bun/bin/bun.exe"));
  expect(await clone.parley("version")).toMatchObject({ code: 0, err: "" });
  expect(clone.installs).toHaveLength(1);
});

test("two commands at the same moment install once", async () => {
  const clone = new Clone();
  const release = await clone.holdNpm();
  const both = [clone.parley("version"), clone.parley("help")];
  await release("ok");
  const ended = await Promise.all(both);
  expect(ended.map(({ code }) => code)).toEqual([0, 0]);
  expect(ended.map(({ out }) => out.includes("main.ts"))).toEqual([true, true]);
  expect(clone.installs).toHaveLength(1);
});

describe("after a change of package-lock.json", () => {
  const updated = async (): Promise<Clone> => {
    const clone = new Clone();
    await clone.parley("version");
    clone.lockfile("2");
    return clone;
  };

  test("a command uses what is installed, and says what to do", async () => {
    const clone = await updated();
    const { code, out, err } = await clone.parley("apps");
    expect([code, out, err]).toEqual([
      0,
      "bin/parley: main.ts apps, version 1\n",
      "parley: package-lock.json has changed since the dependencies were installed; the next start of the service installs them (bin/parley up)\n",
    ]);
    expect(clone.installs).toHaveLength(1);
  });

  test("a start of the service and the project's own scripts install", async () => {
    const clone = await updated();
    expect((await clone.parley("up")).out).toBe("bin/parley: main.ts up, version 2\n");
    clone.lockfile("3");
    expect((await clone.run("bin/dev", "test/run.ts", "x")).out).toContain("version 3");
    expect([clone.installs.at(-1), clone.left]).toEqual(["ci --no-audit --no-fund --include=dev", TIDY]);
    expect(await clone.parley("up")).toMatchObject({ err: "" });
  });

  test("a new date alone is no change", async () => {
    const clone = await updated();
    clone.lockfile("1");
    expect(await clone.parley("up")).toMatchObject({ code: 0, err: "" });
    expect(clone.installs).toHaveLength(1);
  });

  test("what is installed stays usable while npm works, and is replaced at once", async () => {
    const clone = await updated();
    const release = await clone.holdNpm();
    const start = clone.parley("up");
    await until("both have installed", () => clone.installs.length >= 2);
    expect(readFileSync(join(clone.root, "node_modules/zod/version"), "utf8")).toBe("1");
    expect((await clone.parley("apps")).out).toContain("version 1");
    await release("ok");
    expect((await start).out).toContain("version 2");
    expect(clone.left).toEqual(TIDY);
  });

  test("an npm that fails changes nothing, and its message is shown", async () => {
    const clone = await updated();
    const release = await clone.holdNpm();
    const start = clone.parley("up");
    await release("fail");
    const { code, out, err } = await start;
    expect([code, out, err]).toEqual([
      1,
      "",
      expect.stringMatching(/npm: no network\nparley: npm ci failed; its message is above\n$/),
    ]);
    expect((await clone.parley("apps")).out).toContain("version 1");
    expect(clone.left).toEqual(TIDY);
  });
});

test("an installed package uses the dependencies beside it, and never installs over those of a project", async () => {
  const project = new Clone();
  await project.parley("version");
  const inside = join(project.root, "node_modules/parley");
  mkdirSync(join(inside, "bin"), { recursive: true });
  for (const name of ["parley", "setup.sh"]) copyFileSync(join(PROJECT, "bin", name), join(inside, "bin", name));
  expect((await project.run("node_modules/parley/bin/parley", "version")).out).toContain("main.ts version, version 1");
  rmSync(join(project.root, "node_modules/bun"), { recursive: true });
  const broken = await project.run("node_modules/parley/bin/parley", "version");
  expect([broken.code, broken.err]).toEqual([1, expect.stringContaining("install the package again")]);
  expect(project.installs).toHaveLength(1);
});

test("a program on the PATH is called by its name", async () => {
  const clone = new Clone();
  chmodSync(join(clone.root, "bin/parley"), 0o755);
  const { out } = await clone.run("-c", 'PATH="$PWD/bin:$PATH"; cd /; parley version');
  expect(out).toBe("parley: main.ts version, version 1\n");
  expect((await clone.run("-c", "cd bin && ./parley version")).out).toStartWith("./parley: ");
});

test.each([
  [".npm/_npx/1f", "npx", `npx ${SERVER_NAME}`],
  ["app", "start", "npx parley"],
  ["app", "", "parley"],
])("in %s/node_modules, as npm runs it for %p, it is called %p", async (place, event, name) => {
  const clone = new Clone();
  chmodSync(join(clone.root, "bin/parley"), 0o755);
  const programs = join(clone.root, place, "node_modules/.bin");
  mkdirSync(programs, { recursive: true });
  symlinkSync(join(clone.root, "bin/parley"), join(programs, "parley"));
  const { out } = await clone.run(
    "-c",
    `export npm_lifecycle_event='${event}' PATH="${programs}:$PATH"; parley version`,
  );
  expect(out).toBe(`${name}: main.ts version, version 1\n`);
});
