/** The access token calls of the application API. */
import { expect } from "bun:test";
import { Application, type AppRefusal, expectAppRefusal } from "./application.ts";
import type { Answer, Json } from "./http.ts";

export const mintAccessToken = async (app: Application, body: Json = {}): Promise<string> =>
  (await app.must<{ token: string }>("POST", "/token", body)).token;

/** Without the secret key: this call needs no credential. */
export function validate(app: Application, token: unknown, more: Json = {}): Promise<Answer<Json & AppRefusal>> {
  const guest = new Application(app.url, app.name, "");
  guest.contract = app.contract;
  return guest.call("POST", "/token/validate", { token, ...more }, { headers: { Authorization: "" } });
}

/** Returns the token's data. */
export async function expectValid(app: Application, token: string, more: Json = {}): Promise<Json> {
  const { status, body }: Answer = await validate(app, token, more);
  expect({ status, body }).toEqual({ status: 200, body: { success: true, data: expect.any(Object), valid: true } });
  return body.data as Json;
}

/** Returns the refusal's message. */
export const expectInvalid = async (app: Application, token: unknown, more: Json = {}): Promise<string> =>
  expectAppRefusal(await validate(app, token, more), 400, "invalid_access_token").message;
