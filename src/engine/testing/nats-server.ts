/** For tests: a nats-server on a free port, with a temporary folder that is removed with it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../testing/ports.ts";

const READY_MS = 60_000;

export interface NatsServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * `args`: further arguments, for example those of a cluster. `config`: the text of the configuration file. `prefix`: what runs it elsewhere,
 * such as in a network namespace.
 */
export async function startNats(
  args: readonly string[] = [],
  port?: number,
  config = "",
  prefix: readonly string[] = [],
): Promise<NatsServer> {
  const program = Bun.which("nats-server") ?? "/usr/sbin/nats-server";
  const folder = mkdtempSync(join(tmpdir(), "parley-test-nats-"));
  const at = port ?? (await freePort());
  const file = join(folder, "nats.conf");
  writeFileSync(file, config);
  const child = Bun.spawn([...prefix, program, "-c", file, "-a", "127.0.0.1", "-p", String(at), ...args], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ready = Promise.withResolvers<void>();
  const read = async (): Promise<void> => {
    let text = "";
    for await (const part of child.stderr) {
      if (text.length < 65_536) text += new TextDecoder().decode(part);
      if (text.includes("Server is ready")) ready.resolve();
    }
    ready.reject(new Error(`nats-server ended: ${text}`));
  };
  void read();
  ready.promise.catch(() => undefined);
  await Promise.race([
    ready.promise,
    Bun.sleep(READY_MS).then(() => Promise.reject(new Error("nats-server is not ready"))),
  ]);
  return {
    url: `nats://127.0.0.1:${at}`,
    port: at,
    pid: child.pid,
    stop: async () => {
      child.kill("SIGKILL");
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
