/**
 * The container's health check: exits with 0 if the node is alive. It reads the node's settings from the environment and files;
 * it cannot see flags that `up` was given.
 */
import { loadConfig } from "../src/config/load.ts";

const ANSWER_WITHIN_MS = 4000;

const { config } = loadConfig(new Map(), process.env);
// Without a setting, the node listens on 127.0.0.1 or on all addresses.
const isReachableByLoopback = ["", "0.0.0.0", "::"].includes(config.host);
const host = isReachableByLoopback ? "127.0.0.1" : config.host.includes(":") ? `[${config.host}]` : config.host;
const scheme = config.tlsCert === "" ? "http" : "https";

try {
  const { status } = await fetch(`${scheme}://${host}:${config.port}/healthz`, {
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    // The certificate is for the service's name, not for the loopback address.
    tls: { rejectUnauthorized: false },
  });
  if (status !== 200) throw new Error(`/healthz answers ${status}`);
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
