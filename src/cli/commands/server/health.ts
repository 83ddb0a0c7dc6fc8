/**
 * `parley health`: whether the server that these settings describe is alive, for health checks of containers. It reads the
 * server's settings from the environment and files; of the flags that `up` was given it has only those that name the address.
 */
import { loadConfig } from "../../../config/load.ts";
import type { CommandResult } from "../../line/command.ts";
import { Failure } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";

/** Shorter than the five seconds that supervisors usually allow for a check. */
const ANSWER_WITHIN_MS = 4000;

export async function health({ flags, env }: Input): Promise<CommandResult> {
  const { config } = loadConfig(flags, env);
  // Without a setting, the server listens on 127.0.0.1 or on all addresses.
  const isReachableByLoopback = ["", "0.0.0.0", "::"].includes(config.host);
  const host = isReachableByLoopback ? "127.0.0.1" : config.host.includes(":") ? `[${config.host}]` : config.host;
  const url = `${config.tlsCert === "" ? "http" : "https"}://${host}:${config.port}`;
  const status = await statusOf(`${url}/healthz`);
  if (status !== 200) throw new Failure("unhealthy", `${url}/healthz answers ${status} instead of 200`);
  return { value: { url, healthy: true }, text: `${url} is healthy\n` };
}

async function statusOf(url: string): Promise<number> {
  const { status } = await fetch(url, {
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    // The certificate is for the service's name, not for the loopback address.
    tls: { rejectUnauthorized: false },
  }).catch((error: Error) => {
    throw new Failure(
      "unreachable",
      `${url} cannot be reached (${error.message}); set another address with --host and --port`,
    );
  });
  return status;
}
