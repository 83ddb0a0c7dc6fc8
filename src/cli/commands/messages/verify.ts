/** `parley verify`: runs the checker against a service. */
import { KINDS } from "../../../verify/findings.ts";
import { Fleet, FleetError, type FleetOptions, type Report } from "../../../verify/fleet.ts";
import type { Counts } from "../../../verify/tally.ts";
import { foundServer, serverUrl } from "../../calls/address.ts";
import { type Credential, keyFromFile } from "../../calls/credentials.ts";
import { foundKey } from "../../calls/found-credentials.ts";
import { givenAddress } from "../../calls/given-address.ts";
import { isThisMachine } from "../../calls/loopback.ts";
import { sayService } from "../../calls/service-line.ts";
import type { CommandResult } from "../../line/command.ts";
import { DEFAULT_URL, VERIFY_DEFAULTS, VERIFY_PREFIX_MAX_CHARS } from "../../line/defaults.ts";
import { Failure, UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { Interrupt } from "../../terminal/interrupt.ts";
import { fields, table } from "../../terminal/output.ts";
import { humanSeconds } from "../../terminal/progress.ts";
import { StatusLine } from "../../terminal/status-line.ts";

const DEFAULT_WS_URL = DEFAULT_URL.replace(/^http/, "ws");
const PREFIX = new RegExp(`^[A-Za-z0-9_.:/-]{1,${VERIFY_PREFIX_MAX_CHARS}}$`);
const SHOW_EVERY_MS = 250;
const CLIENTS_MAX = 10_000;
const RATE_MAX = 100_000;
const SECONDS_MAX = 86_400;
/** The share of the clients that may be cut per second: the service shows members late that come and go all the time. */
const CUTS_MAX_SHARE = 0.1;

export async function verify(input: Input): Promise<CommandResult> {
  const clients = numberBetween(input, "clients", VERIFY_DEFAULTS.clients, 2, CLIENTS_MAX);
  const options: FleetOptions = {
    urls: addresses(input),
    secretKey: (keyFromFile(input) ?? (await keyHere(input))).value,
    clients,
    channels: numberBetween(input, "channels", Math.min(VERIFY_DEFAULTS.channels, clients), 1, clients),
    rate: numberBetween(input, "rate", VERIFY_DEFAULTS.rate, 1, RATE_MAX),
    prefix: prefixOf(input),
    cuts: numberBetween(input, "cuts", 0, 0, Math.ceil(clients * CUTS_MAX_SHARE)),
    history: input.isOn("history"),
  };
  const seconds = secondsOf(input, "seconds");
  const settle = secondsOf(input, "settle");
  sayService(input);
  using status = new StatusLine(input.isOn("quiet"));
  status.at(`connecting ${clients} clients`);
  await using fleet = await open(options);
  using interrupt = new Interrupt();
  await talk(fleet, seconds, status, interrupt);
  status.at("waiting for messages in flight");
  // Also after Ctrl-C: what is still in flight would count as lost.
  const report = await fleet.settle(settle * 1000, { allowFlaps: input.isOn("allow-flaps") });
  status.end();
  const isCorrect = report.problems.length === 0;
  const interrupted = interrupt.happened;
  return {
    value: { correct: isCorrect, ...(interrupted && { interrupted }), ...report },
    text: describe(report, options),
    notes: [
      ...(interrupted ? [`Interrupted after ${report.figures.seconds} of ${seconds} s. Results so far:`] : []),
      ...hints(report),
    ],
    refused: !isCorrect,
    interrupted,
  };
}

async function talk(fleet: Fleet, seconds: number, status: StatusLine, interrupt: Interrupt): Promise<void> {
  const end = performance.now() + seconds * 1000;
  fleet.talk();
  for (let left = seconds * 1000; left > 0 && !interrupt.happened; left = end - performance.now()) {
    const { sent, deliveries, reconnects } = fleet.figures;
    const passed = `${humanSeconds(seconds - left / 1000)} of ${humanSeconds(seconds)}`;
    status.at(`${passed}: ${sent} sent, ${deliveries} delivered, ${reconnects} reconnects`);
    await interrupt.within(Math.min(left, SHOW_EVERY_MS));
  }
  fleet.hush();
}

/** The key of a service on this machine is sent only there, also if several addresses are named. */
async function keyHere(input: Input): Promise<Credential> {
  const elsewhere = foundServer(input) ? undefined : addresses(input).find((url) => !isThisMachine(url));
  const give = "set PARLEY_KEY=SK_ID:SK_SECRET, or pass a file with --secret-key-file";
  // A context has its own key, for its own address.
  const isOfContext = givenAddress(input)?.context !== undefined;
  if (elsewhere === undefined || input.isOn("data") || isOfContext) return foundKey(input, give);
  throw new UsageError(`this needs a key: ${give} (${elsewhere} is on another machine)`);
}

async function open(options: FleetOptions): Promise<Fleet> {
  try {
    return await Fleet.open(options);
  } catch (error) {
    if (error instanceof FleetError) throw new Failure("not_verified", error.message);
    throw error;
  }
}

function numberBetween(input: Input, name: string, initial: number, min: number, max: number): number {
  const number = input.whole(name) ?? initial;
  if (number < min || number > max)
    throw new UsageError(`--${name} is ${number}; it must be a whole number from ${min} to ${max}`);
  return number;
}

function secondsOf(input: Input, name: "seconds" | "settle"): number {
  const seconds = input.seconds(name) ?? VERIFY_DEFAULTS[name];
  if (seconds < 1 || seconds > SECONDS_MAX)
    throw new UsageError(`--${name} is ${seconds} s; it must be from 1 to ${SECONDS_MAX} (24h)`);
  return seconds;
}

/** http and https are accepted too, because PARLEY_URL has them for the other commands. */
function addresses(input: Input): string[] {
  const texts = input.texts("url");
  return (texts.length > 0 ? texts : [serverUrl(input)]).map((text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || !/^(ws|http)s?:$/.test(url.protocol) || url.username !== "" || url.search !== "" || url.hash !== "")
      throw new UsageError(`--url must be an address such as ${DEFAULT_WS_URL}`);
    return url.href.replace(/^http/, "ws");
  });
}

