import type { Scenario } from "../scenario.ts";
import { connect } from "./connect.ts";
import { endings } from "./endings.ts";
import { join } from "./join.ts";
import { limits } from "./limits.ts";
import { messages } from "./messages.ts";
import { reconnect } from "./reconnect.ts";
import { recovery } from "./recovery.ts";
import { renewal } from "./renewal.ts";
import { restart } from "./restart.ts";
import { storm } from "./storm.ts";

export const SCENARIOS: readonly Scenario[] = [
  ...connect,
  ...join,
  ...messages,
  ...reconnect,
  ...recovery,
  ...renewal,
  ...restart,
  ...endings,
  ...limits,
  ...storm,
];
