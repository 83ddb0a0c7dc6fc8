import { expect, test } from "bun:test";
import { newAppSecret, newOperatorToken, newSessionSecret, newSigningSecret } from "../../src/access/keys/ids.ts";
import { newTicket } from "../../src/meetings/entrance/tickets.ts";
import { credentialOf } from "../../src/meetings/turn/turn.ts";
import { selfSigned } from "./jwt.ts";
import {
  credentialsIn,
  refuseLeaks,
  refuseListed,
  rememberAnswer,
  rememberSettings,
  searchLog,
} from "./seen-credentials.ts";

const lineWith = (text: string): string => `{"level":"error","route":"/v1","err":{"message":"no ${text}, or"}}\n`;

test("credentials with a form are found without having been seen", () => {
  const token = selfSigned("sk_id_0", newSigningSecret());
  for (const [text, kind] of [
    [newSigningSecret(), "secret key"],
    [newOperatorToken(), "operator token"],
    [`?token=${token}`, "connect token"],
    [`rt_${token}`, "stay token"],
    [`/api/v1/upload/0?proof=${"a-Z_9".repeat(9).slice(0, 43)}`, "upload address"],
    ["?X-Amz-Signature=abc", "signed bucket address"],
  ] as const)
    expect(credentialsIn(lineWith(text))).toContain(kind);
});

test("others are found once a server has answered with them, also if they are cut", () => {
  const [secretKey, ticket, cookie] = [newAppSecret(), newTicket(1), newSessionSecret()];
  const { credential } = credentialOf("secret", "name", 0);
  expect(credentialsIn(lineWith(`${secretKey} ${ticket} ${cookie} ${credential}`))).toEqual([]);
  const headers = new Headers({ "Set-Cookie": `__Host-parley=${cookie}; Path=/; HttpOnly` });
  rememberAnswer(JSON.stringify({ secretKey, waiting: true, ticket, iceServers: [{ credential }] }), headers);
  for (const [value, kind] of [
    [secretKey, "application secret"],
    [secretKey.slice(0, 20), "application secret"],
    [ticket, "lobby ticket"],
    [`"x/${ticket.slice(12)}"`, "lobby ticket"],
    [cookie, "dashboard session"],
    [encodeURIComponent(credential), "TURN credential"],
  ] as const)
    expect(credentialsIn(lineWith(value))).toEqual([kind]);
});

test("and so are those that a server was started with", () => {
  const [token, password] = [`admin_${crypto.randomUUID()}`, crypto.randomUUID()];
  rememberSettings({ PARLEY_ADMIN_TOKEN: token, PARLEY_NATS_URL: `nats://me:${password}@host:4222`, PARLEY_PORT: "0" });
  expect(credentialsIn(lineWith(token))).toEqual(["admin token"]);
  expect(credentialsIn(lineWith(password))).toEqual(["NATS credential"]);
});

test("a list that has one is refused; what shows one on purpose is not", () => {
  const text = JSON.stringify({ data: [{ name: "ann", token: newOperatorToken() }] });
  expect(() => refuseListed("GET", "/operators?limit=1", text)).toThrow(
    "GET /operators shows credentials: operator token",
  );
  refuseListed("POST", "/operators", text);
  refuseListed("GET", "/apps/demo/secret-key", text);
  refuseListed("GET", "/operators", JSON.stringify({ data: [{ name: "ann", _id: crypto.randomUUID() }] }));
});

test("a log that has one fails what stops the server, once", () => {
  searchLog(lineWith(crypto.randomUUID()));
  refuseLeaks();
  const secret = newSigningSecret();
  searchLog(lineWith(secret));
  expect(refuseLeaks).toThrow("the log of a server shows credentials: secret key");
  refuseLeaks();
});
