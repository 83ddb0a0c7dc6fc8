/** A small client of the application API: the application's host in the header, its secret key as a Bearer token. */
import { expect } from "bun:test";
import { freshName } from "./admin.ts";
import { expectFrame } from "./checks.ts";
import { Contract, type Document } from "./contract.ts";
import { type Answer, type Call, call, type Json } from "./http.ts";
import type { Server } from "./parley.ts";
import { refuseListed } from "./seen-credentials.ts";

/** Every refusal of the application API has this body. */
export interface AppRefusal {
  readonly success: false;
  readonly message: string;
  readonly error: { readonly code: string; readonly details?: { field: string; message: string }[] };
  readonly requestId: string;
}

export class Application {
  /** Checks every response against /openapi.json, if it is set. */
  contract: Contract | undefined;

  constructor(
    readonly url: string,
    readonly name: string,
    readonly secretKey: string,
    readonly id = "",
  ) {}

  get host(): string {
    return `${this.name}.localhost:${new URL(this.url).port}`;
  }

  /** Any call, whatever its outcome; `path` is below /api/v1. A body is JSON unless `rest` says otherwise. */
  async call<T = Json>(method: string, path: string, body?: unknown, rest: Call = {}): Promise<Answer<T & AppRefusal>> {
    const { headers, ...more } = rest;
    const whole = `/api/v1${path}`;
    const answer = await call<T & AppRefusal>(this.url + whole, {
      method,
      body,
      bearer: this.secretKey,
      ...more,
      headers: { Host: this.host, ...(body !== undefined && { "Content-Type": "application/json" }), ...headers },
    });
    // The document has each address once, without the optional trailing slash.
    this.contract?.check(method, whole.replace(/\/(?=\?|$)/, ""), answer as Answer);
    expectFrame(answer);
    refuseListed(method, path, answer.text);
    return answer;
  }

  /** A call that must succeed. */
  async must<T = Json>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, text, body: value } = await this.call<T>(method, path, body);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
    return value;
  }
}

/** A fresh application; every response of its host is checked against /openapi.json. */
export async function newApplication(server: Server, named = freshName()): Promise<Application> {
  const { _id, name, secretKey } = await server.admin.createApp(named);
  const application = new Application(server.url, name, secretKey, _id);
  contract ??= new Contract((await call<Document>(`${server.url}/openapi.json`)).body);
  application.contract = contract;
  return application;
}

/** All servers of a run have the same, and each would make it anew. */
let contract: Contract | undefined;

/** Expects exactly this refusal: no field in its body besides those that rooms.md describes. */
export function expectAppRefusal({ status, body, headers }: Answer<unknown>, wanted: number, code: string): AppRefusal {
  const refusal = body as AppRefusal;
  const { details } = refusal.error ?? {};
  expect({ status, body }).toEqual({
    status: wanted,
    body: {
      success: false,
      message: expect.any(String) as string,
      error: { code, ...(details && { details: expect.any(Array) as [] }) },
      requestId: headers.get("x-request-id"),
    },
  });
  return refusal;
}
