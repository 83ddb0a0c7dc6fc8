/** Requests as bytes: valid by an operation's schemas, nearly valid, and as no client would write them. */
import type { Document, Operation } from "../../support/contract.ts";
import type { Chance } from "../../support/random.ts";
import { Bodies } from "./bodies.ts";
import { illegalTexts, ODD_HEADERS } from "./oddities.ts";
import { asText, encode, HOSTILE, Values } from "./values.ts";
import type { FuzzWorld } from "./world.ts";

export interface Step {
  readonly method: string;
  /** The path as in the document: /v1/peers/{peerId}. */
  readonly path: string;
  readonly operation: Operation;
  readonly weight: number;
}

/**
 * Which responses are allowed:
 * - contract: the request goes to this operation, so a status and a body that the document lists for it
 * - refusal: the request goes to some operation, so any response but a 5xx, with an error in one of the two shapes
 * - anything: it is not HTTP; a response or an end, but neither a 5xx nor the end of the node
 */
export type Expectation = "contract" | "refusal" | "anything";

export interface Draft {
  readonly step: Step;
  readonly bytes: Buffer;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly expects: Expectation;
  /** An admin token was required and not sent: such attempts are limited per address. */
  readonly isStranger: boolean;
}

/** Operations that delete what others need, so they are drawn less frequently. */
const SPOILING_WEIGHT = 1;
const USUAL_WEIGHT = 32;

export const isSpoiling = ({ method, path }: Pick<Step, "method" | "path">): boolean =>
  method === "DELETE" || path.endsWith("/rotate") || (method === "PATCH" && path.includes("/keys/"));

const stepsOf = (document: Document): Step[] =>
  Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([name, operation]) => {
      const step = { method: name.toUpperCase(), path, operation };
      return { ...step, weight: isSpoiling(step) ? SPOILING_WEIGHT : USUAL_WEIGHT };
    }),
  );

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
/** Addresses that are not in the document. */
const BESIDE = [
  "/",
  "/v1",
  "/readyz",
  "/metrics",
  "/docs",
  "/docs/api",
  "/docs/demo.json",
  "/docs/quickstart",
  "/docs/none",
  "/llms.txt",
  "/openapi.json",
  "/favicon.ico",
  "/api",
  "/v2",
  "/v1/",
  "/healthz/",
];
const BESIDE_EVERY = 40;
const ILLEGAL_EVERY = 60;

export class Requests {
  private readonly values: Values;
  private readonly bodies: Bodies;
  private readonly deck: readonly Step[];

  constructor(
    private readonly chance: Chance,
    document: Document,
    private readonly port: number,
  ) {
    const steps = stepsOf(document);
    this.deck = steps.flatMap((step) => new Array<Step>(step.weight).fill(step));
    this.values = new Values(chance, document.components.schemas, {});
    this.bodies = new Bodies(chance, this.values);
  }

