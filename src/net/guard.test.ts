import { expect, test } from "bun:test";
import { type Address, addressText, parseAddress, parseCidr } from "../base/address.ts";
import { NOTHING_ALLOWED, parseAllow } from "./allow.ts";
import { checkUrl, type GuardRules, passing } from "./guard.ts";
import { refusedRange } from "./ranges.ts";

const CLOSED: GuardRules = {
  allow: NOTHING_ALLOWED,
  ownHosts: ["chat.example.com", ".chat.example.com"],
  ownPorts: [8080],
};
const opened = (text: string): GuardRules => ({ ...CLOSED, allow: parseAllow(text) ?? NOTHING_ALLOWED });

const refusalOf = (url: string, rules = CLOSED, isTrusted = false): string | undefined => {
  const checked = checkUrl(url, rules, isTrusted);
  return "refused" in checked ? checked.refused : undefined;
};

/** Every range that webhooks.md refuses, and those that other registries add. */
const RANGES = [
  "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
  "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
  "::/128", "::1/128", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "2001:db8::/32", "fc00::/7", "fe80::/10", "ff00::/8",
]; // biome-ignore format: one list

/** A small generator with a seed: the same addresses in each run. */
function randomBytes(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) & 255;
  };
}

function addressesIn(text: string, count: number): Address[] {
  const cidr = parseCidr(text);
  if (!cidr) throw new Error(text);
  const next = randomBytes(cidr.bits + cidr.base.length);
  const fill = (byte: () => number): Address =>
    cidr.base.map((own, at) => {
      const mask = (0xff << Math.max(0, Math.min(8, 8 - (cidr.bits - at * 8)))) & 0xff;
      return (own & mask) | (byte() & ~mask & 0xff);
    });
  return [fill(() => 0), fill(() => 255), ...Array.from({ length: count }, () => fill(next))];
}

const OCTAL = (byte: number): string => `0${byte.toString(8)}`;
const HEX = (byte: number): string => `0x${byte.toString(16)}`;
const WIDE = (text: string): string =>
  [...text].map((one) => (/\d/.test(one) ? String.fromCharCode(one.charCodeAt(0) + 0xfee0) : one)).join("");
const PERCENT = (text: string): string =>
  [...text].map((one) => `%${one.charCodeAt(0).toString(16).padStart(2, "0")}`).join("");

function spellingsOf4(address: Address): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address;
  const whole = ((a * 256 + b) * 256 + c) * 256 + d;
  const plain = `${a}.${b}.${c}.${d}`;
  const v6 = (prefix: string): string => `[${prefix}${HEX(a * 256 + b).slice(2)}:${HEX(c * 256 + d).slice(2)}]`;
  return [
    plain,
    `${plain}.`,
    address.map(OCTAL).join("."),
    address.map(HEX).join("."),
    `${HEX(a).toUpperCase().replace("X", "x")}.${OCTAL(b)}.${c}.${d}`,
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    String(whole),
    `0x${whole.toString(16)}`,
    `0${whole.toString(8)}`,
    WIDE(plain),
    plain.replaceAll(".", "。"),
    PERCENT(plain),
    `[::ffff:${plain}]`,
    v6("::ffff:"),
    v6("0:0:0:0:0:FFFF:"),
    v6("::"),
    v6("64:ff9b::"),
    v6("64:ff9b:1::"),
    `[2002:${HEX(a * 256 + b).slice(2)}:${HEX(c * 256 + d).slice(2)}::1]`,
  ];
}

const spellingsOf6 = (address: Address): string[] => {
  const groups = Array.from(
    { length: 8 },
    (_, at) => (address[2 * at] as number) * 256 + (address[2 * at + 1] as number),
  );
  const full = groups.map((one) => one.toString(16).padStart(4, "0")).join(":");
  return [
    `[${addressText(address)}]`,
    `[${full}]`,
    `[${full.toUpperCase()}]`,
    `[${groups.map((one) => one.toString(16)).join(":")}]`,
  ];
};

test("no spelling of an address in a refused range is called", () => {
  for (const range of RANGES)
    for (const address of addressesIn(range, 40)) {
      expect(refusedRange(address)).toBeString();
      for (const host of address.length === 4 ? spellingsOf4(address) : spellingsOf6(address))
        for (const url of [`http://${host}/`, `https://${host}/x?y`])
          if (refusalOf(url) === undefined) throw new Error(`${url} of ${range} is called`);
    }
});

test("addresses of the public Internet are called", () => {
  for (const host of [
    "1.1.1.1",
    "8.8.8.8",
    "172.32.0.1",
    "100.128.0.1",
    "198.20.0.1",
    "[2606:4700::1111]",
    "[2a00:1450::1]",
  ])
    expect(refusalOf(`https://${host}/hook`)).toBeUndefined();
  for (const range of ["11.0.0.0/8", "192.0.1.0/24", "2600::/12"])
    for (const address of addressesIn(range, 20)) expect(refusedRange(address)).toBeUndefined();
});

