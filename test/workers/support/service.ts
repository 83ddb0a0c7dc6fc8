/** A service of several workers that is killed and started again: on the same port, with the same data, for the same application. */
import { freePort } from "../../../src/testing/ports.ts";
import { World } from "../../conformance/raw/support/world.ts";
import { call } from "../../support/http.ts";
import { type Options, startParley } from "../../support/parley.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";
import { until } from "../../support/wait.ts";
import { childrenOf, isRunning, startWorkers } from "./workers.ts";

/** Enough that no fault of these tests lasts longer than the history. */
const RULES = [{ pattern: "kept-**", history: { messages: 10_000, seconds: 3600 } }];

export class Service {
  private constructor(
    private current: World,
    private readonly options: Options & { readonly data: string },
  ) {}

  static async start(count: number, env: Options["env"] = {}): Promise<Service> {
    const options = {
      data: tempFolder(),
      port: String(await freePort()),
      env: {
        PARLEY_WORKERS: String(count),
        PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}`,
        PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
        PARLEY_REST_REQUESTS_PER_SECOND: "0",
        PARLEY_DRAIN_SECONDS: "1",
        PARLEY_DEMO: "off",
        ...env,
      },
    };
    const world = await startWorkers(options, count);
    await world.admin.must("PATCH", `/apps/${world.app._id}`, { channelRules: RULES });
    return new Service(world, options);
  }

  /** Changes with each start. */
  get world(): World {
    return this.current;
  }

  get supervisor(): number {
    return this.world.server.pid;
  }

  get workers(): number[] {
    return childrenOf(this.supervisor);
  }

  /** Starts it again, after the supervisor was killed. */
  async startAgain(): Promise<void> {
    const { app, key } = this.world;
    this.current = new World(await startParley(this.options), app, key);
  }

  /** Resolves when all workers are there, and whichever of them is asked says so. */
  async whole(): Promise<void> {
    let inARow = 0;
    await until("the service is not whole", async () => {
      const ready = await call(`${this.world.url}/readyz`).catch(() => undefined);
      inARow = ready?.status === 200 ? inARow + 1 : 0;
      return inARow >= 5;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Stopped processes handle no other signal.
    if (isRunning(this.supervisor)) for (const pid of [this.supervisor, ...this.workers]) process.kill(pid, "SIGCONT");
    await this.world.stop();
    removeFolder(this.options.data);
  }
}
