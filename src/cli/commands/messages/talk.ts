/** Connects a command to a service as a peer, with the client that applications use. */
import {
  type Credential,
  type ErrorCode,
  Parley,
  ParleyError,
  type ParleyOptions,
} from "../../../../client/src/index.ts";
import { asShellWord } from "../../../config/program.ts";
import type { Action } from "../../../protocol/actions.ts";
import { isChannelName, isPeerId } from "../../../protocol/names.ts";
import { noServerHint, serverUrl, trustIn } from "../../calls/address.ts";
import { backendApi } from "../../calls/client.ts";
import { sayService } from "../../calls/service-line.ts";
import { type TalkCredential, talkCredential } from "../../calls/talk-credential.ts";
import { Failure, UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { asTyped } from "../../terminal/hints.ts";
import { LineWriter } from "../../terminal/line-writer.ts";
import { escaped } from "../../terminal/output.ts";

export interface Wanted {
  readonly channels: readonly string[];
  readonly permissions: readonly Action[];
  /** The peer id for a secret key, unless --as names another. */
  readonly peerId: string;
  /** Keeps messages while there is no connection. */
  readonly queue?: NonNullable<ParleyOptions["queue"]>;
}

export interface Talk {
  readonly client: Parley;
  /** The address of the service. */
  readonly origin: string;
  /** A ParleyError as a failure of the command, with what to do next; everything else as it is. */
  failure(error: unknown): unknown;
  /** Rejects when the service has ended the connection for good, with the reason; never resolves. */
  readonly ended: Promise<never>;
  /** The flags of the command, for hints. */
  readonly flags: ReadonlyMap<string, string>;
}

/** Resolves when the connection is made. The first attempt counts: a command that can do nothing says so at once. */
export async function connect(input: Input, wanted: Wanted): Promise<Talk> {
  const url = serverUrl(input);
  sayService(input);
  const credential = await talkCredential(input);
  const { origin } = new URL(url);
  const failure = (error: unknown): unknown => failureOf(error, { input, origin }, credential, wanted);
  const given = await clientCredential(input, credential, wanted);
  const client = new Parley({ url, ...given, ...socketsOf(input, url), ...(wanted.queue && { queue: wanted.queue }) });
  noteTransport(client, origin);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const end = client.on("status", ({ state, error }) => {
    if (state === "connected") resolve();
    else if (error) reject(failure(error));
  });
  try {
    await promise;
  } catch (error) {
    client.close();
    throw error;
  } finally {
    end();
  }
  return { client, origin, failure, ended: endOf(client, failure), flags: input.flags };
}

/** Bun's WebSocket, with another trust in certificates where `trustIn` says so. */
function socketsOf(input: Input, url: string): Pick<ParleyOptions, "WebSocket"> {
  const options = trustIn(input, url);
  if (!options.tls) return {};
  return {
    WebSocket: class extends WebSocket {
      constructor(address: string) {
        super(address, options);
      }
    },
  };
}

function endOf(client: Parley, failure: Talk["failure"]): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  client.on("status", ({ state, error }) => {
    if (state === "closed" && error?.code !== "closed") reject(failure(error));
  });
  // A command that has just ended does not wait for it any more.
  promise.catch(() => undefined);
  return promise;
}

/** A token of a secret key permits no more than the command needs. */
async function clientCredential(input: Input, found: TalkCredential, wanted: Wanted): Promise<Credential> {
  if (found.kind !== "secret" && input.isOn("as"))
    throw new UsageError(`--as needs a secret key: ${found.from} already sets the peer id`);
  if (found.kind === "publishable") return { key: found.key };
  if (found.kind === "token") {
    const { token } = found;
    return { token: ({ reason }) => (reason === "renew" ? notRenewed() : token) };
  }
  const peerId = input.text("as") ?? wanted.peerId;
  if (!isPeerId(peerId)) throw new UsageError("--as must be a peer id: at most 128 printable ASCII characters");
  const api = backendApi(input, found.credential);
  const channels = wanted.channels.map(asPattern);
  const mint = async (): Promise<string> => {
    try {
      return (await api.post<{ token: string }>("/tokens", { peerId, channels, permissions: wanted.permissions }))
        .token;
    } catch (error) {
      throw error instanceof Failure ? withNext(error.code, error.message) : error;
    }
  };
  // Minted before the client asks for it: what the service refuses here is reported as it is.
  let first: string | undefined = await mint();
  return {
    token: async () => {
      const token = first ?? (await mint());
      first = undefined;
      return token;
    },
  };
}

function notRenewed(): never {
  throw new Error("this token is the only one");
}

/** The channels of tokens are patterns, in which a backslash quotes. */
const asPattern = (channel: string): string => channel.replaceAll("\\", "\\\\");

