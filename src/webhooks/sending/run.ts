/**
 * The process that sends. It gets orders on its standard input and ends with it, however the service ends. Its environment has no proxy and nothing
 * secret; what it sends is in the orders.
 */
import { systemClock as clock } from "../../base/clock.ts";
import { postPinned } from "../../net/pinned.ts";
import { linesOf, type Order, type Report, type Setup } from "./protocol.ts";

export async function runSender(input: AsyncIterable<Uint8Array>, write: (text: string) => void): Promise<void> {
  let setup: Setup | undefined;
  for await (const line of linesOf(input)) {
    if (setup) void send(JSON.parse(line) as Order, setup, write);
    else setup = JSON.parse(line) as Setup;
  }
}

async function send({ id, ...request }: Order, { rules }: Setup, write: (text: string) => void): Promise<void> {
  const began = clock.monotonicMs();
  const answer = await postPinned(request, { rules, nowMs: clock.wallMs });
  const report: Report = { id, tookMs: Math.round(clock.monotonicMs() - began), answer };
  write(`${JSON.stringify(report)}\n`);
}
