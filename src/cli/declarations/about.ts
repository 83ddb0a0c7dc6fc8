/** Commands about Parley itself. */
import type { Command } from "../line/command.ts";
import { JSON_OUT } from "../line/flags.ts";
import { SHELLS } from "../line/shells.ts";

export const ABOUT: readonly Command[] = [
  {
    name: "help",
    summary: "explain a command, with examples",
    operands: [{ name: "COMMAND", meaning: "such as: keys create", optional: true, many: true }],
    flags: [JSON_OUT],
    examples: ["parley help keys create"],
    load: async () => (await import("../help.ts")).help,
  },
  {
    name: "completion",
    summary: "print a script that completes command lines in bash, zsh or fish",
    operands: [
      { name: "SHELL", meaning: `${SHELLS.join(", ")}; default: the shell in SHELL`, optional: true, choices: SHELLS },
    ],
    flags: [JSON_OUT],
    details: `It completes commands, flags, files, contexts and, if the service answers within half a second, applications.
bash: put "source <(parley completion bash)" into ~/.bashrc. zsh: put "source <(parley completion zsh)" into ~/.zshrc, after
compinit. fish: put "parley completion fish | source" into ~/.config/fish/config.fish.`,
    examples: ["parley completion bash", "parley completion fish | source"],
    load: async () => (await import("../commands/completion/scripts.ts")).completion,
  },
  {
    name: "version",
    summary: "print the version",
    flags: [JSON_OUT],
    examples: ["parley version"],
    load: async () => (await import("../version.ts")).version,
  },
  {
    name: "licences",
    summary: "list Parley's components and their licences",
    flags: [JSON_OUT],
    examples: ["parley licences", "parley licences --json | jq -r .licence"],
    load: async () => (await import("../commands/about/licences.ts")).licencesCommand,
  },
];
