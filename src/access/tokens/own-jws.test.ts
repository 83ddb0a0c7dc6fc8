import { expect, test } from "bun:test";
import { OwnJws } from "./own-jws.ts";

const KEY = Buffer.alloc(32, 7);
const CLAIMS = { id: "a", name: "Zoë 🙂", exp: 1_800_000_000 };
const jws = new OwnJws(KEY);
const token = jws.sign(CLAIMS);
const parts = (text: string): string[] => text.split(".");
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

test("what was signed is verified, and is a JWT for others", async () => {
  expect(jws.verify(token)).toEqual(CLAIMS);
  const { jwtVerify } = await import("jose");
  expect((await jwtVerify(token, KEY, { currentDate: new Date(0) })).payload).toEqual(CLAIMS);
});

test("what was not signed here is refused, however it is written", () => {
  const [head = "", payload = "", signature = ""] = parts(token);
  const other = parts(new OwnJws(Buffer.alloc(32, 8)).sign(CLAIMS))[2];
  // The last character has two spare bits: its neighbour stands for the same bytes.
  const last = signature.at(-1) ?? "";
  const neighbour = String.fromCharCode(last.charCodeAt(0) + 1);
  expect(Buffer.from(signature.slice(0, -1) + neighbour, "base64url")).toEqual(Buffer.from(signature, "base64url"));
  const wrong = [
    "",
    ".",
    "..",
    head,
    `${head}.`,
    `${head}..`,
    `${head}.${payload}`,
    `${head}.${payload}.`,
    `${head}.${encoded({ ...CLAIMS, id: "b" })}.${signature}`,
    `${head}.${payload}.${other}`,
    `${encoded({ alg: "none", typ: "JWT" })}.${payload}.`,
    `${encoded({ alg: "none", typ: "JWT" })}.${payload}.${signature}`,
    `${head}.${payload}.${signature.slice(0, -1)}${neighbour}`,
    `${head}.${payload}.${signature}=`,
    `${head}.${payload}.${signature}.${signature}`,
    ` ${token}`,
    `${token} `,
    token.replace(".", ".."),
  ];
  for (const text of wrong) expect({ text, claims: jws.verify(text) }).toEqual({ text, claims: undefined });
});
