/** Services on other machines that commands call: logging in, choosing one, logging out. */
import type { Command, Operand } from "../line/command.ts";
import { forLists, JSON_OUT } from "../line/flags.ts";

const NAME: Operand = { name: "NAME", meaning: 'the name of a context, from "parley contexts"', isContext: true };

export const CONTEXTS: readonly Command[] = [
  {
    name: "login",
    summary: "save a service's address and token as a context, and use it",
    operands: [{ name: "URL", meaning: "the address of the service, such as https://parley.example.com" }],
    flags: [
      { name: "name", value: "NAME", meaning: "what to call it; default: the host of URL" },
      { name: "token-stdin", meaning: "read the token from stdin instead of asking for it" },
      {
        name: "control-url",
        value: "URL",
        meaning: "address of the control plane, if PARLEY_ADMIN_LISTEN gives it a separate one",
      },
      { name: "insecure", meaning: "accept http, although anyone on the network can read the token and all messages" },
      JSON_OUT,
    ],
    details: `The token is the admin token, or better an operator's ("parley operators create"). The command prompts for it without
showing it, checks it with the service, and saves it in a folder that only you can open: $XDG_CONFIG_HOME/parley, else
~/.config/parley. With an admin's token, "parley listen" and other commands create the key they need and save it there too.`,
    examples: [
      "parley login https://parley.example.com",
      "cat token.txt | parley login https://parley.example.com --name prod --token-stdin",
    ],
    load: async () => (await import("../commands/contexts/login.ts")).login,
  },
  {
    name: "use",
    summary: "choose the context that commands use from now on; - for services on this machine",
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
    details: "Tokens are not shown. The services you run on this machine are listed on stderr.",
    examples: ["parley contexts", "parley contexts --json"],
    load: async () => (await import("../commands/contexts/contexts.ts")).list,
  },
  {
    name: "logout",
    summary: "remove a context, its token and the keys saved for it",
    operands: [NAME],
    flags: [JSON_OUT],
    details:
      "The token and keys stay valid on the service. The command lists the keys that commands created, so that you can revoke them.",
    examples: ["parley logout prod"],
    load: async () => (await import("../commands/contexts/contexts.ts")).logout,
  },
];
