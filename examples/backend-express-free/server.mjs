// A backend in plain Node: it knows who its users are and gives each a connect token. The secret key never leaves it.
//   PARLEY_KEY=sk_id_…:sk_secret_… node server.mjs
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const parley = process.env.PARLEY_URL ?? "http://localhost:8080";
const [keyId, secret] = (process.env.PARLEY_KEY ?? "").split(":");
if (!secret) {
  console.error("Set PARLEY_KEY to a secret key, sk_id_…:sk_secret_…");
  process.exit(1);
}
const port = Number(process.env.PORT ?? 3000);
const TOKEN_SECONDS = 600;
const BODY_MAX_CHARS = 1000;

const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const sign = (text, key) => createHmac("sha256", key).update(text).digest("base64url");

/** A user may use the rooms of this application and no other channel. */
function connectToken({ id, name }) {
  const now = Math.floor(Date.now() / 1000);
  const claims = { sub: id, iat: now, exp: now + TOKEN_SECONDS, channels: ["rooms/*"], peerMetadata: { name } };
  const input = `${part({ alg: "HS256", kid: keyId, typ: "JWT" })}.${part(claims)}`;
  return `${input}.${sign(input, secret)}`;
}

// A session is the user, signed: it needs no store, so it outlives a restart of this backend. A real one has its own sessions.
const sessionKey = createHmac("sha256", secret).update("session").digest();
const sessionOf = (user) => `${part(user)}.${sign(part(user), sessionKey)}`;

function userOf(request) {
  const [user = "", signature = ""] = (request.headers.authorization ?? "").replace("Bearer ", "").split(".");
  const wanted = Buffer.from(sign(user, sessionKey));
  const given = Buffer.from(signature);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
  return JSON.parse(Buffer.from(user, "base64url").toString());
}

const file = async (url, type) => ({ body: await readFile(url), headers: { "Content-Type": type } });
const json = (value) => ({
  body: JSON.stringify(value),
  headers: { "Content-Type": "application/json", "Cache-Control": "no-store" },
});

const ROUTES = {
  "GET /": () => file(new URL("page.html", import.meta.url), "text/html; charset=utf-8"),
  "GET /page.js": () => file(new URL("page.js", import.meta.url), "text/javascript"),
  "GET /realtime.js": () => file(new URL(import.meta.resolve("@metered-ca/realtime")), "text/javascript"),
  "POST /login": async (request) => {
    const name = (JSON.parse(await bodyOf(request)).name ?? "").trim().slice(0, 40) || "Somebody";
    const session = sessionOf({ id: `user-${randomUUID()}`, name });
    return json({ session, url: parley.replace(/^http/, "ws") });
  },
  // The session identifies the user, never the request: otherwise any client could claim to be another user.
  "POST /token": (request) => {
    const user = userOf(request);
    return user ? json({ token: connectToken(user) }) : { status: 401, ...json({ error: "log in first" }) };
  },
};

async function bodyOf(request) {
  let text = "";
  for await (const piece of request.setEncoding("utf8")) {
    text += piece;
    if (text.length > BODY_MAX_CHARS) throw new Error("the body is too long");
  }
  return text;
}

createServer(async (request, response) => {
  const route = ROUTES[`${request.method} ${request.url}`];
  try {
    const { status = 200, headers, body } = route ? await route(request) : { status: 404, body: "not found\n" };
    response.writeHead(status, headers).end(body);
  } catch (error) {
    response.writeHead(400).end(`${error.message}\n`);
  }
})
  .on("error", (error) => {
    if (error.code !== "EADDRINUSE") throw error;
    console.error(`Port ${port} is in use. Choose another one: PORT=${port + 1} node server.mjs`);
    process.exit(1);
  })
  .listen(port, "127.0.0.1", function () {
    console.log(`open http://localhost:${this.address().port} in two tabs`);
  });
