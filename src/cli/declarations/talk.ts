/** Messages, members and connections of an application. */
import { REPLAY_MAX_MESSAGES } from "../../protocol/limits.ts";
import type { Command, Flag, Operand } from "../line/command.ts";
import { TALK_PEER_ID } from "../line/defaults.ts";
import { CONTROL, forLists, REST, TALK } from "../line/flags.ts";

const CHANNEL: Operand = { name: "CHANNEL", meaning: "the channel's name, such as chat/1" };
const PEER: Operand = { name: "PEER", meaning: "the peer's id" };
const DATA: Operand = { name: "DATA", meaning: "JSON, or text; - sends each line of stdin as one message" };
const as = (peerId: string): Flag => ({
  name: "as",
  value: "PEER",
  meaning: `with a secret key: the peer id to connect as (${peerId})`,
});
const SENDING: readonly Flag[] = [
  { name: "text", meaning: "send DATA as text, even if it is JSON" },
  { name: "id", value: "ID", meaning: "id of the message; history stores the same id only once within two minutes" },
];

/** Blocks are listed and ended through the control plane. */
const BLOCKS: readonly Flag[] = [
  { name: "app", value: "APP", meaning: "id or name of the application; default PARLEY_APP, else demo" },
  ...CONTROL,
];

const WHERE = `On the service's machine, the key comes from the data folder: the demo's key, or with --app one created with the admin token.
For a service on another machine, use "parley login", or set PARLEY_URL and PARLEY_KEY.`;

export const TALKING: readonly Command[] = [
  {
    name: "listen",
    summary: "print messages from channels as they arrive",
    operands: [{ ...CHANNEL, many: true }],
    flags: [
      {
        name: "history",
        value: "N|TIME",
        meaning: `start with the last N messages, up to ${REPLAY_MAX_MESSAGES}, or with those of the last 30s, 5m, 2h, 1d`,
      },
      { name: "presence", meaning: "also print members, joins and leaves; this also shows the listener as a member" },
      { name: "count", value: "N", meaning: "end after N messages" },
      as(`${TALK_PEER_ID}-…, with a random end`),
      ...TALK,
    ],
    details: `It reconnects when the connection is lost, and says on stderr whether messages are missing. Direct messages to it are printed too.
Press Ctrl-C to stop.
${WHERE}`,
    examples: [
      "parley listen chat/1",
      "parley listen chat/1 chat/2 --history 50 --presence",
      "parley listen chat/1 --json | jq .data",
    ],
    load: async () => (await import("../commands/messages/listen.ts")).listen,
  },
  {
    name: "publish",
    summary: "publish a message, or each line of stdin, to a channel",
    operands: [CHANNEL, DATA],
    flags: [...SENDING, as(TALK_PEER_ID), ...TALK],
    details: `It succeeds when the service has accepted the message; on a channel with history it is stored then. With - the lines keep
their order, about 80 per second, and wait while there is no connection; the first that is refused ends it.
${WHERE}`,
    examples: [
      "parley publish chat/1 'hello from the terminal'",
      `parley publish chat/1 '{"text":"hello"}'`,
      "tail -f app.log | parley publish logs/app - --text",
    ],
    load: async () => (await import("../commands/messages/publish.ts")).publish,
  },
  {
    name: "send",
    summary: "send a direct message, or each line of stdin, to a peer",
    operands: [PEER, DATA],
    flags: [...SENDING, as(TALK_PEER_ID), ...TALK],
    details: `It succeeds when a connection of that peer has been given the message.
${WHERE}`,
    examples: ["parley send alice 'hello alice'", `parley send alice '{"ring":true}' --as switchboard`],
    load: async () => (await import("../commands/messages/publish.ts")).send,
  },
  {
    name: "channels",
    summary: "list active channels, with their peers and connections",
    flags: [{ name: "prefix", value: "TEXT", meaning: "only names that begin with this" }, ...forLists(REST)],
    details: WHERE,
    examples: ["parley channels", "parley channels --prefix chat/ --json"],
    load: async () => (await import("../commands/messages/channels.ts")).channels,
  },
  {
    name: "peers",
    summary: "list the members of a channel",
    operands: [CHANNEL],
    flags: forLists(REST),
    details: WHERE,
    examples: ["parley peers chat/1", "parley peers chat/1 --json | jq -r .peerId"],
    load: async () => (await import("../commands/messages/channels.ts")).peers,
  },
  {
    name: "kick",
    summary: "close all connections of a peer",
    operands: [PEER],
    flags: [
      { name: "block", value: "TIME", meaning: "refuse to let it reconnect for this long; also 15m, 12h; up to 24h" },
      ...REST,
    ],
    details: WHERE,
    examples: ["parley kick alice", "parley kick alice --block 10m"],
    load: async () => (await import("../commands/messages/channels.ts")).kick,
  },
  {
    name: "blocks",
    summary: "list the blocked peers of an application",
    flags: forLists(BLOCKS),
    details: "Needs the admin token or an operator's.",
    examples: ["parley blocks", "parley blocks --app shop --json"],
    load: async () => (await import("../commands/control/blocks.ts")).blocks,
  },
  {
    name: "unblock",
    summary: "let a blocked peer connect again",
    operands: [PEER],
    flags: BLOCKS,
    details: "Needs the admin token, or that of an operator with the role admin.",
    examples: ["parley unblock alice", "parley unblock alice --app shop"],
    load: async () => (await import("../commands/control/blocks.ts")).unblock,
  },
  {
    name: "usage",
    summary: "show an application's messages and connections this month",
    flags: REST,
    details: WHERE,
    examples: ["parley usage", "parley usage --app shop --json"],
    load: async () => (await import("../commands/messages/channels.ts")).usage,
  },
];
