/** Whether the TURN and STUN servers of a service answer from the machine of `parley doctor`, as they must answer the pages of meetings. */
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect, isIPv6 } from "node:net";

const ANSWER_MS = 3000;
/** UDP loses packets. */
const REPEAT_EVERY_MS = 500;
const PORTS = { plain: 3478, tls: 5349 } as const;
const BINDING_REQUEST = 0x0001;
const MAGIC_COOKIE = 0x2112a442;
const HEADER_BYTES = 20;

interface TurnServer {
  readonly host: string;
  readonly port: number;
  readonly isUdp: boolean;
}

/** The URLs of those that do not answer. */
export async function silentTurnServers(urls: readonly string[]): Promise<string[]> {
  const answers = await Promise.all(urls.map((url) => answersAt(serverOf(url))));
  return urls.filter((_, at) => !answers[at]);
}

/** `turn:host:port?transport=udp`; the settings are checked at the start of the service. */
function serverOf(url: string): TurnServer {
  const [, scheme = "", host = "", port, query = ""] =
    /^(\w+):(\[[^\]]+\]|[^:?]+)(?::(\d+))?(?:\?(.*))?$/.exec(url) ?? [];
  const isTls = scheme.endsWith("s");
  return {
    host: host.replace(/^\[|\]$/g, ""),
    port: port === undefined ? PORTS[isTls ? "tls" : "plain"] : Number(port),
    isUdp: !isTls && !query.includes("transport=tcp"),
  };
}

const answersAt = (server: TurnServer): Promise<boolean> => (server.isUdp ? answersBinding(server) : accepts(server));

/** A STUN binding request (RFC 8489), which needs no credential. */
async function answersBinding({ host, port }: TurnServer): Promise<boolean> {
  const request = Buffer.alloc(HEADER_BYTES);
  request.writeUInt16BE(BINDING_REQUEST, 0);
  request.writeUInt32BE(MAGIC_COOKIE, 4);
  randomBytes(12).copy(request, 8);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
  socket.on("message", (answer) => answer.subarray(4, HEADER_BYTES).equals(request.subarray(4)) && resolve(true));
  socket.on("error", () => resolve(false));
  const send = (): void => socket.send(request, port, host, (error) => error && resolve(false));
  send();
  const repeating = setInterval(send, REPEAT_EVERY_MS);
  const timer = setTimeout(() => resolve(false), ANSWER_MS);
  const isAnswered = await promise;
  clearInterval(repeating);
  clearTimeout(timer);
  socket.close();
  return isAnswered;
}

async function accepts({ host, port }: TurnServer): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port, timeout: ANSWER_MS });
  socket.on("connect", () => resolve(true));
  for (const event of ["error", "timeout"]) socket.on(event, () => resolve(false));
  const isAccepted = await promise;
  socket.destroy();
  return isAccepted;
}
