/**
 * API keys with which pages of an application get TURN credentials: signed by the service, so that none is stored. They end with the generation
 * of the application's secret key that they were made with.
 */
import { randomBytes } from "node:crypto";
import { isLiveGeneration } from "../../access/keys/app-secret.ts";
import type { Vault } from "../../access/keys/vault.ts";
import { isSignedBy, parseJson, parseJws, payloadOf, signJws } from "../../access/tokens/jws.ts";
import type { AppId } from "../../base/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { AppRow } from "../../store/contract/store.ts";

const PREFIX = "tk_";
const MAX_CHARS = 2048;
const ID_BYTES = 8;

/** What an API key says. */
export interface TurnKey {
  /** The application's id. */
  readonly app: AppId;
  /** Tells the keys of an application apart, in the usernames of their credentials too. */
  readonly id: string;
  readonly label: string;
  /** The generation of the application's secret key. */
  readonly gen: number;
  /** Unix seconds; absent: it ends only with that generation. */
  readonly exp?: number | undefined;
}

export class TurnKeys {
  private readonly key: Buffer;

  constructor(vault: Vault) {
    this.key = vault.derive("API keys of TURN credentials");
  }

  create(wanted: Omit<TurnKey, "id">): { readonly claims: TurnKey; readonly apiKey: string } {
    const claims = { ...wanted, id: randomBytes(ID_BYTES).toString("hex") };
    return { claims, apiKey: PREFIX + signJws({}, claims, this.key) };
  }

  /** The claims of a key of this application that is still good. The signature is checked also where there is no application. */
  verify(app: AppRow | undefined, apiKey: string, nowMs: number): TurnKey | undefined {
    const parsed = apiKey.startsWith(PREFIX) ? parseJws(apiKey.slice(PREFIX.length), MAX_CHARS) : "no key";
    if (typeof parsed === "string" || !isSignedBy(parsed, this.key)) return undefined;
    const payload = parseJson(payloadOf(parsed));
    if (!app || !isObject(payload)) return undefined;
    const claims = payload as unknown as TurnKey;
    const isInTime = claims.exp === undefined || claims.exp * 1000 > nowMs;
    return claims.app === app.id && isInTime && isLiveGeneration(app, claims.gen, nowMs) ? claims : undefined;
  }
}
