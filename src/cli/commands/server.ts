/** Commands that start a server, or work on its store while it is stopped. */
import type { Command } from "../command.ts";
import { CONTROL, FORCE, JSON_OUT, SETTINGS_FLAGS, STORE_FLAGS } from "../flags.ts";

export const SERVER: readonly Command[] = [
  {
    name: "up",
    summary: "run a server until it is told to stop",
    flags: SETTINGS_FLAGS,
    details: `Every setting can also be in the environment (PARLEY_PORT) or in the file of --config (port = 9000).
The log goes to stdout: JSON lines, or readable ones on a terminal (--log-format).
SIGTERM and SIGINT stop it cleanly; SIGHUP reads its certificate again.`,
    examples: ["parley up", "parley up --port 9000 --data /var/lib/parley"],
    load: async () => (await import("../up.ts")).runUp,
  },
  {
    name: "config",
    summary: "show the settings in force, and where each came from",
    flags: [...SETTINGS_FLAGS, JSON_OUT],
    details: `Takes what "parley up" takes, and shows what it would run with. Secrets are hidden.`,
    examples: ["parley config", "parley config --config parley.toml --json"],
    load: async () => (await import("../config.ts")).showConfig,
  },
  {
    name: "doctor",
    summary: "hold the checklist for production against a running server",
    flags: [
      {
        name: "public-url",
        value: "URL",
        meaning: "where clients reach it (https://realtime.example.com); default PARLEY_PUBLIC_URL, else --url",
      },
      ...CONTROL,
    ],
    details: `Each line is ok, attention, SERIOUS, or could not check, with what to do about it; docs/production.md has
the whole list. From another machine, by its public address, it sees what strangers see.
The exit code is 1 when something serious is left.`,
    examples: [
      "parley doctor",
      "parley doctor --url http://10.0.0.11:9090 --public-url https://realtime.example.com --json",
    ],
    load: async () => (await import("../doctor.ts")).doctor,
  },
  {
    name: "backup",
    summary: "copy the store to one file, with the server stopped",
    operands: [{ name: "FILE", meaning: "the file to write" }],
    flags: [...STORE_FLAGS, { ...FORCE, meaning: "replace FILE if it exists" }],
    details: `The master key is NOT in it: keep master.key (or PARLEY_MASTER_KEY) in another place. Without it
the secrets in the backup cannot be read, by a thief or by you.`,
    examples: [
      "parley backup parley-backup.sqlite",
      "parley backup /backups/parley.sqlite --data /var/lib/parley --force",
    ],
    load: async () => (await import("../stopped.ts")).backup,
  },
  {
    name: "restore",
    summary: "put a backup in place, with the server stopped",
    operands: [{ name: "FILE", meaning: "a file made by parley backup" }],
    flags: [...STORE_FLAGS, { ...FORCE, meaning: "replace the store that is there: it is gone then" }],
    details: `FILE is checked before anything is touched. The master key must be the one of the time of the
backup: put master.key into the data folder, or set PARLEY_MASTER_KEY. Keys, applications and the admin token
are then those of the backup.`,
    examples: [
      "parley restore parley-backup.sqlite",
      "parley restore parley-backup.sqlite --data /var/lib/parley --force",
    ],
    load: async () => (await import("../stopped.ts")).restore,
  },
  {
    name: "admin reset-token",
    summary: "make a new admin token, with the server stopped",
    flags: STORE_FLAGS,
    details:
      "The old one, if the server made it, is worth nothing from then on. A PARLEY_ADMIN_TOKEN that is set always wins.",
    examples: ["parley admin reset-token", "parley admin reset-token --data /var/lib/parley"],
    load: async () => (await import("../stopped.ts")).resetToken,
  },
];
