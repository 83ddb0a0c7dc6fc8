import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { z } from "zod";
import { Problem } from "../../protocol/codes.ts";
import { tokenEndpoints } from "../realtime/tokens.ts";
import { open } from "../server/endpoint.ts";
import { refuseManyFormFields, refuseManyValues } from "./body-bounds.ts";
import { Call } from "./call.ts";
import { readAnyBody } from "./form.ts";
import { check, readBody } from "./input.ts";
import { refuseUnknownFields } from "./unknown-fields.ts";

function callWith(body: string, type = "application/json"): Call {
  const connection = { address: () => "192.0.2.1", setIdleSeconds: () => undefined };
  const request = new Request("http://localhost/", { method: "POST", body, headers: { "content-type": type } });
  return new Call(request, connection, { trustedProxies: [], domain: "localhost" }, {});
}

const problemOf = async (work: () => Promise<unknown> | unknown): Promise<Problem> => {
  try {
    await work();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error("it was accepted");
};

const listOf = (count: number, one: string): string => `[${Array.from({ length: count }, () => one).join(",")}]`;

describe("a list that is longer than its schema allows", () => {
  let checked = 0;
  const counted = z.custom<unknown>(() => {
    checked++;
    return true;
  });
  /** How often an entry of the list is read. */
  function watched(count: number): { list: unknown[]; reads: () => number } {
    let reads = 0;
    const list = new Proxy<unknown[]>(Array(count).fill({}), {
      get: (target, name, self) => {
        if (typeof name === "string" && /^\d+$/.test(name)) reads++;
        return Reflect.get(target, name, self);
      },
    });
    return { list, reads: () => reads };
  }

  test("is refused without a look at its entries", () => {
    const schema = z.strictObject({ list: z.array(counted).max(100, "must have at most 100 entries").optional() });
    check(schema, { list: Array(100).fill(1) });
    expect(checked).toBe(100);
    expect(() => check(schema, { list: Array(101).fill(1) })).toThrow("list: must have at most 100 entries");
    expect(checked).toBe(100);
  });

  test("is not searched for unknown fields, and neither is one of texts", () => {
    const rules = z.strictObject({ list: z.array(z.strictObject({ a: z.string().optional() })).max(100) });
    const [few, many, texts] = [watched(100), watched(101), watched(100)];
    refuseUnknownFields(rules, { list: few.list });
    refuseUnknownFields(rules, { list: many.list });
    refuseUnknownFields(z.strictObject({ list: z.array(z.string()).optional() }), { list: texts.list });
    expect([few.reads(), many.reads(), texts.reads()]).toEqual([100, 0, 0]);
    expect(() => refuseUnknownFields(rules, { list: [{ a: "x" }, { b: 1 }] })).toThrow("list.1.b");
  });
});

describe("a body of very many values", () => {
  const fieldsOf = (count: number): string => `{${Array.from({ length: count }, (_, i) => `"k${i}":null`).join(",")}}`;

  test("or fields is refused before it is parsed", () => {
    expect(() => refuseManyValues(fieldsOf(500))).not.toThrow();
    expect(() => refuseManyValues(fieldsOf(501))).toThrow("it has more than 500 fields");
    // The object, its key and the list count as well.
    expect(() => refuseManyValues(`{"a":${listOf(9997, "1")}}`)).not.toThrow();
    expect(() => refuseManyValues(`{"a":${listOf(9998, "1")}}`)).toThrow("it has more than 10000 values");
    expect(() => refuseManyValues(`{"a":${listOf(20_000, "1")}`)).toThrow("it has more than 10000 values");
  });

  test("is refused by its objects, lists and keys too, however few commas it has", () => {
    const chain = (one: string, close: string): string => `${one.repeat(100)}1${close.repeat(100)}`;
    expect(() => refuseManyValues(`{"a":${listOf(48, chain('{"k":', "}"))}}`)).not.toThrow();
    expect(() => refuseManyValues(`{"a":${listOf(50, chain('{"k":', "}"))}}`)).toThrow("more than 10000 values");
    expect(() => refuseManyValues(`{"a":${listOf(100, chain("[", "]"))}}`)).toThrow("more than 10000 values");
  });

  test("or of very deep ones is refused before it is parsed", () => {
    const deep = (levels: number): string => `{"text":"${"x".repeat(3000)}","a":${"[".repeat(levels)}`;
    expect(() => refuseManyValues(deep(199))).not.toThrow();
    expect(() => refuseManyValues(deep(200))).toThrow("it is nested deeper than 200 levels");
  });

  test("is not one of long texts with commas, brackets and quotes", () => {
    for (const text of [",".repeat(30_000), '",['.repeat(10_000), "\\".repeat(20_000)])
      expect(() => refuseManyValues(JSON.stringify({ text, other: [text] }))).not.toThrow();
  });

  test("that is no JSON is left to the parser", async () => {
    const schema = z.object({ a: z.unknown() });
    for (const text of [
      `{"a":"${"x".repeat(9000)}`,
      `{"a":"${"x".repeat(9000)}\\"`,
      `{${'"'.repeat(9001)}`,
      "]".repeat(9000),
    ])
      expect((await problemOf(() => readBody(callWith(text), schema, false))).message).toBe(
        "The body cannot be read: it is not valid JSON.",
      );
  });

  test("is not a message that is passed on", async () => {
    const data = listOf(20_000, "1");
    const schema = z.object({ data: z.custom<number[]>(Array.isArray) });
    const { textOf } = await readBody(callWith(`{"data":${data}}`), schema, true);
    expect(textOf("data")).toBe(data);
  });

  test("is not the largest token request", async () => {
    const [{ body: schema } = {}] = tokenEndpoints({ ...open, admit: unused, recheck: unused }, unused(), () => 0);
    if (!schema) throw new Error("the endpoint has no body");
    const bag = (bytes: number): string => `{"a":${listOf((bytes - 8) / 2, "1")}}`;
    const channels = JSON.stringify(Array.from({ length: 100 }, (_, i) => `${i}/`.padEnd(256, "x")));
    const text = `{"peerId":"a","channels":${channels},"metadata":${bag(8192)},"peerMetadata":${bag(4096)}}`;
    expect((await readBody(callWith(text), schema(), false)).text).toBe(text);
  });
});

/** The endpoint is not called. */
const unused = (): never => undefined as never;

describe("a form of very many fields", () => {
  test("is refused before it is parsed, also if they are all alike", async () => {
    const form = "application/x-www-form-urlencoded";
    const problem = await problemOf(() => readAnyBody(callWith("a&".repeat(60_000), form), z.object({})));
    expect(problem).toMatchObject({ code: "invalid_request" });
    expect(problem.message).toContain("it has more than 500 fields");
  });

  test("is one by the fields that a parser finds, however they are separated", () => {
    const field = fc.stringMatching(/^[a=%+]{0,3}$/);
    fc.assert(
      fc.property(fc.array(field, { minLength: 480, maxLength: 900 }), (fields) => {
        const text = fields.join("&");
        const count = [...new URLSearchParams(text)].length;
        let isRefused = false;
        try {
          refuseManyFormFields(text);
        } catch {
          isRefused = true;
        }
        expect(isRefused).toBe(count > 500);
      }),
      { seed: 20_265 },
    );
  });
});
