/**
 * A process full of clients that recover, controlled over IPC: one process does not have the descriptors for all clients of a large
 * node. Each process judges its own clients, which have channels of their own.
 */
import { Fleet, type FleetOptions, type Report } from "../../../src/verify/fleet.ts";

export type Order =
  | { readonly do: "open"; readonly options: FleetOptions }
  | { readonly do: "talk" | "hush" | "cut" | "close" }
  /** Waits until all clients are subscribed and have their rosters. */
  | { readonly do: "return"; readonly withinMs: number }
  | { readonly do: "settle"; readonly withinMs: number };

export type Answer = { readonly report?: Report } | { readonly failed: string };

const LOOK_EVERY_MS = 20;

let fleet: Fleet | undefined;

async function obey(order: Order): Promise<Answer> {
  if (order.do === "open") {
    fleet = await Fleet.open(order.options);
    return {};
  }
  if (!fleet) throw new Error("there are no clients yet");
  switch (order.do) {
    case "talk":
      fleet.talk();
      break;
    case "hush":
      fleet.hush();
      break;
    case "cut":
      for (const client of fleet.clients) client.terminate();
      break;
    case "return":
      await everyoneBack(fleet, order.withinMs);
      break;
    case "settle":
      return { report: await fleet.settle(order.withinMs) };
    case "close":
      await fleet.close();
  }
  return {};
}

async function everyoneBack({ clients }: Fleet, withinMs: number): Promise<void> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    const away = clients.filter(({ isListening }) => !isListening);
    const [first] = away;
    if (!first) return;
    if (performance.now() > deadlineMs)
      throw new Error(
        `${away.length} of ${clients.length} clients are not back after ${withinMs} ms, such as ${first.peer}: ${first.refusal ?? `${first.tries} tries`}`,
      );
    await Bun.sleep(LOOK_EVERY_MS);
  }
}

const answer = (message: Answer): void => {
  process.send?.(message);
};

process.on("message", (order: Order) => {
  obey(order).then(answer, (error: Error) => answer({ failed: error.message }));
});
// The test has ended, so this process ends too.
process.on("disconnect", () => process.exit(0));
answer({});
