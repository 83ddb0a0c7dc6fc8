/** Decides whether a response is allowed. */
import type { Contract } from "../../support/contract.ts";
import type { Json } from "../../support/http.ts";
import type { HttpAnswer } from "./connection.ts";
import type { Draft } from "./requests.ts";

/** Responses that no schema lists, because they come before a request reaches an operation. */
const BEFORE_OPERATION = [400, 404, 405, 408, 411, 413, 414, 415, 417, 421, 426, 429, 431, 501, 505];
/** 501: what the operator has not set up, such as TURN. */
const MAY_FAIL = [501, 503, 507];
/** Operations whose purpose is to return a secret. */
const REVEALING =
  /^(POST \/api\/internal\/v1\/apps|\w+ \/api\/internal\/v1\/apps\/\{app\}\/secret-key.*|POST \/api\/internal\/v1\/signalling\/keys.*)$/;
const SHOWN_CHARS = 3000;

export class Judge {
  private readonly statuses = new Map<number, number>();
  private readonly asked = new Map<string, Set<number>>();

  constructor(
    private readonly contract: Contract,
    /** Secrets that no request has asked for. */
    private readonly secrets: readonly string[],
    private readonly hasRates: boolean,
  ) {}

  get byStatus(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.statuses].sort(([a], [b]) => a - b));
  }

  get operations(): number {
    return this.asked.size;
  }

  get neverOk(): readonly string[] {
    return [...this.asked].filter(([, seen]) => !seen.has(200) && !seen.has(206)).map(([name]) => name);
  }

  /** Throws if the response is not allowed. Returns the name of an application if one was created. */
  answered(draft: Draft, answer: HttpAnswer, ownSecrets: readonly string[]): string | undefined {
    this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
    const wrong = this.fault(draft, answer, ownSecrets);
    if (wrong !== undefined)
      throw new Error(
        `${wrong}\n${this.shown(draft)}\nwas answered ${answer.status} ${answer.text.slice(0, SHOWN_CHARS)}`,
      );
    const name = `${draft.step.method} ${draft.step.path}`;
    if (draft.expects === "contract") {
      const seen = this.asked.get(name);
      if (seen) seen.add(answer.status);
      else this.asked.set(name, new Set([answer.status]));
    }
    const isNewApp = name === "POST /api/internal/v1/apps" && answer.status === 200 && draft.method === "POST";
    return isNewApp ? String(parsed(answer.text).name) : undefined;
  }

  shown({ bytes, expects }: Draft): string {
    return `(${expects}) ${JSON.stringify(bytes.toString("latin1", 0, SHOWN_CHARS))}`;
  }

  private fault(draft: Draft, answer: HttpAnswer, ownSecrets: readonly string[]): string | undefined {
    const { status, text } = answer;
    const leaked = [...this.secrets, ...(this.reveals(draft) ? [] : ownSecrets)].find((secret) =>
      text.includes(secret),
    );
    if (leaked !== undefined) return "an answer has a secret in it";
    if (status >= 500 && !MAY_FAIL.includes(status) && !(draft.expects !== "contract" && status === 505))
      return "a failure of ours";
    if (status === 429 && this.hasRates && text.includes("rate_limited"))
      return answer.headers.has("retry-after") ? undefined : "429 without Retry-After";
    if (draft.expects === "contract") return this.breach(draft, answer);
    if (draft.expects === "refusal") return this.shape(draft, answer);
    return undefined;
  }

  private breach({ method, path }: Draft, { status, text, headers }: HttpAnswer): string | undefined {
    try {
      this.contract.check(method, path, { status, text, body: parsed(text), headers: new Headers([...headers]) });
      return undefined;
    } catch (error) {
      return String(error instanceof Error ? error.message : error);
    }
  }

  /** A success belongs to another operation; a refusal has one of the two shapes, unless the server itself refused the request. */
  private shape(draft: Draft, { status, text, headers }: HttpAnswer): string | undefined {
    if (status < 400 || draft.method === "HEAD" || text === "") return undefined;
    if (!headers.get("content-type")?.startsWith("application/json"))
      return BEFORE_OPERATION.includes(status) ? undefined : `a refusal is ${headers.get("content-type")}`;
    const body = parsed(text);
    const isRealtime = typeof body.error === "string" && typeof body.message === "string";
    const isApplication =
      body.success === false && typeof body.message === "string" && typeof body.requestId === "string";
    return isRealtime || isApplication ? undefined : "a refusal has another shape";
  }

  private reveals({ step, method }: Draft): boolean {
    return REVEALING.test(`${step.method} ${step.path}`) || method !== step.method;
  }
}

function parsed(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    return value as Json;
  } catch {
    return {};
  }
}
