/** Runs under Node: plays the named scenario, prints one line of JSON about it, and exits when nothing is left open. */
import { WebSocket } from "ws";
import { play } from "./scenario.ts";
import { SCENARIOS } from "./scenarios/all.ts";
import { Service } from "./service.ts";

export interface Outcome {
  readonly name: string;
  readonly ok: boolean;
  readonly error?: string;
}

const [name = ""] = process.argv.slice(2);
const scenario = SCENARIOS.find((one) => one.name === name);

const print = (outcome: Outcome): void => console.log(JSON.stringify(outcome));

try {
  if (!scenario) throw new Error("there is no such scenario");
  await play(scenario, new Service(process.env), (url) => new WebSocket(url));
  print({ name, ok: true });
} catch (error) {
  print({ name, ok: false, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}
