/** Operators of the control plane, and the audit of what was changed. */
import type { Command } from "../line/command.ts";
import { CONTROL, forLists, YES } from "../line/flags.ts";

export const OPERATORS: readonly Command[] = [
  {
    name: "operators create",
    summary: "create an operator and print its token",
    operands: [{ name: "NAME", meaning: "the name in the audit log" }],
    flags: [
      {
        name: "role",
        value: "ROLE",
        meaning: "admin, or read, which cannot change anything or see secrets",
        required: true,
        choices: ["admin", "read"],
      },
      ...CONTROL,
    ],
    details:
      "Use the token to sign in to the dashboard, or set it as PARLEY_OPERATOR_TOKEN for commands. Do not use it as PARLEY_ADMIN_TOKEN, a server setting.",
    examples: ["parley operators create ann --role admin", "parley operators create grafana --role read"],
    load: async () => (await import("../commands/control/operators.ts")).create,
  },
  {
    name: "operators list",
    summary: "list the operators",
    flags: forLists(CONTROL),
    examples: ["parley operators list"],
    load: async () => (await import("../commands/control/operators.ts")).list,
  },
  {
    name: "operators revoke",
    summary: "end an operator's token and its sessions",
    operands: [{ name: "OPERATOR", meaning: "id or name of the operator" }],
    flags: [YES, ...CONTROL],
    details:
      "The command asks for confirmation; without a terminal it needs --yes. The operator's open streams end too, on every node.",
    examples: ["parley operators revoke ann", "parley operators revoke ann --yes"],
    load: async () => (await import("../commands/control/operators.ts")).revoke,
  },
  {
    name: "audit",
    summary: "list changes, newest first: who changed what, and from where",
    flags: [
      { name: "app", value: "APP", meaning: "only changes of this application" },
      { name: "who", value: "NAME", meaning: "only changes by this operator or key" },
      { name: "what", value: "TEXT", meaning: 'only changes of this kind, such as "key created"' },
      { name: "limit", value: "N", meaning: "how many; default 50, at most 1000" },
      { name: "after", value: "ID", meaning: "continue after this entry" },
      ...forLists(CONTROL),
    ],
    details: "--json also prints the old and new values. The audit log covers 180 days and never contains secrets.",
    examples: ["parley audit", "parley audit --app shop --limit 200 --json"],
    load: async () => (await import("../commands/control/operators.ts")).audit,
  },
];
