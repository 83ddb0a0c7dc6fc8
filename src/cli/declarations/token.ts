/** Connect tokens. */
import { TOKEN_DEFAULT_SECONDS, TOKEN_MAX_SECONDS } from "../../access/limits.ts";
import { ACTIONS } from "../../protocol/actions.ts";
import type { Command } from "../line/command.ts";
import { CONTROL, REST } from "../line/flags.ts";

export const TOKEN: readonly Command[] = [
  {
    name: "token mint",
    summary: "make a connect token with a secret key, and print it",
    flags: [
      { name: "peer", value: "ID", meaning: "the peer's id", required: true },
      { name: "channels", value: "LIST", meaning: "names or patterns that the key covers; default: all of the key's" },
      { name: "permissions", value: "LIST", meaning: `any of ${ACTIONS.join(", ")}; default: all of the key's` },
      {
        name: "expires",
        value: "TIME",
        meaning: `how long the token is valid, in seconds or as 10m, 2h; at most ${TOKEN_MAX_SECONDS} (${TOKEN_DEFAULT_SECONDS})`,
      },
      { name: "metadata", value: "JSON", meaning: "private to the connection; delivered once, in welcome" },
      { name: "peer-metadata", value: "JSON", meaning: "shown to other peers" },
      ...REST,
    ],
    examples: [
      "parley token mint --peer alice",
      `parley token mint --peer alice --channels 'chat/*' --permissions subscribe --expires 10m --peer-metadata '{"name":"Alice"}'`,
    ],
    load: async () => (await import("../commands/control/token.ts")).mint,
  },
  {
    name: "token check",
    summary: "check whether a token is valid, and if not, why not",
    operands: [{ name: "TOKEN", meaning: "the token; omit it or use - to read it from stdin", optional: true }],
    flags: CONTROL,
    details: "The exit code is 1 if the token is refused.",
    examples: ["parley token mint --peer alice | parley token check -"],
    load: async () => (await import("../commands/control/token.ts")).check,
  },
];
