/** The outcome of a connect attempt as a short text. */
import { attempt, type ConnectOptions, type Refused } from "../../../support/wire/connect.ts";
import { Wire } from "../../../support/wire/wire.ts";

/** Headers without an upgrade: a plain GET. */
export const PLAIN_GET = { Upgrade: null, Connection: null, "Sec-WebSocket-Key": null, "Sec-WebSocket-Version": null };

/** The status and code of a refusal. */
export const codeOf = ({ status, body }: Pick<Refused, "status" | "body">): string => `${status} ${body.error}`;

/** "in", or the status and code of the refusal. */
export async function outcome(url: string, options: ConnectOptions): Promise<string> {
  const got = await attempt(url, options);
  if (!(got instanceof Wire)) return codeOf(got);
  const first = await got.event();
  got.drop();
  return first.kind === "close" ? `close ${first.code}` : "in";
}