function prefixOf(input: Input): string {
  const prefix = input.text("prefix") ?? VERIFY_DEFAULTS.prefix;
  if (!PREFIX.test(prefix))
    throw new UsageError(`--prefix must be 1 to ${VERIFY_PREFIX_MAX_CHARS} letters, digits, _ . : / and -`);
  return prefix.replace(/\/+$/, "");
}

function describe({ problems, figures }: Report, { clients, channels, urls }: FleetOptions): string {
  const { sent, acked, refused, unknown, deliveries, seconds, reconnects } = figures;
  const addressed = urls.length === 1 ? "1 address" : `${urls.length} addresses`;
  const summary = fields({
    clients: `${clients} over ${addressed}, ${channels} ${channels === 1 ? "channel" : "channels"}, ${seconds} s`,
    sent: `${sent}: ${acked} acked, ${refused} refused, ${unknown} unknown`,
    errors: listed(figures.errors),
    delivered: deliveries,
    "closed by the service": listed(figures.closes),
    reconnects,
    ...(figures.recoveries > 0 && {
      recoveries: `${figures.recoveries}: ${figures.recoveries - figures.unrecovered} recovered with ${figures.replayed} messages replayed, ${figures.unrecovered} not recovered`,
    }),
    ...(figures.retries > 0 && { retries: `${figures.retries}, ${figures.duplicates} of which were already stored` }),
    verdict: problems.length === 0 ? "correct" : "WRONG",
  });
  const rows = problems.flatMap(({ kind, count, examples }) => [
    [kind, count, KINDS[kind]],
    ...examples.map((example) => [" ", " ", `for example: ${example}`]),
  ]);
  return problems.length === 0 ? summary : `${summary}\n${table(["PROBLEM", "COUNT", "WHAT"], rows)}`;
}

const listed = (counts: Counts): string =>
  Object.entries(counts)
    .map(([code, count]) => `${count} × ${code}`)
    .join(", ") || "none";

/** Hints about how the command was used, as opposed to problems of the service. */
function hints({ figures }: Report): string[] {
  const hints: string[] = [];
  if (figures.closes["4011"]) hints.push("4011: a connection sent too fast. Use more --clients or a lower --rate.");
  if (figures.errors.action_not_permitted) hints.push("action_not_permitted: the key needs all four actions.");
  return hints;
}
