/**
 * Firefox, with a bridge between it and playwright, which starts this file in its place (./firefox). Playwright sets up every context with
 * `emulation.setMediaFeaturesOverride`, which Firefox ESR 153 does not know: without an answer no context could be opened. The bridge answers
 * that command, and everything else passes unchanged. Once an ESR knows the command, this folder can go.
 */
import { rmSync } from "node:fs";
import { SCHEME, type Scheme } from "./scheme.ts";

interface Command {
  readonly id: number;
  readonly method: string;
  readonly params: { readonly features?: { readonly [feature: string]: string } };
}

const UNKNOWN_TO_FIREFOX = "emulation.setMediaFeaturesOverride";
const READY = /^WebDriver BiDi listening on (ws:\S+)$/;
/** Screenshots are sent as one message. */
const MESSAGE_MAX_BYTES = 256 * 1024 * 1024;

const scheme: Scheme = process.env[SCHEME] === "dark" ? "dark" : "light";
const [program = "", ...args] = process.argv.slice(2);
/** It would write some files into the home folder, and leave a crash reporter running after it has been killed. */
const home = args[args.indexOf("--profile") + 1] ?? "";
if (home === "") throw new Error("there is no --profile");
const firefox = Bun.spawn([program, ...args], {
  stdio: ["ignore", "ignore", "pipe"],
  env: { ...process.env, HOME: home, MOZ_CRASHREPORTER: undefined, MOZ_CRASHREPORTER_DISABLE: "1" },
});
const address = Promise.withResolvers<string>();
// No one reads it any more when the tests have been killed.
process.stderr.on("error", () => undefined);
void readErrors();
// Playwright removes the profile too, but not when the tests have been killed.
firefox.exited.then((code) => {
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  process.exit(code);
});
const url = `${await address.promise}/session`;

const bridge = Bun.serve<{ readonly firefox: WebSocket }>({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request, server) => {
    const far = new WebSocket(url);
    await new Promise((resolve, reject) => {
      far.onopen = resolve;
      far.onerror = reject;
    });
    return server.upgrade(request, { data: { firefox: far } }) ? undefined : new Response(null, { status: 426 });
  },
  websocket: {
    maxPayloadLength: MESSAGE_MAX_BYTES,
    backpressureLimit: MESSAGE_MAX_BYTES,
    idleTimeout: 0,
    open: (near) => {
      near.data.firefox.onmessage = ({ data }) => near.send(data);
      near.data.firefox.onclose = () => near.close();
    },
    message: (near, data) => {
      const answer = answered(JSON.parse(String(data)));
      if (answer) near.send(JSON.stringify(answer));
      else near.data.firefox.send(data);
    },
    // Also when the tests have been killed: nothing else would end Firefox.
    close: () => firefox.kill(),
  },
});
process.stderr.write(`WebDriver BiDi listening on ws://127.0.0.1:${bridge.port}\n`);

/** Pages are drawn in the colours that Firefox was started with, so others cannot be asked for. */
function answered({ id, method, params }: Command): object | undefined {
  if (method !== UNKNOWN_TO_FIREFOX) return undefined;
  const wanted = params.features?.["prefers-color-scheme"] ?? scheme;
  if (wanted === scheme) return { type: "success", id, result: {} };
  const message = `this Firefox was started with ${scheme} pages`;
  return { type: "error", id, error: "unsupported operation", message };
}

/** The line with Firefox's own address is for the bridge alone; playwright would connect to it. */
async function readErrors(): Promise<void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of firefox.stderr) {
    const lines = (text + decoder.decode(chunk, { stream: true })).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const [, found] = READY.exec(line) ?? [];
      if (found === undefined) process.stderr.write(`${line}\n`);
      else address.resolve(found);
    }
  }
}
