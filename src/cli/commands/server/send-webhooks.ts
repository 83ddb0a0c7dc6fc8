/** `parley send-webhooks`: the process that src/webhooks/sending/sender.ts starts. */
import { runSender } from "../../../webhooks/sending/run.ts";
import type { Input } from "../../line/input.ts";

export async function sendWebhooks(_: Input): Promise<undefined> {
  const input = Bun.stdin.stream();
  await runSender(input, (text) => void process.stdout.write(text));
  // The service has ended, or needs this process no more: requests under way are given up.
  process.exit(0);
}
