/** What `parley doctor` tries itself, where the settings of the server are in its own environment: PostgreSQL, NATS and the bucket. */
import { loadConfig } from "../../../config/load.ts";
import { StoreUnreachable } from "../../../store/contract/store.ts";
import type { Input } from "../../line/input.ts";

/** "ok", or why it could not be used from here. Absent: its setting is not in doctor's environment. */
export interface DirectEvidence {
  readonly database?: string;
  readonly nats?: string;
  readonly storage?: string;
}

const ANSWER_MS = 5000;
/** Only these: the others, such as the admin token, mean something else to a command than to a server. */
const NAMES = ["PARLEY_CONFIG", "PARLEY_DATABASE_URL", "PARLEY_NATS_URL", "PARLEY_STORAGE_URL"] as const;

export async function tryDirectly({ env }: Pick<Input, "env">): Promise<DirectEvidence> {
  const given = Object.fromEntries(NAMES.map((name) => [name, env[name]]));
  const { databaseUrl, natsUrl, storageUrl } = loadConfig(new Map(), given).config;
  const [database, nats, storage] = await Promise.all([
    databaseUrl === "" ? undefined : outcomeOf(() => tryPostgres(databaseUrl)),
    natsUrl === "" ? undefined : outcomeOf(() => tryNats(natsUrl)),
    storageUrl === "" ? undefined : outcomeOf(() => tryBucket(storageUrl, env)),
  ]);
  return {
    ...(database !== undefined && { database }),
    ...(nats !== undefined && { nats }),
    ...(storage !== undefined && { storage }),
  };
}

/** Messages of these errors have no credential in them. */
async function outcomeOf(attempt: () => Promise<void>): Promise<string> {
  const { promise: late, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve(`no answer within ${ANSWER_MS / 1000} s`), ANSWER_MS);
  const tried = attempt().then(
    () => "ok",
    (error: unknown) => reasonOf(error),
  );
  return Promise.race([tried, late]).finally(() => clearTimeout(timer));
}

function reasonOf(error: unknown): string {
  const cause = error instanceof StoreUnreachable && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

async function tryPostgres(url: string): Promise<void> {
  const { Postgres } = await import("../../../store/engines/postgres.ts");
  const database = new Postgres(url);
  try {
    await database.probe((sql) => sql`SELECT 1`);
  } finally {
    await database.close();
  }
}

async function tryNats(url: string): Promise<void> {
  const { NatsTransport } = await import("../../../engine/transport/nats.ts");
  const transport = await NatsTransport.connect({ url, name: "parley doctor" });
  await transport.close();
}

async function tryBucket(url: string, env: Input["env"]): Promise<void> {
  const [{ Bucket }, { parseS3Address }] = await Promise.all([
    import("../../../recordings/storage/s3/bucket.ts"),
    import("../../../recordings/storage/s3/address.ts"),
  ]);
  await new Bucket(parseS3Address(url, env), 1, Date.now).check();
}
