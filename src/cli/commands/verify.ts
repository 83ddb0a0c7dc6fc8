/** Proof that a running service does what it promises. */
import type { Command } from "../command.ts";
import { JSON_OUT } from "../flags.ts";
import { VERIFY_DEFAULTS } from "../verify-defaults.ts";

const { clients, channels, rate, seconds, settle, prefix } = VERIFY_DEFAULTS;

export const VERIFY: readonly Command[] = [
  {
    name: "verify",
    summary: "talk over all nodes for a while, and say whether all was delivered right",
    flags: [
      {
        name: "url",
        value: "URL",
        many: true,
        meaning: "a node, or what stands before them; several: give it several times (PARLEY_URL)",
      },
      { name: "secret-key-file", value: "FILE", meaning: "holds SK_ID:SK_SECRET; default PARLEY_KEY" },
      { name: "clients", value: "N", meaning: `connections, spread over the addresses (${clients})` },
      { name: "channels", value: "N", meaning: `channels, over which the clients are spread (${channels})` },
      { name: "rate", value: "N", meaning: `messages a second, of all clients together (${rate})` },
      { name: "seconds", value: "N", meaning: `how long they talk (${seconds})` },
      { name: "settle", value: "SECONDS", meaning: `how long to wait at most for what is on the way (${settle})` },
      { name: "prefix", value: "NAME", meaning: `channels are NAME/…, and the key must cover NAME/** (${prefix})` },
      {
        name: "allow-flaps",
        meaning: "members may leave and come back whose connection never ended: nodes were cut from each other",
      },
      JSON_OUT,
    ],
    details: `Safe beside real traffic: the channels and peers are its own. The key needs all four actions.
A connection that ends is no fault, a gap in one that stays open is: restart nodes while it runs.
The exit code is 1 when something was wrong, or when it could not be found out.`,
    examples: [
      "parley verify --url ws://127.0.0.1:8080 --secret-key-file key.txt",
      "parley verify --url wss://a.example.com --url wss://b.example.com --clients 300 --channels 30 --rate 1000 --seconds 30",
    ],
    load: async () => (await import("../verify.ts")).verify,
  },
];
