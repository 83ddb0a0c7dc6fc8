/** Which application a revoked key belonged to: those who still connect with it are shown to the application's operators. */
import type { AppId } from "../../base/ids.ts";
import { type KeyRow, REVOKED_KEYS_KNOWN_MAX } from "../../store/contract/store.ts";

type RevokedKey = Pick<KeyRow, "id" | "app">;

export class RevokedKeys {
  /** The last revoked is last. Bound: REVOKED_KEYS_KNOWN_MAX; beyond that, the first is forgotten and counts as unknown. */
  private readonly apps = new Map<string, AppId>();

  constructor(private readonly exists: (app: AppId) => boolean) {}

  /** Replaces all. `keys`: the last revoked first. */
  load(keys: readonly RevokedKey[]): void {
    this.apps.clear();
    for (const key of keys.toReversed()) this.note(key);
  }

  note({ id, app }: RevokedKey): void {
    this.apps.delete(id);
    const [first] = this.apps.keys();
    if (first !== undefined && this.apps.size >= REVOKED_KEYS_KNOWN_MAX) this.apps.delete(first);
    this.apps.set(id, app);
  }

  /** undefined also if the application is deleted. */
  appOf(id: string): AppId | undefined {
    const app = this.apps.get(id);
    return app !== undefined && this.exists(app) ? app : undefined;
  }
}
