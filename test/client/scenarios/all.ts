import { hurry } from "../support/hurry.ts";
import { connect } from "./connect.ts";
import { endings } from "./endings.ts";
import { members } from "./members.ts";
import { messages } from "./messages.ts";
import { reconnect } from "./reconnect.ts";
import { recovery } from "./recovery.ts";
import { type Facts, type MakeClient, type Scenario, Stage } from "./stage.ts";

export const SCENARIOS: readonly Scenario[] = [
  ...connect,
  ...members,
  ...messages,
  ...reconnect,
  ...recovery,
  ...endings,
];

/** Those that show most of what differs between runtimes; the full run plays them all in each. */
export const SAMPLE: readonly Scenario[] = SCENARIOS.filter(({ name }) =>
  /invalid|restart|while a client|too large|4020/.test(name),
);

export async function play(name: string, facts: Facts, make: MakeClient): Promise<void> {
  const scenario = SCENARIOS.find((one) => one.name === name);
  if (!scenario) throw new Error(`there is no scenario ${name}`);
  const stage = new Stage(facts, make);
  const unhurry = hurry(0.1);
  try {
    await scenario.run(stage);
  } finally {
    stage.close();
    unhurry();
  }
}
