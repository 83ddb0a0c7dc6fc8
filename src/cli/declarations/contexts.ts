/** Services on other machines that commands call: logging in, choosing one, logging out. */
import type { Command, Operand } from "../line/command.ts";
import { forLists, JSON_OUT } from "../line/flags.ts";

const NAME: Operand = { name: "NAME", meaning: 'the name of a context, from "parley contexts"', isContext: true };

export const CONTEXTS: readonly Command[] = [
  {
    name: "login",
    summary: "keep the address and a token of a service as a context, and use it",
    operands: [{ name: "URL", meaning: "the address of the service, such as https://parley.example.com" }],
    flags: [
      { name: "name", value: "NAME", meaning: "what to call it; default: the host of URL" },
      { name: "token-stdin", meaning: "read the token from stdin instead of asking for it" },
      {
        name: "control-url",
        value: "URL",
        meaning: "where its control plane is, if PARLEY_ADMIN_LISTEN gives it an address of its own",
      },
      { name: "insecure", meaning: "accept http, where everyone on the way can read the token and all messages" },
      JSON_OUT,
    ],
    details: `The token is the admin token, or better an operator's ("parley operators create"). It is asked for without being shown, tried
at the service, and kept in a folder that only you can enter: $XDG_CONFIG_HOME/parley, else ~/.config/parley.
With the token of an admin, "parley listen" and others make the key that they need, and keep it there too.`,
    examples: [
      "parley login https://parley.example.com",
      "cat token.txt | parley login https://parley.example.com --name prod --token-stdin",
    ],
    load: async () => (await import("../commands/contexts/login.ts")).login,
  },
  {
    name: "use",
    summary: "choose the context that commands use from now on; - for services of this machine",
    operands: [{ ...NAME, meaning: "the name of a context, or -" }],
    flags: [JSON_OUT],
    details: "--url, --context and --data come first, then PARLEY_URL, PARLEY_CONTEXT and PARLEY_DATA.",
    examples: ["parley use prod", "parley use -"],
    load: async () => (await import("../commands/contexts/contexts.ts")).use,
  },
  {
    name: "contexts",
    summary: "list the contexts; * is the one in use",
    flags: forLists([JSON_OUT]),
    details: "Tokens are not shown. On stderr it names the services that you run on this machine.",
    examples: ["parley contexts", "parley contexts --json"],
    load: async () => (await import("../commands/contexts/contexts.ts")).list,
  },
  {
    name: "logout",
    summary: "forget a context, its token and the keys that are kept for it",
    operands: [NAME],
    flags: [JSON_OUT],
    details:
      "The token and the keys stay valid at the service: it names those that commands have made, so that you can revoke them.",
    examples: ["parley logout prod"],
    load: async () => (await import("../commands/contexts/contexts.ts")).logout,
  },
];
