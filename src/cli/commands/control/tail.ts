/** `parley tail`: prints the live tail of a service, and connects again when the connection is lost. */
import { setTimeout as sleep } from "node:timers/promises";
import { hasColours } from "../../../base/colours.ts";
import { isObject, type JsonObject } from "../../../protocol/json.ts";
import { TAIL_KINDS } from "../../../telemetry/tail/event.ts";
import { controlPlane, type Server } from "../../calls/client.ts";
import { Failure } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { escaped, write } from "../../terminal/output.ts";
import { nameOfApp } from "./app-name.ts";
import { TailText } from "./tail-text.ts";

/** Longer than two heartbeats of the server. */
const SILENCE_MAX_MS = 40_000;
const RETRY_MS = 2000;
/** Refusals that end by themselves, for example while a node restarts behind a load balancer. */
const PASSING = ["unreachable", "unexpected_answer", "rate_limited", "internal_error", "backend_error"];

export async function tail(input: Input): Promise<undefined> {
  const path = `/tail${queryOf(input)}`;
  const server = controlPlane(input);
  const isJson = input.isOn("json");
  const text = new TailText((app) => nameOfApp(server, app), hasColours(process.stdout, input.env));
  const print = async (lines: readonly string[]): Promise<void> => {
    let shown = "";
    for (const line of lines) shown += `${isJson ? escaped(line) : await text.of(parsed(line))}\n`;
    await write(Bun.stdout, shown);
  };
  const note = (message: string): Promise<void> => write(Bun.stderr, `parley: ${escaped(message)}\n`);

  const interrupted = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => interrupted.abort());
  const { signal } = interrupted;
  let isFirst = true;
  while (!signal.aborted) {
    try {
      const why = await follow(server, path, signal, print, async () => {
        if (!isFirst) await note("reconnected; events from the time in between are missing");
        else if (!isJson) await note(`tailing ${server.origin}; press Ctrl-C to stop`);
        isFirst = false;
      });
      if (!signal.aborted) await note(`${why}; reconnecting`);
    } catch (error) {
      if (signal.aborted) break;
      if (isFirst || !(error instanceof Failure) || !PASSING.includes(error.code)) throw error;
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

/** Prints one connection's events. Resolves with the reason why it ended; rejects if the server refuses. */
async function follow(
  server: Server,
  path: string,
  signal: AbortSignal,
  print: (lines: readonly string[]) => Promise<void>,
  opened: () => Promise<void>,
): Promise<string> {
  const silent = new AbortController();
  const listen = (): ReturnType<typeof setTimeout> => setTimeout(() => silent.abort(), SILENCE_MAX_MS);
  let timer = listen();
  try {
    const { body } = await server.stream(path, AbortSignal.any([signal, silent.signal]));
    await opened();
    const decoder = new TextDecoder();
    let rest = "";
    for await (const bytes of body ?? []) {
      clearTimeout(timer);
      timer = listen();
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      await print(lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice("data: ".length)));
    }
    return "the server ended the stream";
  } catch (error) {
    if (error instanceof Failure) throw error;
    return silent.signal.aborted ? "the server has been silent" : "the connection was lost";
  } finally {
    clearTimeout(timer);
  }
}

function queryOf(input: Input): string {
  // Checked here too, so that a typo is named before anything is sent.
  const kinds = input.list("kind", TAIL_KINDS);
  const query = new URLSearchParams(kinds && { kind: kinds.join(",") });
  for (const name of ["app", "channel", "peer", "key"]) {
    const text = input.text(name);
    if (text !== undefined) query.set(name, text);
  }
  return query.size > 0 ? `?${query}` : "";
}

function parsed(line: string): JsonObject {
  const value: unknown = JSON.parse(line);
  return isObject(value) ? value : {};
}
