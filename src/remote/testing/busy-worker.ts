/**
 * For tests: a worker process that appends and makes changes until it is killed. It prints what it knows to be stored: `A offset text` for a
 * message, `C` for a change.
 */
import { message } from "../../history/testing/kit.ts";
import { connectStore } from "../client.ts";

/** Between two changes, so that appends come in between. */
const PAUSE_MS = 1;

const [path = "", name = ""] = process.argv.slice(2);
const { store, history } = await connectStore({ path });

async function change(): Promise<never> {
  for (;;) {
    await store.change(
      async (one) => one.putMeta("count", String(Number((await one.meta("count")) ?? 0) + 1)),
      () => process.stdout.write("C\n"),
    );
    await Bun.sleep(PAUSE_MS);
  }
}

async function append(): Promise<never> {
  const keep = { messages: 10_000_000, seconds: 3600 };
  for (let nr = 0; ; ) {
    const texts = Array.from({ length: 1 + (nr % 20) }, () => `${name}:${nr++}`);
    const messages = texts.map((text) => message({ keep, dataJson: JSON.stringify(text) }));
    const results = await history.append({ check: `${name}x${nr}`, messages });
    process.stdout.write(results.map(({ offset }, at) => `A ${offset} ${texts[at]}\n`).join(""));
  }
}

await Promise.all([change(), append()]);