  next(world: FuzzWorld): Draft {
    const { chance } = this;
    this.values.hints = world.hints;
    const step = chance.pick(this.deck);
    if (chance.once(ILLEGAL_EVERY)) return this.illegal(step, world);
    if (chance.once(BESIDE_EVERY)) return this.beside(step, world);
    const isValid = chance.below(100) < 50;
    const target = this.target(step, world, isValid);
    const credential = this.credential(step, world, isValid);
    const host = this.host(step, world, isValid);
    const method = !isValid && chance.once(12) ? chance.pick(METHODS) : step.method;
    const body = this.bodies.next(step.operation, isValid);
    const odd = isValid ? [] : this.oddHeaders();
    const lines = [
      `${method} ${target.path}${joined(target.query, credential.query)} HTTP/1.1`,
      `Host: ${host.text}`,
      ...credential.headers,
      ...body.headers,
      ...odd,
    ];
    const isSame = method === step.method && target.isSame && host.isRight;
    return {
      step,
      method,
      path: target.path,
      bytes: Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body.bytes]),
      expects: isSame ? "contract" : "refusal",
      isStranger: step.path.startsWith("/api/internal") && !credential.isRight,
    };
  }

  private target({ method, path, operation }: Step, world: FuzzWorld, isValid: boolean) {
    const { chance } = this;
    const links = world.links[`${method} ${path}`];
    if (links && !chance.once(3)) {
      const link = chance.pick(links);
      const [bare = "", query = ""] = (isValid ? link : this.scratched(link)).split("?");
      return { path: bare, query, isSame: isValid };
    }
    const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => {
      const known = chance.pick(world.names[name] ?? ["x"]);
      return encode(isValid || chance.once(2) ? known : asText(this.values.anything(0)));
    });
    const isOdd = !isValid && chance.once(10);
    const whole = isOdd ? this.oddPath(filled) : filled;
    const pairs = operation.parameters.filter((one) => one.in === "query").flatMap((one) => this.pair(one, isValid));
    if (!isValid && chance.once(6)) pairs.push(`${encode(asText(chance.pick(HOSTILE)))}=${chance.below(9)}`);
    return { path: whole, query: pairs.join("&"), isSame: whole === filled && isSamePath(whole) };
  }

  private pair({ name, required, schema }: Operation["parameters"][number], isValid: boolean): string[] {
    const { chance } = this;
    if (!required && !chance.once(3)) return [];
    const value = isValid || chance.once(2) ? this.values.valid(schema, name) : this.values.anything(1);
    const pair = `${name}=${encode(asText(value))}`;
    return !isValid && chance.once(10) ? [pair, pair] : [pair];
  }

  private oddPath(path: string): string {
    const { chance } = this;
    const at = chance.below(path.length + 1);
    switch (chance.below(7)) {
      case 0:
        return `${path}/`;
      case 1:
        return path.replaceAll("/", "//");
      case 2:
        return `${path.slice(0, at)}/../${path.slice(at)}`;
      case 3:
        return `${path.slice(0, at)}%${path.slice(at)}`;
      case 4:
        return path.toUpperCase();
      case 5:
        return `http://example.com${path}`;
      default:
        return path.slice(0, at) || "/";
    }
  }

  private credential({ operation }: Step, world: FuzzWorld, isValid: boolean) {
    const { chance } = this;
    const schemes = (operation.security ?? []).flatMap((one) => Object.keys(one));
    const scheme = schemes.length > 0 ? chance.pick(schemes) : undefined;
    const isRight = isValid || !chance.once(4);
    const secret = isRight && scheme ? chance.pick(world.credentials[scheme] ?? [""]) : chance.pick(world.wrong);
    if (scheme === undefined || (!isRight && chance.once(3))) return { headers: [], query: "", isRight: false };
    if (scheme === "applicationKey") return { headers: [], query: `secretKey=${encode(secret)}`, isRight };
    const kind = isRight ? "Bearer" : chance.pick(["Bearer", "bearer", "Basic", "", "Bearer ", "Digest"]);
    const header = `Authorization: ${kind} ${secret}`;
    return { headers: !isRight && chance.once(8) ? [header, header] : [header], query: "", isRight };
  }

  /** The application's own host for its API, the node's for the rest. */
  private host({ operation }: Step, world: FuzzWorld, isValid: boolean) {
    const { chance, port } = this;
    const right = operation.servers
      ? `${world.app}.localhost:${port}`
      : `${chance.pick(["127.0.0.1", "localhost"])}:${port}`;
    if (isValid || !chance.once(10)) return { text: right, isRight: true };
    const others = [
      `${world.app}.localhost`,
      `127.0.0.1:${port}`,
      "unknown.localhost",
      "a.b.localhost",
      "evil.example.com",
      "[::1]",
      "",
      " ",
      "x".repeat(300),
      "%00",
      `${world.app.toUpperCase()}.LOCALHOST`,
    ];
    return { text: chance.pick(others), isRight: false };
  }

  private oddHeaders(): string[] {
    return this.chance.once(5) ? [this.chance.pick(ODD_HEADERS)] : [];
  }

  private beside(step: Step, world: FuzzWorld): Draft {
    const { chance } = this;
    const path = chance.pick(BESIDE);
    const query = chance.pick([
      "",
      `?key=${encode(chance.pick(world.wrong))}`,
      `?token=${encode(chance.pick(world.wrong))}`,
    ]);
    const method = chance.pick(METHODS);
    const host = this.host(step, world, chance.once(2));
    const lines = [
      `${method} ${path}${query} HTTP/1.1`,
      `Host: ${host.text}`,
      "Content-Length: 0",
      ...this.oddHeaders(),
    ];
    const bytes = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
    return { step, method, path, bytes, expects: "refusal", isStranger: true };
  }

  /** Requests that no HTTP client sends. */
  private illegal(step: Step, world: FuzzWorld): Draft {
    const { chance, port } = this;
    const host = step.operation.servers ? `${world.app}.localhost:${port}` : `127.0.0.1:${port}`;
    const texts = illegalTexts(step.method, encodeURI(step.path), host);
    const bytes = chance.once(6) ? chance.bytes(1 + chance.below(200)) : Buffer.from(chance.pick(texts), "latin1");
    return { step, method: step.method, path: step.path, bytes, expects: "anything", isStranger: true };
  }

  /** One character changed: a link whose signature is no longer valid. */
  private scratched(link: string): string {
    const at = 1 + this.chance.below(link.length - 1);
    return `${link.slice(0, at)}${this.chance.pick(["x", "0", "%", "&", "=", "", "/"])}${link.slice(at + 1)}`;
  }
}

const joined = (...queries: readonly string[]): string => {
  const all = queries.filter((query) => query !== "").join("&");
  return all === "" ? "" : `?${all}`;
};

/** Not a path that is normalised, or read as another one, before it reaches an operation. */
const isSamePath = (path: string): boolean =>
  !/%2F|%00|%5C/i.test(path) &&
  !path.split("/").some((part, at) => at > 0 && ["", ".", "..", "%2E", "%2E%2E"].includes(part));
