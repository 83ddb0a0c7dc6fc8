/** A node for clients under test: it keeps its address and data over a kill, and its channels have history. */
import { freePort } from "../../../src/testing/ports.ts";
import { Admin, mint, type SecretKey } from "../../support/admin.ts";
import { parleyCommand } from "../../support/command.ts";
import type { Json } from "../../support/http.ts";
import { Server } from "../../support/parley.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";

export class Service {
  private readonly data = tempFolder();
  private readonly adminToken = `admin_${crypto.randomUUID()}`;
  private node: Server | undefined;
  private key: SecretKey | undefined;
  publishableKey = "";

  private appId = "";

  private constructor(
    readonly port: number,
    private readonly env: Readonly<Record<string, string>>,
  ) {}

  static async start(channelRules: readonly Json[], env: Readonly<Record<string, string>> = {}): Promise<Service> {
    const service = new Service(await freePort(), env);
    await service.up();
    const { admin } = service;
    const app = await admin.createApp();
    service.appId = app._id;
    await service.setRules(channelRules);
    service.key = await admin.createKey(app._id);
    service.publishableKey = (await admin.createPublishable(app._id)).keyId;
    return service;
  }

  async setRules(channelRules: readonly Json[]): Promise<void> {
    await this.admin.must("PATCH", `/apps/${this.appId}`, { channelRules });
  }

  /** What the key of tokens allows; everything if nothing is given. */
  async allow(...channelPatterns: readonly string[]): Promise<void> {
    await this.admin.patchKey(this.key?.keyId ?? "", {
      channelPatterns: channelPatterns.length > 0 ? channelPatterns : ["**"],
    });
  }

  /** `<sk_id>:<sk_secret>` */
  get credential(): string {
    return this.key?.credential ?? "";
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get admin(): Admin {
    return new Admin(this.url, this.adminToken);
  }

  async token(peerId: string, expiresInSec = 3600): Promise<string> {
    const { status, text, body } = await mint(this.url, this.credential, { peerId, expiresInSec });
    if (status !== 200) throw new Error(`POST /v1/tokens: ${status} ${text}`);
    return body.token;
  }

  async up(): Promise<void> {
    const flags = ["up", "--port", String(this.port), "--host", "127.0.0.1", "--data", this.data];
    const env = {
      PARLEY_LOG_FORMAT: "json",
      PARLEY_ADMIN_TOKEN: this.adminToken,
      PARLEY_DEMO: "off",
      // All clients of a suite share one address.
      PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
      PARLEY_REST_REQUESTS_PER_SECOND: "0",
      ...this.env,
    };
    this.node = new Server(parleyCommand(...flags), env, this.data, false);
    await this.node.logged((line) => line.msg === "parley is ready");
  }

  /** SIGKILL: nothing is finished. */
  async kill(): Promise<void> {
    await this.node?.kill("SIGKILL");
  }

  async stop(): Promise<void> {
    await this.node?.kill("SIGTERM");
    removeFolder(this.data);
  }
}

export const IS_FULL: boolean = process.env.PARLEY_TEST_FULL === "1";
