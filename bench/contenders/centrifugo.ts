/**
 * Centrifugo over its JSON protocol: real tokens, one namespace without history and presence, in which every client may
 * subscribe and publish, so that a publisher need not be a subscriber. Its reply to a publish carries only a number: no ack
 * mark. A direct message is a publish to a channel with one subscriber.
 */
import { join } from "node:path";
import { freePort } from "../../src/testing/ports.ts";
import { tempFolder } from "../../test/support/temp.ts";
import { type Got, goProgram, onPath } from "../lib/install.ts";
import { startPinned } from "../lib/pinned.ts";
import type { Contender, Dialect, Frame, Script } from "./contender.ts";
import { SECRET, token } from "./identity.ts";

const BUILT = "6.9.1";
/** The configuration below is of this version. */
const MAJOR = 6;

const build = (): Got => goProgram("github.com/centrifugal/centrifugo/v6", `v${BUILT}`);

/** The installed one, as its users run it; otherwise one is built. */
export function program(
  installed = onPath("centrifugo", ["version"]),
  built: () => Got = build,
): Got & { readonly version: string } {
  if (installed && Number.parseInt(installed.version, 10) === MAJOR)
    return { path: installed.path, version: `Centrifugo ${installed.version} (${installed.path}, found on the PATH)` };
  // A program built from source reports "0.0.0", so its version is not asked for.
  const passedOver = installed ? `; not used: ${installed.path} on the PATH, which is ${installed.version}` : "";
  return { ...built(), version: `Centrifugo ${BUILT} (built with Go${passedOver})` };
}

const config = (port: number) => ({
  http_server: { address: "127.0.0.1", port },
  log: { level: "warn" },
  usage_stats: { enabled: false },
  client: {
    token: { hmac_secret_key: SECRET },
    // No heartbeat falls into a run.
    ping_interval: "10m",
    // Its default of 1 MiB would close a subscriber that is 64 long messages behind; the other servers allow as much or more.
    queue_max_size: 64 * 1024 * 1024,
  },
  websocket: { write_timeout: "10s" },
  channel: { without_namespace: { allow_subscribe_for_client: true, allow_publish_for_client: true } },
});

/** The number of a command is echoed in its reply; nothing here needs to distinguish replies. */
const command = (name: string, body: object): string => JSON.stringify({ id: 1, [name]: body });

const script = (index: number, channel?: string): Script => ({
  path: "/connection/websocket",
  steps: [
    { send: command("connect", { token: token(index) }) },
    { expect: '"connect":{' },
    ...(channel === undefined ? [] : [{ send: command("subscribe", { channel }) }, { expect: '"subscribe":{' }]),
  ],
});

const publish = (channel: string, data: string): Frame => ({ text: command("publish", { channel, data }) });
const directChannel = (index: number): string => `direct/${index}`;

const dialect: Dialect = {
  subscriber: (index, channel) => script(index, channel),
  publisher: (index) => script(index),
  publish,
  direct: {
    peer: (index) => script(index, directChannel(index)),
    frame: (to, data) => publish(directChannel(to), data),
  },
};

export const centrifugo: Contender = {
  name: "Centrifugo",
  async prepare() {
    const { version, ...found } = program();
    if ("path" in found) return { version };
    return { missing: `there is no centrifugo ${MAJOR} on the PATH, and ${found.missing}` };
  },
  async start() {
    const found = program();
    if ("missing" in found) throw new Error(found.missing);
    const folder = tempFolder();
    const file = join(folder, "config.json");
    const port = await freePort();
    await Bun.write(file, JSON.stringify(config(port)));
    return { ...(await startPinned([found.path, "-c", file], { ready: port, folder })), dialect };
  },
};
