/** The admin token in force, as its digest: from the setting, else from the store, which other nodes can change. */
import { DUMMY_DIGEST, digestOf } from "../../access/keys/vault.ts";
import { ConfigError } from "../../config/load.ts";
import type { Snapshot } from "../../store/contract/store.ts";
import { adminTokenDigest } from "./first-run.ts";

export class AdminToken {
  private current = DUMMY_DIGEST;

  /** `justMade` was made by this start's first run. The store has it only after it was shown to the operator. */
  constructor(
    private readonly setting: string,
    private readonly justMade: string | undefined,
  ) {}

  update(snapshot: Snapshot): void {
    const stored = adminTokenDigest(snapshot);
    const clear = this.setting || (stored === undefined ? this.justMade : undefined);
    this.current = clear ? digestOf(clear) : (stored ?? DUMMY_DIGEST);
  }

  /** A digest that no token has if there is no admin token: comparisons take the same time. */
  get digest(): string {
    return this.current;
  }

  get exists(): boolean {
    return this.current !== DUMMY_DIGEST;
  }
}

/**
 * Refuses a setting that is another credential of this service, whose holders could then do everything. Those with a form of their
 * own are refused when the settings are read (src/config/reading.ts); the secret keys of applications have none.
 */
export function refuseAppSecret(setting: string, { apps }: Snapshot): void {
  if (setting === "") return;
  const digest = digestOf(setting);
  const app = apps.find(({ secretDigest, previousSecrets }) =>
    [secretDigest, ...previousSecrets.map((one) => one.digest)].includes(digest),
  );
  if (app)
    throw new ConfigError(
      `PARLEY_ADMIN_TOKEN is the secret key of the application ${app.name}: commands take it as PARLEY_APP_SECRET. As the admin token, it would allow everything. Leave the setting out, or set a separate admin token (make one: openssl rand -hex 32)`,
    );
}
