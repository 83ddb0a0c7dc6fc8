/** Verification that a running service delivers what it promises. */
import type { Command } from "../line/command.ts";
import { VERIFY_DEFAULTS } from "../line/defaults.ts";
import { JSON_OUT, KEY_HERE, SERVICE } from "../line/flags.ts";

const { clients, channels, rate, seconds, settle, prefix } = VERIFY_DEFAULTS;

export const VERIFY: readonly Command[] = [
  {
    name: "verify",
    summary: "send messages through all nodes for a while, and check that each is delivered correctly",
    flags: [
      {
        name: "url",
        value: "URL",
        many: true,
        meaning:
          "address of a node or of a load balancer; repeat the flag for several; default PARLEY_URL, else the server of the data folder",
      },
      {
        name: "secret-key-file",
        value: "FILE",
        meaning: "file with SK_ID:SK_SECRET; default PARLEY_KEY, else the key in the data folder",
      },
      { name: "clients", value: "N", meaning: `connections, spread over the addresses (${clients})` },
      { name: "channels", value: "N", meaning: `channels that the clients are spread over (${channels})` },
      { name: "rate", value: "N", meaning: `messages per second, from all clients together (${rate})` },
      { name: "seconds", value: "TIME", meaning: `how long to send; also 10m, 1h (${seconds})` },
      {
        name: "settle",
        value: "TIME",
        meaning: `the longest wait for messages in flight; also 1m (${settle})`,
      },
      { name: "prefix", value: "NAME", meaning: `channels are NAME/…, and the key must cover NAME/** (${prefix})` },
      { name: "history", meaning: "fail unless a channel rule gives these channels history" },
      {
        name: "cuts",
        value: "N",
        meaning: "connections per second that the clients cut, to reconnect and recover (0)",
      },
      {
        name: "allow-flaps",
        meaning: "allow members to leave and join while their connection stays open, because nodes were partitioned",
      },
      ...KEY_HERE,
      ...SERVICE,
      JSON_OUT,
    ],
    details: `Safe to run next to real traffic, because it uses its own channels and peers. The key needs all four actions.
A closed connection is not an error, but a gap in an open one is, so you can restart nodes while it runs.
If the channels have history, clients recover after reconnecting, and every recovery must be complete.
The exit code is 1 if something went wrong, or if that could not be determined.`,
    examples: [
      "parley verify --url ws://127.0.0.1:8080 --secret-key-file key.txt",
      "parley verify --url wss://a.example.com --url wss://b.example.com --clients 300 --channels 30 --rate 1000 --seconds 10m",
      "parley verify --url ws://127.0.0.1:8080 --secret-key-file key.txt --history --cuts 5",
    ],
    load: async () => (await import("../commands/messages/verify.ts")).verify,
  },
];
