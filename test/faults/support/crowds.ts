/** The test's side of its crowds: an order goes to all of them, and the reports are added up. */
import { join } from "node:path";
import type { Report } from "../../../src/verify/fleet.ts";
import type { Answer, Order } from "./crowd.ts";

const CROWD = join(import.meta.dir, "crowd.ts");

class Crowd {
  private answered = Promise.withResolvers<Answer>();
  private readonly child;

  constructor() {
    this.child = Bun.spawn([process.execPath, "--no-env-file", CROWD], {
      stdio: ["ignore", "inherit", "inherit"],
      ipc: (message: Answer) => this.answered.resolve(message),
      onExit: (_child, code) => this.answered.resolve({ failed: `a process of clients ended with code ${code}` }),
    });
  }

  started(): Promise<Report | undefined> {
    return this.report();
  }

  ask(order: Order): Promise<Report | undefined> {
    this.answered = Promise.withResolvers();
    this.child.send(order);
    return this.report();
  }

  async end(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }

  private async report(): Promise<Report | undefined> {
    const answer = await this.answered.promise;
    if ("failed" in answer) throw new Error(answer.failed);
    return answer.report;
  }
}

export class Crowds {
  private constructor(private readonly crowds: readonly Crowd[]) {}

  static async start(count: number): Promise<Crowds> {
    const crowds = Array.from({ length: count }, () => new Crowd());
    await Promise.all(crowds.map((crowd) => crowd.started()));
    return new Crowds(crowds);
  }

  async ask(order: Order): Promise<readonly Report[]> {
    const reports = await Promise.all(this.crowds.map((crowd) => crowd.ask(order)));
    return reports.flatMap((report) => report ?? []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.crowds.map((crowd) => crowd.end()));
  }
}
