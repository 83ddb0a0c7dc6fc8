/**
 * NATS over WebSocket: no tokens, no acks (a publish of core NATS has none that carries text). A direct message is a publish
 * to a subject with one subscriber. Two versions: Debian's, and the current one.
 */
import { join } from "node:path";
import { tempFolder } from "../../test/support/temp.ts";
import { debianPackages, type Got, goProgram, printed } from "../lib/install.ts";
import { startPinned } from "../lib/pinned.ts";
import type { Contender, Dialect, Frame, Script } from "./contender.ts";

const MODULE = "github.com/nats-io/nats-server/v2";
const VERSION = "v2.15.2";

/**
 * It chooses both ports. It pings every client once, 2 s after its connect, which cannot be turned off; the second ping and
 * the close for missing pongs come long after a run.
 */
const CONFIG = `host: "127.0.0.1"
port: -1
ping_interval: "10m"
websocket {
  host: "127.0.0.1"
  port: -1
  no_tls: true
  compression: false
}
`;

const CONNECT = `CONNECT ${JSON.stringify({ verbose: false, pedantic: false, lang: "c", version: "1", protocol: 1 })}\r\n`;

/** The server processes commands in order: its PONG confirms the subscription. */
const script = (subject?: string): Script => ({
  path: "/",
  steps: [
    { expect: "INFO" },
    { sendBinary: `${CONNECT}${subject === undefined ? "" : `SUB ${subject} 1\r\n`}PING\r\n` },
    { expect: "PONG" },
  ],
});

const publish = (subject: string, data: string): Frame => ({
  text: `PUB ${subject} ${Buffer.byteLength(data)}\r\n${data}\r\n`,
  isBinary: true,
});

const directSubject = (index: number): string => `direct.${index}`;

const dialect: Dialect = {
  subscriber: (_index, channel) => script(channel),
  publisher: () => script(),
  publish,
  direct: {
    peer: (index) => script(directSubject(index)),
    frame: (to, data) => publish(directSubject(to), data),
  },
};

const contender = (name: string, got: () => Got, origin: string): Contender => ({
  name,
  async prepare() {
    const found = got();
    if ("missing" in found) return found;
    const version = /v([\d.]+\S*)/.exec(printed([found.path, "--version"]))?.[1] ?? "of an unknown version";
    return { version: `NATS ${version} (${origin})` };
  },
  async start() {
    const found = got();
    if ("missing" in found) throw new Error(found.missing);
    const folder = tempFolder();
    const config = join(folder, "nats.conf");
    await Bun.write(config, CONFIG);
    const server = await startPinned([found.path, "-c", config], {
      // "Server is ready" is the last line of a start, after the one with the port.
      ready: (output) =>
        output.includes("Server is ready")
          ? Number(/websocket clients on ws:\/\/127\.0\.0\.1:(\d+)/.exec(output)?.[1])
          : undefined,
      folder,
    });
    return { ...server, dialect };
  },
});

function installed(): Got {
  // Debian's path: another one in PATH would be a different build.
  const path = "/usr/sbin/nats-server";
  const missing = debianPackages("Debian's NATS", ["nats-server"], () => Bun.which(path) !== null);
  return missing ? { missing } : { path };
}

export const natsOfDebian = contender("NATS, Debian's", installed, "Debian's package");
const current = (): Got => goProgram(MODULE, VERSION);
export const nats = contender("NATS", current, "built with Go");

/** The current version if it is available. */
export function anyNats(): { readonly contender: Contender; readonly program: Got } {
  const program = current();
  return "path" in program ? { contender: nats, program } : { contender: natsOfDebian, program: installed() };
}
