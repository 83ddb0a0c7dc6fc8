/**
 * The service under test, as the environment names it: the same in both runtimes.
 *
 *   PARLEY_TEST_URL              http://127.0.0.1:8080, https://parley.example.com
 *   PARLEY_TEST_PUBLISHABLE_KEY  pk_live_…, any origin
 *   PARLEY_TEST_SECRET_KEY       <sk_id>:<sk_secret>; both keys of one application, every action on every channel
 *   PARLEY_TEST_ADMIN_TOKEN      optional: for the scenario that revokes a key
 *   PARLEY_TEST_RESTART_URL      optional: a POST to it answers 200 when the service has been stopped with SIGTERM and
 *                                started again with the same address and data
 *
 * Some scenarios open fifty connections at once, all from this address: the service must not limit connects per address
 * (PARLEY_CONNECTS_PER_MINUTE_PER_IP=0).
 */
import { Admin, type Minted, mint } from "../../support/admin.ts";
import { type Answer, call, type Json } from "../../support/http.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** What a scenario may need besides the address and the keys. */
export type Means = "admin" | "restart";

export const VARIABLE_OF: Readonly<Record<Means, string>> = {
  admin: "PARLEY_TEST_ADMIN_TOKEN",
  restart: "PARLEY_TEST_RESTART_URL",
};

export class Service {
  constructor(private readonly env: Env) {}

  get url(): string {
    return this.needed("PARLEY_TEST_URL").replace(/\/$/, "");
  }

  /** The address for the SDK: the origin, with the WebSocket scheme. */
  get socketUrl(): string {
    return this.url.replace(/^http/, "ws");
  }

  get publishableKey(): string {
    return this.needed("PARLEY_TEST_PUBLISHABLE_KEY");
  }

  get secretKey(): string {
    return this.needed("PARLEY_TEST_SECRET_KEY");
  }

  get admin(): Admin {
    return new Admin(this.url, this.needed(VARIABLE_OF.admin));
  }

  async mint(claims: Json, secretKey = this.secretKey): Promise<Minted> {
    const ask = (): ReturnType<typeof mint> => mint(this.url, secretKey, claims);
    // After a restart, the first request may be sent on a connection that the earlier process had open.
    const { status, text, body } = await ask().catch((error: unknown) =>
      isReset(error) ? ask() : Promise.reject(error),
    );
    if (status !== 200) throw new Error(`POST /v1/tokens: ${status} ${text}`);
    return body;
  }

  kick(peerId: string): Promise<Answer> {
    return call(`${this.url}/v1/peers/${peerId}`, { method: "DELETE", bearer: this.secretKey });
  }

  /** Resolves when the service is ready again. */
  async restart(): Promise<void> {
    const { status, text } = await call(this.needed(VARIABLE_OF.restart), { method: "POST" });
    if (status !== 200) throw new Error(`the service could not be restarted: ${status} ${text}`);
  }

  private needed(name: string): string {
    const value = this.env[name];
    if (value === undefined || value === "") throw new Error(`${name} is not set`);
    return value;
  }
}

const isReset = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ECONNRESET";
