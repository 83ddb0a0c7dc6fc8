/**
 * Exit 0 if the node of this container is alive. It finds the node by the settings the node was started with, as far as they
 * come from the environment or a file: flags behind `up` are not seen from here.
 */
import { loadConfig } from "../src/config/load.ts";

const ANSWER_WITHIN_MS = 4000;

const { config } = loadConfig(new Map(), process.env);
// Where no setting names an address, it listens on 127.0.0.1 or everywhere.
const everywhere = ["", "0.0.0.0", "::"].includes(config.host);
const host = everywhere ? "127.0.0.1" : config.host.includes(":") ? `[${config.host}]` : config.host;
const scheme = config.tlsCert === "" ? "http" : "https";

try {
  const { status } = await fetch(`${scheme}://${host}:${config.port}/healthz`, {
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    // The certificate names the service, not the loopback address.
    tls: { rejectUnauthorized: false },
  });
  if (status !== 200) throw new Error(`/healthz answers ${status}`);
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
