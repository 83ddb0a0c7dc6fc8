// The backend: it knows who its users are and signs a connect token for each. The secret key never leaves it.
//   npm run dev     as a part of Vite's server
//   npm start       alone, with the page as Vite has built it
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const parley = process.env.PARLEY_URL ?? "http://localhost:8080";
const [keyId, secret] = secretKey().split(":");
const TOKEN_SECONDS = 600;
const BODY_MAX_CHARS = 1000;

/** From the environment; or that of a demo server in whose sources this folder is. */
function secretKey() {
  const firstRun = join(HERE, "../../data/first-run.txt");
  const found = existsSync(firstRun) ? /^ *secret key +(\S+)$/m.exec(readFileSync(firstRun, "utf8"))?.[1] : undefined;
  const key = process.env.PARLEY_KEY ?? found ?? "";
  if (/^sk_id_\w+:sk_secret_/.test(key)) return key;
  console.error("Set PARLEY_KEY to a secret key, sk_id_…:sk_secret_…");
  process.exit(1);
}

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

const API = {
  "POST /api/login": async (request) => {
    const name = String(JSON.parse(await bodyOf(request)).name ?? "")
      .trim()
      .slice(0, 40);
    if (!name) return { status: 400, value: { error: "a name is needed" } };
    const user = { id: `user-${randomUUID()}`, name };
    return { value: { user, session: sessionOf(user), url: parley } };
  },
  // The session identifies the user, never the request: otherwise any client could claim to be another user.
  "POST /api/token": (request) => {
    const user = userOf(request);
    return user ? { value: { token: connectToken(user) } } : { status: 401, value: { error: "log in first" } };
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

/** Answers /api; everything else is for `next`. */
export async function backend(request, response, next) {
  const route = API[`${request.method} ${request.url}`];
  if (!route) return next();
  const { status = 200, value } = await Promise.resolve(route(request)).catch((error) => ({
    status: 400,
    value: { error: error.message },
  }));
  const headers = { "Content-Type": "application/json", "Cache-Control": "no-store" };
  response.writeHead(status, headers).end(JSON.stringify(value));
}

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };

/** The files of dist/. */
async function page(request, response) {
  try {
    const path = new URL(request.url, "http://localhost").pathname;
    const file = join(HERE, "dist", path === "/" ? "index.html" : path);
    const body = await readFile(file);
    response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" }).end(body);
  } catch {
    response.writeHead(404).end("not found\n");
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const port = Number(process.env.PORT ?? 3000);
  createServer((request, response) => backend(request, response, () => page(request, response)))
    .on("error", (error) => {
      if (error.code !== "EADDRINUSE") throw error;
      console.error(`Port ${port} is in use. Choose another one: PORT=${port + 1} npm start`);
      process.exit(1);
    })
    .listen(port, "127.0.0.1", function () {
      console.log(`open http://localhost:${this.address().port} in two tabs`);
    });
}
