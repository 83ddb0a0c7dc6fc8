/** Faults are planted when messages flow: earlier, they would hit a service without load. */
import type { Fleet } from "../../src/verify/fleet.ts";
import { until } from "./wait.ts";

/** Then every client of a small fleet has sent some. */
const DELIVERIES_MIN = 200;

/** Resolves when each of the fleets has received some messages from now on. */
export async function flowing(...fleets: readonly Pick<Fleet, "checker">[]): Promise<void> {
  await Promise.all(
    fleets.map(async ({ checker }) => {
      const wanted = checker.deliveries + DELIVERIES_MIN;
      await until("messages flow", () => checker.deliveries >= wanted);
    }),
  );
}
