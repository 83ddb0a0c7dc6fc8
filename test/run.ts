/**
 * `npm test`: every check, several at a time, and a last line with the totals.
 *   --check   format, lint and types only
 *   --full    the long suites completely, instead of a sample
 *   NAME…     only the suites whose names begin with one of these: npm test -- unit rest
 */
import { closeSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresServer } from "../src/store/testing/postgres.ts";
import { LONG } from "./long.ts";
import { counted, failedIn } from "./support/junit.ts";
import { newTemporaryFolder, temporaryPlace } from "./support/memory-folder.ts";
import {
  CHROMIUM,
  type DebianPackage,
  FFMPEG,
  FIREFOX,
  GO_TOOLS,
  install,
  isThere,
  NATS,
  POSTGRES,
} from "./support/packages.ts";
import { bundleService } from "./support/service-bundle.ts";

const args = process.argv.slice(2);
const isFull = args.includes("--full");
/** The S3-compatible service is built with it, in two minutes of CPU time: only in full. */
const GO = isFull ? [GO_TOOLS] : [];

interface Suite {
  readonly name: string;
  readonly command: readonly string[];
  /** `bun test` counts its own tests; any other command counts as one. */
  readonly counts: boolean;
  /** Programs from Debian's packages that it cannot do without. */
  readonly needs?: readonly DebianPackage[];
  /** Its processes live for seconds, and answer some hundred requests each. */
  readonly isShortLived?: boolean;
}

/** Folders of src/ whose tests mostly wait, for databases, other processes and timers: suites of their own run beside the others. */
const STORES: readonly string[] = ["durable", "engine", "history", "store"];
const COMMANDS: readonly string[] = ["cli"];
const RECORDINGS: readonly string[] = ["meetings", "recordings", "remote"];

const bun = process.execPath;
const tool = (name: string): string => join("node_modules", ".bin", name);
const tests = (name: string, ...paths: string[]): Suite => ({
  name,
  command: [bun, "test", "--timeout", "60000", "--preload", "./test/support/run-end.ts", ...paths.flatMap(withoutLong)],
  counts: true,
});

/** In one thread it takes a third less CPU time, and other suites use the second core meanwhile. */
const types = (name: string, project = "."): Suite => ({
  name,
  command: [tool("tsc"), "--noEmit", "--singleThreaded", "-p", project],
  counts: false,
});

const CHECKS: readonly Suite[] = [
  { name: "format and lint", command: [tool("biome"), "check", "--error-on-warnings", "."], counts: false },
  types("types"),
  // Pages run in a browser, so they have other types than the service.
  types("types of pages", "web"),
  types("types of their tests", "web/tsconfig.test.json"),
  // The client runs in browsers, Node and Bun, so it has the types of none of them; its tests run in Bun.
  types("types of the client", "client"),
  types("types of its tests", "client/tsconfig.test.json"),
];

const SUITES: readonly Suite[] = [
  ...CHECKS,
  // The longest first, so that the others fill the time beside them.
  {
    ...tests("browser calls", ...browserTests((file) => !isOfDashboard(file) && !isOfFirefox(file))),
    needs: [CHROMIUM, POSTGRES, NATS, ...GO, FFMPEG],
  },
  // Several processes on one PostgreSQL, joined by NATS.
  { ...tests("nodes", "./test/nodes"), needs: [POSTGRES, NATS] },
  { ...tests("unit stores", ...inSrc(STORES)), needs: [POSTGRES, NATS] },
  { ...tests("conformance", "./test/conformance"), isShortLived: true },
  { ...tests("browser", ...browserTests(isOfDashboard)), needs: [CHROMIUM, POSTGRES, NATS] },
  tests("unit commands", ...inSrc(COMMANDS)),
  { ...tests("unit recordings", ...inSrc(RECORDINGS)), needs: [POSTGRES] },
  { ...tests("rest", ...halfOf("test/rest", 0)), isShortLived: true },
  { ...tests("rest more", ...halfOf("test/rest", 1)), isShortLived: true },
  // Recordings as players see them, in full against a real S3-compatible service: early, because its first run builds that.
  {
    ...tests("storage", ...(isFull ? ["./test/storage"] : ["./test/storage/mending.test.ts"])),
    needs: [...GO, POSTGRES, FFMPEG],
  },
  // Three nodes and three NATS servers, under load, with faults.
  {
    ...tests("cluster", "./test/cluster/faults.test.ts", "./test/cluster/conformance.test.ts"),
    needs: [POSTGRES, NATS],
  },
  // Several processes on one port, killed and stopped.
  tests("workers", "./test/workers"),
  tests("attack", "./test/attack"),
  tests("faults", "./test/faults"),
  // Backups under load, restored and judged; kills and full disks.
  tests("durable", "./test/durable"),
  { ...tests("unit", ...unitFolders(), "./web", "./client", "./test/house"), needs: [NATS] },
  // The tour and the guides as they are written, in a fresh clone with the default folder and port.
  {
    ...tests("defaults", "./test/defaults"),
    needs: [CHROMIUM, { program: "ip", name: "iproute2" }, { program: "curl", name: "curl" }],
  },
  tests("docs", "./test/docs"),
  { ...tests("client", "./test/client"), needs: [CHROMIUM] },
  tests("verify", "./test/verify", "./test/support"),
  // A relay between network namespaces, in full runs also for pages in a browser.
  {
    ...tests("turn", "./test/turn"),
    needs: [{ program: "turnserver", name: "coturn" }, { program: "ip", name: "iproute2" }, CHROMIUM],
  },
  tests("deploy", "./test/deploy"),
  // In full every form in which Parley is installed is built and tried, some in a bare root; pages of the executable are opened in a browser.
  {
    ...tests("release", "./test/release"),
    needs: [CHROMIUM, ...GO, { program: "debootstrap", name: "debootstrap" }],
  },
  tests("model", "./test/model"),
  tests("fuzz", "./test/fuzz"),
  { ...tests("bench", "./bench"), needs: [{ program: "cc", name: "build-essential" }] },
  // In full with the release before: nodes of both versions, and upgrades under load.
  { ...tests("upgrade", "./test/upgrade"), needs: [POSTGRES, NATS] },
  // The same for half an hour is `npm run soak`.
  { ...tests("soak", "./test/soak"), needs: [POSTGRES, NATS] },
  // Every page, meetings, recordings and the client in a second browser.
  ...(isFull
    ? [{ ...tests("browser firefox", ...browserTests(isOfFirefox)), needs: [FIREFOX, CHROMIUM, FFMPEG] }]
    : []),
  ...(isFull ? [{ ...tests("cluster partition", "./test/cluster/partition.test.ts"), needs: [POSTGRES, NATS] }] : []),
];

