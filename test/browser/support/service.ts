/** A node that restarts at the same address with the same data. */
import { freePort } from "../../../src/testing/ports.ts";
import { Admin } from "../../support/admin.ts";
import { parleyCommand } from "../../support/command.ts";
import { type FirstRunKeys, readFirstRun, Server } from "../../support/parley.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";

export class Service {
  private readonly data = tempFolder();
  private readonly adminToken = `admin_${crypto.randomUUID()}`;
  private node: Server | undefined;

  private constructor(
    readonly port: number,
    private readonly env: Readonly<Record<string, string>>,
  ) {}

  static async start(env: Readonly<Record<string, string>> = {}): Promise<Service> {
    const service = new Service(await freePort(), env);
    await service.up();
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get admin(): Admin {
    return new Admin(this.url, this.adminToken);
  }

  get keys(): FirstRunKeys {
    return readFirstRun(this.data);
  }

  async down(): Promise<void> {
    await this.node?.kill("SIGTERM");
    this.node = undefined;
  }

  /** Without the note about people inside that a node leaves when it stops: the next start knows of none. */
  async killed(): Promise<void> {
    await this.node?.kill("SIGKILL");
    this.node = undefined;
  }

  /** `changes`: settings that are others than at the first start. */
  async up(changes: Readonly<Record<string, string>> = {}): Promise<void> {
    const flags = ["up", "--port", String(this.port), "--host", "127.0.0.1", "--data", this.data];
    const env = {
      PARLEY_LOG_FORMAT: "json",
      PARLEY_ADMIN_TOKEN: this.adminToken,
      // All pages of a suite share one address.
      PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
      PARLEY_REST_REQUESTS_PER_SECOND: "0",
      ...this.env,
      ...changes,
    };
    this.node = new Server(parleyCommand(...flags), env, this.data, false);
    await this.node.logged((line) => line.msg === "parley is ready");
  }

  async stop(): Promise<void> {
    await this.down();
    removeFolder(this.data);
  }
}
