/** A peer without WebSocket, for the run of credentials. */
import { tokenQuery } from "../../conformance/raw/support/world.ts";
import { call } from "../../support/http.ts";
import { connectOverHttp } from "../../support/wire/over-http.ts";

/** Publishes, and returns the session of the connection, which is left open. `secret`: without the names of its node and of the connection. */
export async function talkOverHttp(
  url: string,
  token: string,
  channel: string,
): Promise<{ session: string; secret: string }> {
  const { session } = await connectOverHttp(url, { query: tokenQuery(token) });
  const frame = JSON.stringify({ type: "publish", channel, data: { hello: 3 } });
  await call(`${url}/v1/events?session=${session}&n=1`, { method: "POST", body: frame });
  return { session, secret: session.split(".").slice(2).join(".") };
}
