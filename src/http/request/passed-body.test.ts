import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { Problem } from "../../protocol/codes.ts";
import { message } from "../shared/messages.ts";
import { Call } from "./call.ts";
import { readBody } from "./input.ts";
import { readPassedBody } from "./passed-body.ts";

const schema = z.object({ data: z.unknown(), from: z.string().optional(), peerMetadata: z.unknown() });
const long = "x".repeat(5000);

function problemIn(text: string): string {
  try {
    readPassedBody(text, schema);
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
  return "none";
}

/** A short body, and the same with a field that makes it long. */
const bothOf = (members: string): [string, string] => [`{${members}}`, `{${members}, "z" : "${long}"}`];

describe("a long body that is passed on is read as a short one", () => {
  test.each(
    bothOf('"data": {"b":1,"a":[ 2 ]}, "fr\\u006fm":"me","peerMetadata":{"n":12345678901234567890},"__proto__":1'),
  )("%#", (text) => {
    const { value, textOf } = readPassedBody(text, schema);
    expect(value.data).toEqual({ b: 1, a: [2] });
    expect(value.from).toBe("me");
    expect(Object.keys(value)).toContain("__proto__");
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(textOf("data")).toBe('{"b":1,"a":[ 2 ]}');
    expect(textOf("peerMetadata")).toBe('{"n":12345678901234567890}');
    expect(textOf("id")).toBeUndefined();
  });

  test.each([...bothOf('"data":1,"d\\u0061ta":2'), ...bothOf('"a":1,"a":2')])("a key twice: %#", (text) => {
    expect(problemIn(text)).toBe("The body cannot be read: a key occurs twice in one object.");
  });

  test.each([...bothOf('"data":01'), ...bothOf('"data":[1,}'), ...bothOf("data:1"), "[1", `["${long}"`, `{}${long}`])(
    "not JSON: %#",
    (text) => {
      expect(problemIn(text)).toBe("The body cannot be read: it is not valid JSON.");
    },
  );

  test.each(["[1]", `["${long}"]`, `"${long}"`])("not an object: %#", (text) => {
    expect(problemIn(text)).toBe("The body must be a JSON object.");
  });
});

describe("of a long body that is passed on", () => {
  test("more than 500 fields are refused, before the rest of it is read", () => {
    const fields = (count: number): string => Array.from({ length: count }, (_, i) => `"k${i}":null`).join();
    expect(problemIn(`{${fields(500)}}`)).toBe("none");
    expect(problemIn(`{${fields(501)}}`)).toBe("The body cannot be read: it has more than 500 fields.");
    expect(problemIn(`{${fields(20_000)},`)).toBe("The body cannot be read: it has more than 500 fields.");
  });

  test("neither unknown fields nor long objects are built", () => {
    const list = `[${Array(20_000).fill("{}").join()}]`;
    const { value, textOf } = readPassedBody(`{"data":${list},"other":${list},"peerMetadata":{"a":${list}}}`, schema);
    expect(value).toEqual({ data: [], other: null, peerMetadata: {} });
    expect(textOf("data")).toBe(list);
    expect(textOf("peerMetadata")).toBe(`{"a":${list}}`);
  });

  test("JSON.parse gets little, also of escapes", () => {
    const parse = JSON.parse;
    let parsed = 0;
    JSON.parse = (json: string): unknown => {
      parsed += json.length;
      return parse(json);
    };
    try {
      readPassedBody(
        `{"data":["${"\\n".repeat(20_000)}"],"from":"${"\\n".repeat(20_000)}","${"\\n".repeat(9000)}":1}`,
        schema,
      );
    } finally {
      JSON.parse = parse;
    }
    expect(parsed).toBe(0);
  });

  test("unknown fields are named to the caller, in their order", async () => {
    const body = `{"dta":1,"data":"${long}","b\\u0062":{}}`;
    const connection = { address: () => "192.0.2.1", setIdleSeconds: () => undefined };
    const request = new Request("http://localhost/", { method: "POST", body });
    const call = new Call(request, connection, { trustedProxies: [], domain: "localhost" }, {});
    await readBody(call, message(), true);
    expect(call.headers["X-Parley-Ignored"]).toBe("dta, bb");
  });
});
