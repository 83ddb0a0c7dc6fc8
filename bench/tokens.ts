/**
 * The cost of minting a connect token beyond HTTP and JSON: server CPU per request, Parley against a plain Bun.serve that
 * parses the same body and responds with the same number of bytes. Only the ratio of adjacent runs counts: it holds on a slow or
 * busy machine, absolute times do not.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../test/support/temp.ts";
import { drive, type Load, postBytes } from "./lib/load.ts";
import { cpuSeconds, type ServerProcess, startServer } from "./lib/process.ts";
import { keep, machine, median, table } from "./lib/report.ts";

const TARGET_RATIO = 5;
const ROUNDS = 5;
const CONNECTIONS = 16;
const WARM_UP_REQUESTS = 30_000;
/**
 * A round is many short turns, A B A B …: a machine's speed changes within seconds, and what affects both cancels out. In a round
 * each makes enough requests that a tick of the CPU clock (10 ms) is small compared with what the faster one needs.
 */
const TURNS = 20;
const REQUESTS_PER_TURN = 3_000;
const REQUESTS = TURNS * REQUESTS_PER_TURN;

const BODY = {
  peerId: "user-4711",
  channels: ["chat/lobby", "rooms/4711/**"],
  permissions: ["publish", "subscribe", "presence"],
  metadata: { plan: "pro", seats: 12 },
  peerMetadata: { name: "Alice Example", avatar: "a/4711.png" },
};

const MAIN = join(import.meta.dir, "../src/main.ts");
const CONTROL = join(import.meta.dir, "controls/bare-json.ts");

/** Server CPU microseconds per request, and the ratio of Parley's to the control's. */
interface Figures {
  readonly parley: number;
  readonly control: number;
  readonly ratio: number;
}

interface Subject {
  readonly server: ServerProcess;
  readonly load: Load;
}

export async function tokens(): Promise<boolean> {
  const data = tempFolder();
  try {
    return await compare(data);
  } finally {
    rmSync(data, { recursive: true });
  }
}

async function compare(data: string): Promise<boolean> {
  await using parleyServer = await startServer([MAIN, "up", "--host", "127.0.0.1", "--port", "0", "--data", data], {
    PARLEY_REST_REQUESTS_PER_SECOND: "0",
    PARLEY_LOG_LEVEL: "info",
  });
  const authorization = `Bearer ${secretKeyIn(data)}`;
  const bytes = await answerBytes(parleyServer, authorization);
  await using controlServer = await startServer([CONTROL, String(bytes)]);
  // Exactly the same request: the control ignores what it does not need.
  const parley = subject(parleyServer, authorization, isMinted);
  const control = subject(controlServer, authorization, (body) => body.length === bytes);

  const { bun, cpu, cores } = machine();
  console.log(`Bun ${bun}, ${cpu}, ${cores} cores; ${CONNECTIONS} connections, ${REQUESTS} requests each per round\n`);
  for (const { load } of [parley, control]) await drive({ ...load, requests: WARM_UP_REQUESTS });

  const rounds: Figures[] = [];
  for (let i = 0; i < ROUNDS; i++) rounds.push(await round(parley, control));
  const middle = (of: keyof Figures): number => median(rounds.map((one) => one[of]));
  const result: Figures = { parley: middle("parley"), control: middle("control"), ratio: middle("ratio") };
  const cells = (one: Figures): string[] => [one.parley, one.control, one.ratio].map((value) => value.toFixed(2));
  console.log(
    table(
      ["server CPU per request", "Parley, µs", "control, µs", "ratio"],
      [...rounds.map((one, i) => [`round ${i + 1}`, ...cells(one)]), ["median", ...cells(result)]],
    ),
  );

  const holds = result.ratio <= TARGET_RATIO;
  console.log(`\nratio ${result.ratio.toFixed(2)}, target at most ${TARGET_RATIO}: ${holds ? "holds" : "MISSED"}`);
  const file = await keep("tokens", {
    connections: CONNECTIONS,
    requestsPerRound: REQUESTS,
    answerBytes: bytes,
    unit: "server CPU microseconds per request",
    rounds,
    median: result,
    target: TARGET_RATIO,
    holds,
  });
  console.log(`written to ${file}`);
  return holds;
}

const address = (server: ServerProcess): URL => new URL("/v1/tokens", server.url);

function subject(server: ServerProcess, authorization: string, expected: Load["expected"]): Subject {
  const url = address(server);
  const request = postBytes(url, { Authorization: authorization }, BODY);
  return { server, load: { url, connections: CONNECTIONS, requests: REQUESTS_PER_TURN, request, expected } };
}

/** The clocks are read once per round, not each turn: a server is idle while it is not its turn. */
async function round(parley: Subject, control: Subject): Promise<Figures> {
  const both = [parley, control] as const;
  const clocks = (): number[] => both.map(({ server }) => cpuSeconds(server.pid));
  const before = clocks();
  for (let turn = 0; turn < TURNS; turn++) for (const { load } of both) await drive(load);
  const [ours = Number.NaN, bare = Number.NaN] = clocks().map((now, i) => ((now - (before[i] ?? 0)) / REQUESTS) * 1e6);
  return { parley: ours, control: bare, ratio: ours / bare };
}

/** The loader shares the machine with the server, so the token's form is checked but not its signature. */
const isMinted = (body: string): boolean =>
  /^\{"token":"[\w-]+\.[\w-]+\.[\w-]{43}","expiresAt":\d{10},"channels":\[.*\],"permissions":\[.*\]\}$/.test(body);

async function answerBytes(server: ServerProcess, authorization: string): Promise<number> {
  const response = await fetch(address(server), {
    method: "POST",
    headers: { Authorization: authorization },
    body: JSON.stringify(BODY),
  });
  return (await response.bytes()).length;
}

function secretKeyIn(data: string): string {
  const found = readFileSync(join(data, "first-run.txt"), "utf8").match(/secret key +(\S+)/)?.[1];
  if (!found) throw new Error("the first start created no secret key");
  return found;
}