/**
 * In processes that live for seconds, compiled functions do not earn back what their compilation costs. With these, a function is compiled
 * after twenty times as many calls, and no thread collects garbage beside the others: up to a fifth less CPU time, and nothing gained in other suites.
 */
const SHORT_LIVED = {
  BUN_JSC_useConcurrentGC: "0",
  BUN_JSC_thresholdForOptimizeAfterWarmUp: "20000",
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: "20000",
  BUN_JSC_thresholdForOptimizeSoon: "20000",
};

/** What `--full` asks of the long suites; without it they take their own small defaults. */
const FULL = {
  PARLEY_TEST_KILLS: "30",
  PARLEY_TEST_FULL: "1",
  PARLEY_TEST_LONG: "1",
  PARLEY_TEST_MODEL_STEPS: "250000",
};

/**
 * Most suites wait for timers and processes more than they compute: four of them keep two cores busy. Suites under load come last,
 * two at a time, when at most one of the others is left. In full three are at a time, because they start services from the sources;
 * and suites that measure times as the specification states them come last too, each with the machine to itself.
 */
const [SUITES_AT_A_TIME, LAST_AT_A_TIME, BESIDE_LAST] = isFull ? [3, 1, 0] : [4, 2, 1];
const LOADS: readonly string[] = ["cluster", "soak", "cluster partition", "upgrade"];
const EXACT: readonly string[] = [
  "attack",
  "browser calls",
  "browser firefox",
  "conformance",
  "faults",
  "nodes",
  "turn",
  "workers",
];
const isLast = ({ name }: Suite): boolean => LOADS.includes(name) || (isFull && EXACT.includes(name));

const names = args.filter((arg) => !arg.startsWith("--"));
const unknown = args.find((arg) => arg.startsWith("--") && !["--check", "--full"].includes(arg));
if (unknown) {
  console.error(`test: there is no ${unknown}; there are --check and --full`);
  process.exit(2);
}
const asked = args.includes("--check") ? CHECKS : SUITES;
const chosen = asked.filter((suite) => names.length === 0 || names.some((name) => suite.name.startsWith(name)));
/** For all suites, and removed with what they leave. In full it is on the disk, as the folders of users are. */
const folder = newTemporaryFolder(isFull ? tmpdir() : temporaryPlace());
Object.assign(process.env, { PARLEY_TEST_DISK: tmpdir(), TMPDIR: folder });
const removeAll = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => {
    removeAll();
    process.exit(1);
  });
let passed = 0;
let failed = 0;
/** What failed, to be read at the end of a long output. */
const failures: string[] = [];

install(chosen.flatMap((suite) => suite.needs ?? []));
const environment: Record<string, string> = isFull ? FULL : await prepared();
const all = [...chosen.entries()];
const [most, last] = [all.filter(([, suite]) => !isLast(suite)), all.filter(([, suite]) => isLast(suite))];
const worker = async (suites: typeof all): Promise<void> => {
  for (let next = suites.shift(); next; next = suites.shift()) await run(...next);
};
const atATime = (suites: typeof all, count: number): Promise<void>[] =>
  Array.from({ length: count }, () => worker(suites));
