/**
 * Calls of backends and operators over a load balancer, without a pause, all of which must succeed. As a backend does, they repeat once what is
 * answered with 503: that says that nothing was done.
 */
import { Admin } from "../../support/admin.ts";
import { Application } from "../../support/application.ts";
import { type Answer, call } from "../../support/http.ts";

/** How many calls are under way at a time. */
export const AT_ONCE = 4;
const PAUSE_MS = 5;

type Ask = (number: number) => Promise<Answer<unknown>>;

export class Backends {
  answered = 0;
  repeated = 0;
  /** What was not answered with 200. */
  readonly refused: string[] = [];
  private isOver = false;
  private number = 0;
  /** Bound: AT_ONCE. */
  private readonly underWay = new Set<Promise<void>>();
  private readonly running: Promise<void>[];

  private constructor(private readonly asks: Readonly<Record<string, Ask>>) {
    this.running = Array.from({ length: AT_ONCE }, () => this.ask());
  }

  /** `credential`: a secret key for the channel `stored/backends`. */
  static async start(url: string, { token }: Admin, credential: string): Promise<Backends> {
    const admin = new Admin(url, token);
    const { _id, name, secretKey } = await admin.createApp("backends");
    const { keyId } = await admin.createKey(_id);
    const { host } = new Application(url, name, secretKey);
    // Not by its client, which checks what bodies of this version have.
    const app = (path: string, body?: unknown) =>
      call(`${url}/api/v1${path}`, {
        body,
        bearer: secretKey,
        headers: { Host: host, "Content-Type": "application/json" },
      });
    const channel = `${url}/v1/channels/stored%2Fbackends`;
    return new Backends({
      "an application is made": (number) => admin.call("POST", "/apps", { name: `made-${number}` }),
      "applications are listed": () => admin.call("GET", "/apps"),
      "an application is changed": (number) =>
        admin.call("PATCH", `/apps/${_id}`, { retentionDays: 1 + (number % 30) }),
      "a key is changed": (number) => admin.call("PATCH", `/signalling/keys/${keyId}`, { label: `key ${number}` }),
      "a room is made": (number) => app("/room", { roomName: `room-${number}`, privacy: "public" }),
      "rooms are listed": () => app("/rooms"),
      "recordings are listed": () => app("/recordings"),
      "an access token is made": () => app("/token", {}),
      "a connect token is made": () => call(`${url}/v1/tokens`, { bearer: credential, body: { peerId: "alice" } }),
      "a message is published": (number) =>
        call(`${channel}/publish`, { bearer: credential, body: { data: { number } } }),
      "a history is read": () => call(`${channel}/history?limit=10`, { bearer: credential }),
    });
  }

  /** Resolves when what is under way is answered. */
  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.running);
  }

  /** Resolves when all calls that are under way now are answered, as a balancer waits for those of a node that it takes out. */
  async answeredAll(): Promise<void> {
    await Promise.all(this.underWay);
  }

  private async ask(): Promise<void> {
    const all = Object.entries(this.asks);
    while (!this.isOver) {
      const number = this.number++;
      const one = this.asked(number, ...(all[number % all.length] ?? NOTHING));
      this.underWay.add(one);
      await one;
      this.underWay.delete(one);
      await Bun.sleep(PAUSE_MS);
    }
  }

  private async asked(number: number, what: string, ask: Ask): Promise<void> {
    try {
      let { status, text } = await ask(number);
      if (status === 503) {
        this.repeated++;
        ({ status, text } = await ask(number));
      }
      if (status === 200) this.answered++;
      else this.refused.push(`${what}: ${status} ${text}`);
    } catch (error) {
      this.refused.push(`${what}: ${error}`);
    }
  }
}

const NOTHING: [string, Ask] = ["", () => Promise.reject(new Error("there is nothing to ask"))];