test("the error names the rule", () => {
  expect(refusalOf("http://169.254.169.254/latest/meta-data")).toContain("link-local (169.254.0.0/16)");
  expect(refusalOf("http://[fd00:ec2::254]/")).toContain("a private network (fc00::/7)");
  expect(refusalOf("http://example.org:8081/")).toContain("only 80 and 443");
  expect(refusalOf("http://a:b@example.org/")).toContain("credentials");
  expect(refusalOf("http://localhost./")).toContain("ends with a dot");
  expect(refusalOf("http://localhost/")).toContain("this machine");
  expect(refusalOf("http://LOCALHOST:80/")).toContain("this machine");
  expect(refusalOf("http://a.localhost/")).toContain("this machine");
  expect(refusalOf("ftp://example.org/")).toContain("not an http");
  expect(refusalOf(`https://example.org/${"x".repeat(3000)}`)).toContain("2048");
  expect(refusalOf("https://example.org:443/hook?a=b")).toBeUndefined();
});

test("the hosts of the service itself are refused, also where its network is open", () => {
  const rules = opened("0.0.0.0/0,::/0,chat.example.com:9000,chat.example.com:8080");
  for (const host of ["chat.example.com", "app.chat.example.com", "CHAT.example.com", "ｃhat.example.com"])
    expect(refusalOf(`https://${host}/`, rules, true)).toContain("this service");
  expect(refusalOf("http://127.0.0.1:8080/", rules, true)).toContain("this service");
  expect(refusalOf("http://[::1]:8080/", rules, true)).toContain("this service");
  expect(refusalOf("http://chat.example.com:8080/", rules, true)).toContain("this service");
  // Another service of that name, which an operator has named with its port.
  expect(refusalOf("http://chat.example.com:9000/", rules, true)).toBeUndefined();
  expect(refusalOf("http://127.0.0.1:9000/", rules, true)).toBeUndefined();
});

test("what an operator opens is open to endpoints of the control plane only", () => {
  const rules = opened("10.1.0.0/16, [::1]:9000 ,hooks.internal:8443");
  expect(refusalOf("http://10.1.2.3:4000/", rules, true)).toBeUndefined();
  expect(refusalOf("http://10.1.2.3/", rules, false)).toContain("private");
  expect(refusalOf("http://10.2.0.1/", rules, true)).toContain("private");
  expect(refusalOf("http://[::1]:9000/", rules, true)).toBeUndefined();
  expect(refusalOf("http://[::1]:9001/", rules, true)).toContain("loopback");
  expect(refusalOf("https://hooks.internal:8443/", rules, true)).toBeUndefined();
  expect(refusalOf("https://hooks.internal:8443/", rules, false)).toContain("only 80 and 443");
  expect(refusalOf("http://localhost:4000/", opened("127.0.0.0/8"), true)).toBeUndefined();
});

test("each address of a name is judged", () => {
  const target = checkUrl("https://example.org/", CLOSED, false);
  if ("refused" in target) throw new Error(target.refused);
  const of = (...texts: string[]) =>
    passing(
      target,
      texts.map((text) => parseAddress(text) ?? []),
      CLOSED,
    );
  expect(of("10.0.0.1", "2606:4700::1111", "1.1.1.1")).toEqual([
    [1, 1, 1, 1],
    parseAddress("2606:4700::1111") as Address,
  ]);
  expect(of("10.0.0.1", "::1")).toEqual({ refused: expect.stringContaining("10.0.0.0/8") });
  // Only what is written by the caller is repeated: names inside the operator's network are not looked up for others.
  expect(of("10.0.0.1")).toEqual({ refused: "its address is not public: a private network (10.0.0.0/8)" });
  expect(of()).toEqual({ refused: "its host does not resolve to an address" });
  // The port is judged with the address: a network that is open opens no port elsewhere.
  const rules = opened("10.0.0.0/8");
  const other = checkUrl("http://example.org:9000/", rules, true);
  if ("refused" in other) throw new Error(other.refused);
  expect(passing(other, [[1, 1, 1, 1]], rules)).toEqual({ refused: expect.stringContaining("9000") });
  expect(passing(other, [[10, 1, 1, 1]], rules)).toEqual([[10, 1, 1, 1]]);
});

test("PARLEY_WEBHOOK_ALLOW has networks and hosts with a port", () => {
  expect(parseAllow("10.0.0.0/8,::1,Hooks.Internal:80")?.hosts).toEqual(["hooks.internal:80"]);
  expect(parseAllow("10.0.0.0/8,::1")?.networks).toHaveLength(2);
  for (const bad of [
    "",
    "example.org",
    "10.0.0.0/33",
    "http://example.org:80",
    "example.org:0",
    "example.org:65536",
    "a@b:80",
  ])
    expect(parseAllow(bad)).toBeUndefined();
});
