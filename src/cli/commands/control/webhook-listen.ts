/** `parley webhooks listen`: prints the events that a webhook gets on this machine, until it is interrupted. */
import { readFileSync } from "node:fs";
import { hasColours } from "../../../base/colours.ts";
import { isObject } from "../../../protocol/json.ts";
import { appNamed, controlUrl } from "../../calls/address.ts";
import { controlPlane, type Server } from "../../calls/client.ts";
import { isThisMachine } from "../../calls/loopback.ts";
import { WEBHOOK_LISTEN_PORT } from "../../line/defaults.ts";
import { Failure, UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { LineWriter } from "../../terminal/line-writer.ts";
import { escaped, jsonLine, write } from "../../terminal/output.ts";
import { isSecret, type Received, Receiver } from "./webhook-receiver.ts";
import { type Webhook, webhooksPath } from "./webhooks.ts";

/** The webhooks that the command makes for itself have it. One that it could not delete is found by it, and deleted at the next time. */
const DESCRIPTION = "parley webhooks listen";
const LAST_LINES_MAX_MS = 2000;

export async function listen(input: Input): Promise<undefined> {
  const port = input.whole("port") ?? WEBHOOK_LISTEN_PORT;
  if (port > 65_535) throw new UsageError(`--port is ${port}; it must be at most 65535`);
  const count = input.whole("count") ?? Number.POSITIVE_INFINITY;
  if (count === 0) throw new UsageError("--count must be at least 1");
  const given = secretIn(input);
  const ended = Promise.withResolvers<void>();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => ended.resolve());
  const writer = new LineWriter(Bun.stdout);
  const line = input.isOn("json") ? jsonLine : lineOf(hasColours(process.stdout, input.env));
  const secret = Promise.withResolvers<string>();
  let printed = 0;
  const receiver = receiverAt(port, {
    secret: secret.promise,
    forward: forwardIn(input),
    received: (one) => {
      if (printed >= count) return;
      writer.add(line(one));
      printed++;
      if (printed >= count) ended.resolve();
    },
  });
  const made = given === undefined ? await makeFor(receiver, input) : undefined;
  secret.resolve(made?.secret ?? given ?? "");
  try {
    if (!input.isOn("quiet"))
      await write(
        Bun.stderr,
        `parley: listening at http://127.0.0.1:${receiver.port}/${made ? ` to the application ${escaped(appNamed(input))}` : ""}; press Ctrl-C to stop\n`,
      );
    await ended.promise;
  } finally {
    await made?.remove();
    await receiver.stop();
    await Promise.race([writer.done(), Bun.sleep(LAST_LINES_MAX_MS)]);
  }
  return undefined;
}

function secretIn(input: Input): string | undefined {
  const file = input.text("secret-file");
  const text = file === undefined ? input.env.PARLEY_WEBHOOK_SECRET : readSecret(file);
  if (!text) return undefined;
  if (!isSecret(text.trim()))
    throw new UsageError(
      `${file === undefined ? "PARLEY_WEBHOOK_SECRET" : "--secret-file"} must contain a secret that begins with whsec_`,
    );
  return text.trim();
}

function readSecret(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`--secret-file: ${(error as Error).message}`);
  }
}

function forwardIn(input: Input): string | undefined {
  const forward = input.text("forward");
  if (forward !== undefined && !/^https?:$/.test(URL.parse(forward)?.protocol ?? ""))
    throw new UsageError(`--forward is ${JSON.stringify(forward)}; it must be an http or https address`);
  return forward;
}

function receiverAt(port: number, parts: Omit<ConstructorParameters<typeof Receiver>[0], "port">): Receiver {
  try {
    return new Receiver({ ...parts, port });
  } catch (error) {
    if ((error as { code?: string }).code !== "EADDRINUSE") throw error;
    throw new UsageError(`port ${port} is in use: choose another with --port, and allow it in PARLEY_WEBHOOK_ALLOW`);
  }
}

interface Made {
  readonly secret: string;
  readonly remove: () => Promise<void>;
}

/** A webhook of the command itself. */
async function makeFor(receiver: Receiver, input: Input): Promise<Made> {
  const server = controlPlane(input);
  const path = webhooksPath(input);
  const url = `http://127.0.0.1:${receiver.port}/`;
  try {
    if (!isThisMachine(controlUrl(input)))
      throw new UsageError(
        "the service is on another machine, which cannot reach this one: create a webhook that reaches it through a tunnel, and pass its secret with --secret-file",
      );
    await removeEarlier(server, path, url);
    const made = await server.post<Webhook & { secret: string }>(path, {
      url,
      events: input.list("events") ?? ["*"],
      channelPatterns: input.list("channels") ?? ["**"],
      description: DESCRIPTION,
    });
    return { secret: made.secret, remove: () => remove(server, `${path}/${made._id}`) };
  } catch (error) {
    await receiver.stop();
    throw error instanceof Failure && error.message.includes("PARLEY_WEBHOOK_ALLOW")
      ? new Failure(
          error.code,
          `the service does not call addresses of this machine: start it with PARLEY_WEBHOOK_ALLOW=127.0.0.1:${receiver.port}, then repeat this`,
        )
      : error;
  }
}

async function removeEarlier(server: Server, path: string, url: string): Promise<void> {
  const { data } = await server.getAll<Webhook>(path);
  for (const one of data)
    if (one.url === url && one.description === DESCRIPTION) await remove(server, `${path}/${one._id}`);
}

/** The application or the service may be gone meanwhile: then there is nothing to remove, or the next time finds it. */
async function remove(server: Server, path: string): Promise<void> {
  await server
    .delete(path)
    .catch((error: Error) =>
      write(Bun.stderr, `parley: its webhook could not be deleted: ${escaped(error.message)}\n`),
    );
}

const [RED, GREEN, DIM, RESET] = ["\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[0m"];

const lineOf =
  (isColoured: boolean) =>
  (one: Received): string => {
    const paint = (colour: string, text: string): string => (isColoured ? `${colour}${text}${RESET}` : text);
    const time = new Date().toTimeString().slice(0, 8);
    const verdict = one.verified ? paint(GREEN, "verified") : paint(RED, `NOT VERIFIED: ${one.why}`);
    const seq = isObject(one.data) && typeof one.data.seq === "number" ? `#${one.data.seq}` : "";
    const parts = [
      paint(DIM, time),
      escaped(typeof one.type === "string" ? one.type : "(no type)"),
      seq,
      `${verdict}${one.isRepeated ? ", again" : ""}${one.status === 204 ? "" : `, answered ${one.status}`}`,
      escaped(JSON.stringify(one.data ?? null)),
    ];
    return `${parts.filter((part) => part !== "").join("  ")}\n`;
  };
