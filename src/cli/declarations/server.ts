/** Commands that start a server, or work on its store while it is stopped. */
import type { Command } from "../line/command.ts";
import {
  CONFIG_FILE,
  CONTROL,
  FORCE,
  JSON_OUT,
  QUIET,
  SETTINGS_FLAGS,
  STORE_FLAGS,
  settingFlag,
  YES,
} from "../line/flags.ts";

export const SERVER: readonly Command[] = [
  {
    name: "up",
    summary: "run a server until it receives a signal to stop",
    flags: SETTINGS_FLAGS,
    details: `Every setting can also be in the environment (PARLEY_PORT) or in the file of --config (port = 9000).
The log goes to stdout: JSON lines, or readable ones on a terminal (--log-format).
SIGTERM, SIGINT (Ctrl-C) and closing its terminal stop it cleanly; SIGHUP reloads its TLS certificate.
With --workers, several processes share the port and the work; "parley reload" replaces them one after another.`,
    examples: ["parley up", "parley up --port 9000 --data /var/lib/parley", "parley up --workers auto"],
    load: async () => (await import("../commands/server/up.ts")).runUp,
  },
  {
    name: "reload",
    summary: "replace the workers of a running service, one after another",
    flags: [settingFlag("data"), CONFIG_FILE, JSON_OUT],
    details: `For a service of "parley up --workers" on this machine. Each new worker takes connections before the old one drains,
so no WebSocket connect fails. Settings stay as they were when the service was started. SIGUSR2 to the service does the same.`,
    examples: ["parley reload", "parley reload --data /var/lib/parley"],
    load: async () => (await import("../commands/server/reload.ts")).reload,
  },
  {
    name: "config",
    summary: "show the settings that a start would use here, and where each comes from",
    flags: [...SETTINGS_FLAGS, JSON_OUT],
    details: `It has the flags of "parley up", and shows the settings that "parley up" would use in this folder and this environment.
It does not ask a running server, which may have been started with others: the dashboard shows those under Settings.
Secrets are hidden.`,
    examples: ["parley config", "parley config --config parley.toml --json"],
    load: async () => (await import("../commands/server/config.ts")).showConfig,
  },
  {
    name: "doctor",
    summary: "check a running server against the production checklist",
    flags: [
      {
        name: "public-url",
        value: "URL",
        meaning: "where clients reach it (https://realtime.example.com); default PARLEY_PUBLIC_URL, else --url",
      },
      ...CONTROL,
    ],
    details: `Each line is ok, attention, SERIOUS, or could not check, with what to do about it; docs/production.md has
the whole list. Run it from another machine, with --public-url, to see what unauthenticated clients see.
It asks the server what does not work at the moment. Where PARLEY_DATABASE_URL, PARLEY_NATS_URL or
PARLEY_STORAGE_URL are set as for the server, it also tries these from here.
The exit code is 1 if something is serious.`,
    examples: [
      "parley doctor",
      "parley doctor --url http://10.0.0.11:9090 --public-url https://realtime.example.com --json",
    ],
    load: async () => (await import("../commands/doctor/doctor.ts")).doctor,
  },
  {
    name: "health",
    summary: "check that the server with these settings is alive",
    flags: [settingFlag("host"), settingFlag("port"), CONFIG_FILE, JSON_OUT],
    details: `For the health check of a container: it calls /healthz of the server on this machine, at the address that PARLEY_HOST
and PARLEY_PORT set, without a credential. The exit code is 1 if it does not answer within four seconds.
/healthz stays well while a database is unavailable, so that a supervisor does not restart a node that waits for it.`,
    examples: ["parley health", "parley health --port 9000 --json"],
    load: async () => (await import("../commands/server/health.ts")).health,
  },
  {
    name: "backup",
    summary: "copy the store of a stopped server to one file",
    operands: [{ name: "FILE", meaning: "the file to write" }],
    flags: [...STORE_FLAGS, { ...FORCE, meaning: "replace FILE if it exists" }, QUIET],
    details: `The master key is NOT in the backup: keep master.key (or PARLEY_MASTER_KEY) in another place. Without it
the secrets in the backup cannot be read, neither by a thief nor by you. Recordings and the messages of channels
with history are not in it either: copy recordings/ and history.sqlite if you need them.`,
    examples: [
      "parley backup parley-backup.sqlite",
      "parley backup /backups/parley.sqlite --data /var/lib/parley --force",
    ],
    load: async () => (await import("../commands/server/store-commands.ts")).backup,
  },
  {
    name: "restore",
    summary: "replace the store of a stopped server with a backup",
    operands: [{ name: "FILE", meaning: "a file made by parley backup" }],
    flags: [
      { ...YES, meaning: "replace an existing store, which is lost then; required for that without a terminal" },
      ...STORE_FLAGS,
      { ...FORCE, meaning: "the same as --yes" },
    ],
    details: `FILE is checked before anything is changed. The master key must be the one in use when the backup was
made: put master.key into the data folder, or set PARLEY_MASTER_KEY. Keys, applications and the admin token
are then those of the backup. Recordings and histories stay as they are.`,
    examples: [
      "parley restore parley-backup.sqlite",
      "parley restore parley-backup.sqlite --data /var/lib/parley --yes",
    ],
    load: async () => (await import("../commands/server/store-commands.ts")).restore,
  },
  {
    name: "admin reset-token",
    summary: "make a new admin token for a stopped server",
    flags: [YES, ...STORE_FLAGS],
    details: `An admin token that the server made is no longer valid after that: if there is one, it asks for confirmation, and without a
terminal it needs --yes. If PARLEY_ADMIN_TOKEN is set, it takes precedence.`,
    examples: ["parley admin reset-token", "parley admin reset-token --data /var/lib/parley --yes"],
    load: async () => (await import("../commands/server/store-commands.ts")).resetToken,
  },
];