export function channelName(text: string): string {
  if (text.includes("*"))
    throw new UsageError(
      `${JSON.stringify(text)} is a pattern, but this needs a channel name; "parley channels" lists active channels, "parley tail --channel '${text}'" follows a pattern`,
    );
  if (!isChannelName(text))
    throw new UsageError(`${JSON.stringify(text)} is not a channel name: 1 to 256 bytes without control characters`);
  return text;
}

/** What to do next about an error of the service. */
const NEXT: Readonly<Record<string, string>> = {
  channel_not_authorized: 'The key must cover it: "parley keys show KEY" and "parley keys edit KEY --channels LIST".',
  action_not_permitted: 'The key must permit it: "parley keys show KEY" and "parley keys edit KEY --actions LIST".',
  peer_not_found: '"parley peers CHANNEL" lists who is in a channel.',
  over_message_quota: '"parley usage" shows what is used.',
  kicked: "It can reconnect unless it is blocked.",
  over_connection_limit: '"parley usage" shows the limit, "parley apps plan APP --max-connections N" changes it.',
};
const REFUSED: readonly ErrorCode[] = ["unauthorized", "invalid_token", "token_expired", "origin_not_allowed"];

/** A ParleyError as a failure of the command; everything else as it is. */
function failureOf(
  error: unknown,
  { input, origin }: { readonly input: Input; readonly origin: string },
  found: TalkCredential,
  wanted: Wanted,
): unknown {
  if (!(error instanceof ParleyError)) return error;
  const { code } = error;
  // Programs know the client's options by name; a user of the command line knows where the credential came from.
  const message = error.message.replace(/^The service refused `(key|token)`: /, "");
  if (code === "unreachable")
    return new Failure(code, `cannot connect to ${origin}: ${asClause(message)}; ${noServerHint(input)}`);
  if (code === "token_failed" && error.cause instanceof Failure) return error.cause;
  if (REFUSED.includes(code) && found.kind === "token")
    return new Failure(
      code,
      `the token of ${found.from} was refused: ${asClause(message)} (${origin}); ${otherToken(found, "")}`,
    );
  if (REFUSED.includes(code) && found.kind === "publishable")
    return new Failure(code, `the publishable key of ${found.from} was refused: ${message} (${origin})`);
  if (found.kind === "token" && code === "channel_not_authorized")
    return new Failure(code, `${message} It is the token of ${found.from}: ${otherToken(found, channelsFlag(wanted))}`);
  if (found.kind === "token" && code === "action_not_permitted")
    return new Failure(
      code,
      `${message} It is the token of ${found.from}: ${otherToken(found, ` --permissions ${wanted.permissions.join(",")}`)}`,
    );
  return withNext(code, message);
}

/** What a token permits cannot be changed, unlike a key. People forget that they have exported one. */
const otherToken = ({ from }: Extract<TalkCredential, { kind: "token" }>, flags: string): string =>
  `${from.startsWith("--") ? `leave ${from} out` : `unset ${from}`}, or mint another with "parley token mint --peer NAME${flags}"`;

const channelsFlag = ({ channels }: Wanted): string =>
  ` --channels ${channels.length === 1 ? asShellWord(channels.map(asPattern).join()) : "LIST"}`;

function withNext(code: string, message: string): Failure {
  const next = NEXT[code];
  return new Failure(code, next === undefined ? message : `${message} ${next}`);
}

const stderr = new LineWriter(Bun.stderr);

/** A note for people, on stderr, behind those before it. */
export function note(message: string, flags: Talk["flags"] = new Map()): Promise<void> {
  stderr.add(`parley: ${escaped(asTyped(message, flags))}\n`);
  return stderr.done();
}

/** Says, once, that something between here and the service blocks WebSockets: what is sent takes a little longer then. */
function noteTransport(client: Parley, origin: string): void {
  const end = client.on("status", ({ transport }) => {
    if (transport !== "http") return;
    end();
    void note(`WebSockets to ${origin} are blocked; connected over HTTP instead`);
  });
}

/** Says when the connection is lost, once per outage, and what else goes wrong meanwhile. */
export function noteTroubles({ client }: Talk): void {
  let isAway = false;
  client.on("error", ({ code, message, cause }) => {
    if (code !== "token_failed") void note(message);
    // The one token of --token cannot be renewed. When it has ended, so has the connection.
    else if (cause instanceof Failure) void note(`the token cannot be renewed: ${cause.message}`);
  });
  client.on("status", ({ state, error }) => {
    if (state === "reconnecting" && !isAway) void note(`${asClause(error?.message)}; reconnecting`);
    isAway = state === "reconnecting";
  });
}

/** A sentence as the beginning of another one. */
const asClause = (sentence = "The connection was closed."): string =>
  sentence.replace(/^[A-Z]/, (first) => first.toLowerCase()).replace(/\.$/, "");
