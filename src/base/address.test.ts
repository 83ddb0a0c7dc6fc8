import { expect, test } from "bun:test";
import { isIPv4 } from "node:net";
import {
  type Address,
  addressText,
  clientAddress,
  contains,
  isLoopback,
  parseAddress,
  parseCidr,
  rateKey,
} from "./address.ts";

const ip = (text: string): Address => parseAddress(text) as Address;
const trusted = ["10.0.0.0/8", "fd00::/8"].map((text) => parseCidr(text)!);

test("addresses are parsed in every notation", () => {
  expect(ip("1.2.3.4")).toEqual([1, 2, 3, 4]);
  expect(ip("::ffff:1.2.3.4")).toEqual([1, 2, 3, 4]);
  expect(ip("::1")).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  expect(ip("[2001:db8::5]").slice(0, 4)).toEqual([0x20, 0x01, 0x0d, 0xb8]);
  for (const wrong of ["", "1.2.3", "1.2.3.4.5", "::g", "localhost"]) expect(parseAddress(wrong)).toBeUndefined();
});

test("IPv4 addresses are the ones that the runtime accepts", () => {
  const parts = ["0", "1", "9", "99", "255", "256", "1000", "00", "01", "", "+1", "1 ", "a", "٣"];
  for (const part of parts)
    for (const text of [`${part}.2.3.4`, `1.${part}.3.4`, `1.2.3.${part}`, `${part}${part}.2.3.4`])
      expect([text, parseAddress(text)]).toEqual([text, isIPv4(text) ? text.split(".").map(Number) : undefined]);
});

test("a CIDR block contains addresses of its own family only", () => {
  expect(contains(parseCidr("10.1.0.0/15")!, ip("10.0.255.1"))).toBe(true);
  expect(contains(parseCidr("10.1.0.0/16")!, ip("10.0.255.1"))).toBe(false);
  expect(contains(parseCidr("0.0.0.0/0")!, ip("9.9.9.9"))).toBe(true);
  expect(contains(parseCidr("0.0.0.0/0")!, ip("::1"))).toBe(false);
  for (const wrong of ["10.0.0.0/33", "x/8", "10.0.0.0/", "10.0.0.0/8/8"]) expect(parseCidr(wrong)).toBeUndefined();
});

test("X-Forwarded-For is read from the right, and only when it comes from a trusted proxy", () => {
  const client = (socket: string, header: string | null) => clientAddress(ip(socket), header, trusted).join(".");
  expect(client("9.9.9.9", "1.1.1.1")).toBe("9.9.9.9");
  expect(client("10.0.0.1", "1.1.1.1")).toBe("1.1.1.1");
  expect(client("10.0.0.1", "6.6.6.6, 1.1.1.1, 10.0.0.2")).toBe("1.1.1.1");
  expect(client("10.0.0.1", "10.0.0.3")).toBe("10.0.0.3");
  expect(client("10.0.0.1", "1.1.1.1:4711")).toBe("1.1.1.1");
  expect(client("10.0.0.1", "garbage")).toBe("10.0.0.1");
  expect(client("10.0.0.1", ",10.0.0.3")).toBe("10.0.0.3");
  expect(client("10.0.0.1", "10.0.0.3,")).toBe("10.0.0.1");
  expect(client("10.0.0.1", "10.0.0.4 , 10.0.0.3")).toBe("10.0.0.4");
  expect(client("10.0.0.1", null)).toBe("10.0.0.1");
});

test("IPv6 addresses of one /64 share a rate", () => {
  expect(rateKey(ip("2001:db8::1"))).toBe(rateKey(ip("2001:db8::ffff")));
  expect(rateKey(ip("2001:db8:0:1::1"))).not.toBe(rateKey(ip("2001:db8::1")));
});

test("loopback addresses are recognised in IPv4, IPv6 and mapped form", () => {
  expect(["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"].every((text) => isLoopback(ip(text)))).toBe(true);
  expect(["128.0.0.1", "::2"].some((text) => isLoopback(ip(text)))).toBe(false);
});

test("an address is shown in its shortest form", () => {
  for (const text of [
    "1.2.3.4",
    "::1",
    "::",
    "2001:db8::5",
    "1:2:3:4:5:6:7:8",
    "1:0:2::3:0:4",
    "fe80::",
    "1:0:2:3:4:5:6:7",
  ])
    expect(addressText(ip(text))).toBe(text);
  expect(addressText(ip("::ffff:1.2.3.4"))).toBe("1.2.3.4");
  expect(addressText(ip("2001:0db8:0000:0000:0001:0000:0000:0001"))).toBe("2001:db8::1:0:0:1");
});
