/** `parley verify` against a restored service, as an operator runs it, with a key that is from the backup. */
import { runParley, type Server } from "../../support/parley.ts";
import { IS_FULL } from "../../support/slack.ts";
import { type LoadedApp, STORED, VERIFIED } from "./load.ts";

const SECONDS = IS_FULL ? "5" : "1";
const FLEET = ["--clients", "20", "--channels", "4", "--rate", "200", "--seconds", SECONDS, "--settle", "10"];
/** Clients of these reconnect all the time, and must recover what they have missed. */
const WITH_HISTORY = ["--history", "--cuts", "2"];

export interface Verified {
  readonly delivered: number;
  readonly recoveries: number;
}

interface Outcome {
  readonly correct: boolean;
  readonly figures: { readonly acked: number; readonly deliveries: number; readonly recoveries: number };
}

/** Throws with what the command has printed, unless everything was delivered correctly. */
export async function verified(server: Server, { key }: LoadedApp): Promise<Verified> {
  const [plain, stored] = await Promise.all([
    verify(server, key, VERIFIED),
    verify(server, key, STORED, ...WITH_HISTORY),
  ]);
  if (stored.recoveries === 0) throw new Error("no client of parley verify has recovered");
  return { delivered: plain.deliveries + stored.deliveries, recoveries: stored.recoveries };
}

async function verify(server: Server, key: string, prefix: string, ...flags: string[]): Promise<Outcome["figures"]> {
  const args = ["verify", "--url", server.url, "--prefix", prefix, "--json", "--quiet", ...FLEET, ...flags];
  const { code, output } = await runParley(args, { PARLEY_KEY: key });
  if (code !== 0) throw new Error(`parley verify of ${prefix} ended with ${code}: ${output}`);
  const { correct, figures } = JSON.parse(output) as Outcome;
  if (!correct || figures.acked === 0) throw new Error(`parley verify of ${prefix}: ${output}`);
  return figures;
}