const workers = atATime(most, SUITES_AT_A_TIME);
await allBut(workers, BESIDE_LAST);
await Promise.all([...workers, ...atATime(last, LAST_AT_A_TIME)]);
removeAll();
if (passed + failed === 0) failed = 1;
if (failures.length > 0) console.log(`\nfailed:\n${failures.map((one) => `  ${one}`).join("\n")}`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** Resolves when at most `count` of them are left. */
function allBut(work: readonly Promise<void>[], count: number): Promise<void> {
  let left = work.length;
  const { promise, resolve } = Promise.withResolvers<void>();
  const ended = (): void => {
    if (--left <= count) resolve();
  };
  for (const one of work) one.then(ended, ended);
  return promise;
}

/** What suites would otherwise make again and again. In full the service is started as users start it, from its sources. */
async function prepared(): Promise<Record<string, string>> {
  const [service, postgres] = [join(folder, "service"), join(folder, "postgres")];
  const counting = chosen.filter(({ counts }) => counts);
  const isPostgresThere = counting.some(({ needs }) => needs?.includes(POSTGRES)) && isThere(POSTGRES.program);
  if (isPostgresThere) await PostgresServer.template(postgres);
  // Sources that cannot be bundled cannot be started either: suites say what is wrong with them.
  const main = counting.length > 0 ? await bundleService(service).catch(() => undefined) : undefined;
  return { ...(main && { PARLEY_TEST_MAIN: main }), ...(isPostgresThere && { PARLEY_TEST_POSTGRES: postgres }) };
}

/** Its output is shown when it has ended, so that those of several suites do not mix. */
async function run(at: number, suite: Suite): Promise<void> {
  const started = performance.now();
  const [report, log] = [join(folder, `${at}.xml`), join(folder, `${at}.log`)];
  const output = openSync(log, "a");
  const command = suite.counts ? [...suite.command, "--reporter=junit", `--reporter-outfile=${report}`] : suite.command;
  const child = Bun.spawn([...command], {
    stdio: ["ignore", output, output],
    env: {
      ...process.env,
      ...savingsOf(suite),
      PARLEY_TEST_SHARING: "1",
      // Times are not exact where suites share the machine (support/slack.ts).
      ...(isFull && !isLast(suite) && { PARLEY_TEST_BESIDE: "1" }),
      ...environment,
    },
  });
  const exitCode = await child.exited;
  closeSync(output);
  const [good, bad] = suite.counts ? counted(report, exitCode) : exitCode === 0 ? [1, 0] : [0, 1];
  passed += good;
  failed += bad;
  if (bad > 0) failures.push(...(suite.counts ? failedIn(report) : []).map((name) => `${suite.name}: ${name}`));
  if (bad > 0 && !failures.some((one) => one.startsWith(`${suite.name}:`))) failures.push(`${suite.name}: see above`);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const cpu = (Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6).toFixed(0);
  process.stdout.write(`\n== ${suite.name}\n${readFileSync(log, "utf8")}`);
  console.log(`== ${suite.name}: ${good} passed, ${bad} failed, ${seconds} s, ${cpu} s of CPU`);
}

function savingsOf({ counts, isShortLived = false }: Suite): Record<string, string> {
  // The compiler is a Go program: with GOGC it collects its garbage less often.
  if (!counts) return { GOGC: "400" };
  return isShortLived && !isFull ? SHORT_LIVED : {};
}

function browserTests(isChosen: (file: string) => boolean): string[] {
  const all = [...new Bun.Glob("**/*.test.ts").scanSync("test/browser")].sort();
  return all.filter(isChosen).map((file) => `./test/browser/${file}`);
}

/** The same, or the files in it without those that only run in full. */
function withoutLong(path: string): string[] {
  const here = path.replace("./", "");
  if (isFull || !LONG.some((file) => file.startsWith(here))) return [path];
  const files = here.endsWith(".ts") ? [here] : [...new Bun.Glob(`${here}/**/*.test.ts`).scanSync(".")].sort();
  return files.filter((file) => !LONG.includes(file)).map((file) => `./${file}`);
}

function inSrc(folders: readonly string[]): string[] {
  return folders.map((name) => `./src/${name}`);
}

/** The folders of src/ that no other suite has. */
function unitFolders(): string[] {
  const others = [...STORES, ...COMMANDS, ...RECORDINGS];
  const all = [...new Bun.Glob("*").scanSync({ cwd: "src", onlyFiles: false })].sort();
  return inSrc(all.filter((name) => !name.includes(".") && !others.includes(name)));
}

/** Every second test file of a folder, so that two suites share it. */
function halfOf(folder: string, half: 0 | 1): string[] {
  const all = [...new Bun.Glob("**/*.test.ts").scanSync(folder)].sort();
  return all.filter((_, at) => at % 2 === half).map((file) => `./${folder}/${file}`);
}

/** Only in full: it takes five minutes of CPU time. */
function isOfFirefox(file: string): boolean {
  return file.startsWith("firefox/");
}

/** Two suites share the other tests of the browser: one has the dashboard, the other all pages that talk to each other. */
function isOfDashboard(file: string): boolean {
  return file.startsWith("dashboard/") || file.startsWith("docs.");
}
