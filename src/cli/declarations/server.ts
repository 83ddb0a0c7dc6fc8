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
    summary: "copy everything that a service keeps, while it runs",
    operands: [{ name: "TARGET", meaning: "a file, a folder, or s3://KEY:SECRET@bucket/prefix?endpoint=…" }],
    flags: [
      { name: "no-recordings", meaning: "copy the list of recordings, and not their files" },
      {
        name: "with-master-key",
        meaning: "copy the master key too: the backup alone is then enough to read all secrets",
      },
      { ...FORCE, meaning: "replace the file if it exists" },
      QUIET,
      settingFlag("databaseUrl"),
      CONFIG_FILE,
      ...CONTROL,
    ],
    details: `It copies applications, keys, rooms, meetings, messages of channels with history, and recordings, all of one moment. A running
service is asked through its control plane, with the admin token; of a stopped one the data folder is read.
PARLEY_BACKUP_KEY encrypts the backup. Without --with-master-key the master key is NOT in it: keep master.key (or
PARLEY_MASTER_KEY) in another place, because without it the secrets in the backup cannot be read, neither by a thief nor by you.
With PostgreSQL the database is not in it: run pg_dump just before. Scheduled backups: PARLEY_BACKUP_EVERY.`,
    examples: [
      "parley backup parley.backup",
      "parley backup /backups/ --data /var/lib/parley",
      "parley backup parley.backup --no-recordings --force",
    ],
    load: async () => (await import("../commands/server/backup.ts")).backup,
  },
  {
    name: "restore",
    summary: "replace what a stopped service keeps with a backup",
    operands: [{ name: "SOURCE", meaning: "what parley backup has written: a file, or s3://…/NAME" }],
    flags: [
      { ...YES, meaning: "replace an existing store; required for that without a terminal" },
      { name: "without-master-key", meaning: "restore although no master key opens the secrets of the backup" },
      QUIET,
      ...STORE_FLAGS,
      { ...FORCE, meaning: "the same as --yes" },
    ],
    details: `The whole backup is checked before anything is changed. The master key must be the one in use when the backup was
made: put master.key into the data folder, or set PARLEY_MASTER_KEY. Keys, applications and the admin token
are then those of the backup. The files that were replaced are kept in before-restore/ until the next restore.
It also takes the single SQLite file that "parley backup" of 0.1.0 has written: messages and recordings stay as they are then.`,
    examples: ["parley restore parley.backup", "parley restore parley.backup --data /var/lib/parley --yes"],
    load: async () => (await import("../commands/server/restore.ts")).restore,
  },
  {
    name: "move",
    summary: "move everything from the data folder to PostgreSQL, or back, with every server stopped",
    flags: [
      {
        name: "to",
        value: "URL",
        meaning: "move to postgres://user@host/database; postgres: that of PARLEY_DATABASE_URL",
      },
      { name: "from", value: "URL", meaning: "move from there to the data folder" },
      { name: "reopen", meaning: "make a store usable again that was moved away, as it was before the move" },
      { ...YES, meaning: "replace what the target holds, which is lost then; required for that without a terminal" },
      { ...FORCE, meaning: "the same as --yes" },
      ...STORE_FLAGS,
      QUIET,
    ],
    details: `Applications, keys, rooms, meetings, the list of recordings and all messages of channels with history are copied, then every row is
compared. Clients go on where they were. An interrupted move is continued by the same command; until it is complete, no server starts on the
target. The source stays as it was, and no server starts on it by accident. Files of recordings are not moved.
The password is that of PARLEY_DATABASE_URL for the same user and host, otherwise PGPASSWORD: other users can see arguments.
The master key of the store must be at hand: master.key in the data folder, or PARLEY_MASTER_KEY.`,
    examples: [
      "parley move --to postgres://parley@db.example.com/parley",
      "parley move --from postgres --data /var/lib/parley",
      "parley move --reopen --data /var/lib/parley",
    ],
    load: async () => (await import("../commands/server/move.ts")).moveStore,
  },
  {
    name: "upgrade",
    summary: "say what a start of this version would do with a store",
    flags: [{ name: "check", meaning: "look at the store and the settings, and change nothing" }, ...STORE_FLAGS],
    details: `With --check: which version and schema the store has, which migrations a start of this version would run, how large the
copies are that it makes first and whether they fit, about how long it takes, whether a server is running, and which
settings have changed. It works while a server runs. The exit code is 1 if a start would fail.
Without --check it lists how each form of installation is upgraded: Parley does not replace itself.`,
    examples: ["parley upgrade --check", "parley upgrade --check --data /var/lib/parley --json"],
    load: async () => (await import("../commands/upgrade/upgrade.ts")).upgrade,
  },
  {
    name: "admin reset-token",
    summary: "make a new admin token for a stopped server",
    flags: [YES, ...STORE_FLAGS],
    details: `An admin token that the server made is no longer valid after that: if there is one, it asks for confirmation, and without a
terminal it needs --yes. If PARLEY_ADMIN_TOKEN is set, it takes precedence.`,
    examples: ["parley admin reset-token", "parley admin reset-token --data /var/lib/parley --yes"],
    load: async () => (await import("../commands/server/reset-token.ts")).resetToken,
  },
];
