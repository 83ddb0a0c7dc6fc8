/** Debian's coturn between the two networks, with the file that docs/turn.md shows; and its clients. */
import { join } from "node:path";
import { type Ended, Running, run } from "../../deploy/support/program.ts";
import { until } from "../../support/wait.ts";
import { inPlace, MIDDLE_ADDRESS, RIGHT_ADDRESS } from "./network.ts";

const SEND_EVERY_MS = 100;

const PEER_PORT = "3480";
const PAGE = join(import.meta.dir, "../../../docs/turn.md");

/** The page's file without TLS, which needs a certificate, and with these secrets. */
async function fileOf(folder: string, secrets: readonly string[]): Promise<string> {
  const page = await Bun.file(PAGE).text();
  const [, sample] = /```\n# \/etc\/turnserver\.conf\n(.*?)```/s.exec(page) ?? [];
  if (sample === undefined) throw new Error("docs/turn.md has no turnserver.conf");
  const lines = sample.split("\n").filter((line) => !/^(tls-listening-port|cert|pkey|static-auth-secret)=/.test(line));
  return [
    ...lines,
    ...secrets.map((secret) => `static-auth-secret=${secret}`),
    "no-tls",
    "no-dtls",
    `listening-ip=${MIDDLE_ADDRESS}`,
    `relay-ip=${MIDDLE_ADDRESS}`,
    `pidfile=${join(folder, "turnserver.pid")}`,
    `userdb=${join(folder, "turndb")}`,
    "log-file=stdout",
    "",
  ].join("\n");
}

export async function startCoturn(folder: string, secrets: readonly string[]): Promise<Running> {
  if (!Bun.which("turnserver")) throw new Error("turnserver is missing: apt-get install -y coturn");
  const file = join(folder, "turnserver.conf");
  await Bun.write(file, await fileOf(folder, secrets));
  const server = new Running(inPlace("middle", "turnserver", "-c", file));
  const probe = ["turnutils_stunclient", "-p", "3478", MIDDLE_ADDRESS];
  await until("coturn answers", async () => {
    if (server.hasEnded) throw new Error(`coturn ended:\n${server.output}`);
    const { output } = await run(inPlace("left", "timeout", "1", ...probe));
    return /reflexive addr: 198\.18\.1\.2/.test(output);
  });
  return server;
}

/** Sends back what it receives, in the right network. */
export const startEcho = (): Running =>
  new Running(inPlace("right", "turnutils_peer", "-L", RIGHT_ADDRESS, "-p", PEER_PORT));

/** A client in the left network sends packets to the echo in the right one, over a relay. */
export const relay = (username: string, credential: string): Promise<Ended> =>
  run(
    inPlace(
      "left",
      ...["timeout", "30", "turnutils_uclient", "-u", username, "-w", credential],
      // One client without a second port for RTCP sends two packets.
      ...["-m", "1", "-n", "2", "-c", "-e", RIGHT_ADDRESS, "-r", PEER_PORT, MIDDLE_ADDRESS],
    ),
  );

/** The same without a relay: whether a packet to the echo comes back. */
export async function reachesDirectly(): Promise<boolean> {
  const script = `
    const socket = await Bun.udpSocket({ socket: { data: () => process.exit(0), error: () => undefined } });
    for (let i = 0; i < 5; i++) {
      try { socket.send("x", ${PEER_PORT}, "${RIGHT_ADDRESS}"); } catch {}
      await Bun.sleep(${SEND_EVERY_MS});
    }
    process.exit(1);`;
  const { code } = await run(inPlace("left", process.execPath, "-e", script));
  return code === 0;
}
