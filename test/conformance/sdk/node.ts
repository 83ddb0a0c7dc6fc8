/** Plays scenarios under Node: our code is bundled, the SDK and `ws` are loaded from node_modules. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { removeFolder, tempFolder } from "../../support/temp.ts";
import type { Outcome } from "./node-runner.ts";
import type { Env } from "./service.ts";

const PROJECT = join(import.meta.dir, "../../..");
/** A client that was not closed keeps the process alive. The SDK's own one-second timer after each close does not count. */
const END_MS = 10_000;

const running = new Set<Bun.Subprocess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

export class NodeRunner {
  private folder = "";
  private readonly ends: Promise<void>[] = [];

  async build(): Promise<void> {
    // Inside the project, so that Node finds node_modules; inside node_modules, so that no other tool sees it.
    const cache = join(PROJECT, "node_modules/.cache");
    mkdirSync(cache, { recursive: true });
    this.folder = tempFolder(cache);
    await Bun.build({
      entrypoints: [join(import.meta.dir, "node-runner.ts")],
      outdir: this.folder,
      naming: "runner.mjs",
      target: "node",
      format: "esm",
      external: ["ws", "@metered-ca/realtime"],
      throw: true,
    });
  }

  /** Throws the scenario's failure. */
  async play(name: string, env: Env): Promise<void> {
    const node = Bun.which("node");
    if (!node) throw new Error("these tests need Node 20 or later: there is no `node` on the PATH");
    const child = Bun.spawn([node, join(this.folder, "runner.mjs"), name], {
      cwd: PROJECT,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    running.add(child);
    const outcome = await firstLine(child.stdout);
    this.ends.push(this.ended(child, name));
    if (!outcome) throw new Error("Node ended without a word about the scenario");
    if (!outcome.ok) throw new Error(outcome.error);
  }

  /** Throws if a scenario has left something open. */
  async finish(): Promise<void> {
    const results = await Promise.allSettled(this.ends);
    if (this.folder !== "") removeFolder(this.folder);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  private async ended(child: Bun.Subprocess, name: string): Promise<void> {
    const timer = setTimeout(() => child.kill("SIGKILL"), END_MS);
    await child.exited;
    clearTimeout(timer);
    running.delete(child);
    if (child.signalCode !== null) throw new Error(`something was left open by: ${name}`);
  }
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<Outcome | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    const end = text.indexOf("\n");
    if (end >= 0) return JSON.parse(text.slice(0, end));
  }
  return undefined;
}
