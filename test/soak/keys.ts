/** The application's keys: each is used by a part of the crowd, and is rotated and edited under load. */
import { signToken } from "../../src/access/tokens/token.ts";
import type { Admin, Rotated, SecretKey } from "../support/admin.ts";

export const KEYS = 5;
const TOKEN_MIN_SECONDS = 600;
const TOKEN_SPREAD_SECONDS = 1200;

export class SoakKeys {
  private readonly secrets: string[];
  private turn = 0;
  private readonly unsettled = new Set<number>();

  private constructor(
    private readonly keys: readonly SecretKey[],
    /** Never rotated: used for REST calls. */
    readonly control: SecretKey,
  ) {
    this.secrets = keys.map(({ secret }) => secret);
  }

  static async make(admin: Admin, app: string): Promise<SoakKeys> {
    const keys: SecretKey[] = [];
    for (let i = 0; i < KEYS; i++) keys.push(await admin.createKey(app, { channelPatterns: PATTERNS }));
    return new SoakKeys(keys, await admin.createKey(app));
  }

  /** A third of the clients have metadata, which other nodes have to know. */
  token(key: number, peer: string, index: number): string {
    const now = Math.floor(Date.now() / 1000);
    const exp = now + TOKEN_MIN_SECONDS + Math.floor(Math.random() * TOKEN_SPREAD_SECONDS);
    const claims = { sub: peer, iat: now, exp, ...(index % 3 === 0 && { peerMetadata: { name: `n${index}` } }) };
    return signToken(claims, this.id(key), { hmacKey: Buffer.from(this.secrets[key] ?? "") });
  }

  /**
   * Rotates the next key in turn. The connections of the old secret close at the end of its grace period, and reconnect with
   * the new one; one time in six there is no grace period.
   */
  async rotate(admin: Admin, graceSec: number): Promise<void> {
    const key = this.turn % KEYS;
    const isAtOnce = this.turn % 6 === 5;
    if (isAtOnce) this.unsettled.add(key);
    try {
      const { secret }: Rotated = await admin.rotate(this.id(key), { graceSec: isAtOnce ? 0 : graceSec });
      this.secrets[key] = secret;
    } catch (error) {
      // The node may have rotated the key before it was killed. The new secret is then lost with its response, and the old one
      // ends, possibly before the repeated call.
      this.unsettled.add(key);
      throw error;
    }
    // Only now: a call whose response was lost is repeated for the same key.
    this.turn++;
    setTimeout(() => this.unsettled.delete(key), UNSETTLED_MS);
  }

  /** The secret that tokens are signed with may have ended: at once, or in a rotation whose response was lost. */
  isUnsettled(key: number): boolean {
    return this.unsettled.has(key);
  }

  /** Edits that remove nothing: no client may notice them. */
  async widen(admin: Admin, key: number): Promise<void> {
    await admin.patchKey(this.id(key), { channelPatterns: [...PATTERNS, `extra/${crypto.randomUUID()}`] });
    await admin.patchKey(this.id(key), { label: `edited ${new Date().toISOString()}`, channelPatterns: PATTERNS });
  }

  /** Removes the channels of the narrow group from a key. */
  async narrow(admin: Admin, key: number): Promise<void> {
    await admin.patchKey(this.id(key), { channelPatterns: ["soak/wide/**"] });
  }

  async restore(admin: Admin, key: number): Promise<void> {
    await admin.patchKey(this.id(key), { channelPatterns: PATTERNS });
  }

  private id(key: number): string {
    return this.keys[key]?.keyId ?? "";
  }
}

const UNSETTLED_MS = 5000;
const PATTERNS = ["soak/wide/**", "soak/narrow/**"];
