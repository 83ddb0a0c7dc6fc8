/** `parley verify` as an operator runs it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parleyCommand } from "../support/command.ts";
import { FaultyProxy } from "../support/faulty-proxy.ts";
import { call } from "../support/http.ts";
import { runParley, type Server, startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";
import { Terminal } from "../support/terminal.ts";

let server: Server;
beforeAll(async () => {
  server = await startParley({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "40" } });
});
afterAll(() => server.stop());

const port = (): number => Number(new URL(server.url).port);
/** The time of `few`, where another is given. */
const isSeconds = (arg: string, before: string | undefined): boolean => arg === "--seconds" || before === "--seconds";
const few = (url: string, ...more: string[]): string[] => [
  ...["verify", "--url", url, "--clients", "8", "--channels", "2", "--rate", "200", "--seconds", "1", "--settle", "1"],
  ...more,
];

test("for a correct service it prints a short report and exits 0; the key is read from a file", async () => {
  using folder = scratch();
  const file = join(folder.path, "key");
  writeFileSync(file, `${server.keys.secretKey}\n`);
  const { code, output } = await runParley(few(server.url, "--url", server.url, "--secret-key-file", file));
  expect([code, output]).toEqual([0, expect.stringMatching(/^verdict +correct$/m)]);
  expect(output).toMatch(/^clients +8 over 2 addresses, 2 channels, [\d.]+ s$/m);
  expect(output).toMatch(/^sent +(\d+): \1 acked, 0 refused, 0 unknown$/m);
  expect(output).toMatch(/^delivered +[1-9]\d*$/m);
});

test("for a faulty service it describes the faults and exits 1", async () => {
  const line = await FaultyProxy.to(port(), "drop", { every: 100 });
  await using link = line.link;
  const { code, output } = await runParley(few(`ws://127.0.0.1:${link.port}`), { PARLEY_KEY: server.keys.secretKey });
  expect([code, output]).toEqual([1, expect.stringMatching(/^verdict +WRONG$/m)]);
  expect(output).toMatch(
    new RegExp(
      `^lost +${line.planted} +acked, but not received by an open connection\\n +for example: \\S+ never got`,
      "m",
    ),
  );
});

test("Ctrl-C ends it early with what it has found so far, and 130; a terminal shows how far it is", async () => {
  const args = parleyCommand(...few(server.url, "--seconds=1h").filter((arg, at, all) => !isSeconds(arg, all[at - 1])));
  await using terminal = new Terminal(args, { PARLEY_KEY: server.keys.secretKey, PARLEY_DATA: server.data });
  await terminal.shows(/Using http\S+ \(--url\)/);
  await terminal.shows(/0:0\d of 1:00:00: [1-9]\d* sent, [1-9]\d* delivered, 0 reconnects/);
  terminal.type("\x03");
  expect(await terminal.exited).toBe(130);
  expect(terminal.text).toMatch(/^verdict +correct$/m);
  expect(terminal.text).toMatch(/Interrupted after [\d.]+ of 3600 s\. Results so far:/);
});

test("for scripts it prints one JSON value", async () => {
  const { code, output } = await runParley(few(server.url, "--json"), { PARLEY_KEY: server.keys.secretKey });
  expect([code, JSON.parse(output)]).toEqual([
    0,
    expect.objectContaining({ correct: true, problems: [], figures: expect.any(Object) }),
  ]);
});

test("if the check is impossible it prints the reason, without token or secret", async () => {
  const secret = server.keys.secretKey;
  const { code, output } = await runParley(few(server.url, "--clients=60"), { PARLEY_KEY: secret });
  expect(code).toBe(2);
  expect(output).toBe("parley: --clients is given twice\n");
  await using narrow = await startParley({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "6" } });
  const crowd = await runParley(few(narrow.url), { PARLEY_KEY: narrow.keys.secretKey });
  expect(crowd.code).toBe(1);
  expect(crowd.output).toMatch(/refused a connection: rate_limited: .* raise PARLEY_CONNECTS_PER_MINUTE_PER_IP\n$/);
  expect(crowd.output).not.toContain("token=");
});

test("after a run that has used up the rate of connects, it waits until it may connect", async () => {
  await using narrow = await startParley({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "120" } });
  // Each counts as ten connects: the last of them leaves a debt, and so more time to start the command.
  const connect = `${narrow.url}/v1?key=pk_live_wrong`;
  for (let tries = 0; tries < 500 && (await call(connect)).status !== 429; tries++);
  const { code, output } = await runParley(few(narrow.url), { PARLEY_KEY: narrow.keys.secretKey });
  expect([code, output]).toEqual([0, expect.stringMatching(/^verdict +correct$/m)]);
  // One was the request above; the others were clients, which connected after all.
  const refused = /^parley_connects_refused_total\{code="rate_limited"\} (\d+)$/m;
  const [, count] = refused.exec((await call(`${narrow.url}/metrics`)).text) ?? [];
  expect(Number(count)).toBeGreaterThan(1);
}, 60_000);

test.each([
  ["--url=ftp://x", "--url must be an address such as ws://127.0.0.1:8080"],
  ["--clients=1", "--clients is 1; it must be a whole number from 2 to 10000"],
  ["--channels=51", "--channels is 51; it must be a whole number from 1 to 50"],
  ["--prefix=a*", "--prefix must be 1 to 200 letters"],
  ["--secret-key-file=/nowhere/key", "--secret-key-file /nowhere/key cannot be read"],
])("%s is a wrong command line", async (flag, message) => {
  const { code, output } = await runParley(["verify", flag], { PARLEY_KEY: "sk_id_a:sk_secret_b" });
  expect([code, output]).toEqual([2, expect.stringContaining(message)]);
});

test("without a key it says which one is needed", async () => {
  const { code, output } = await runParley(["verify"], { PARLEY_DATA: "/no/data/folder" });
  expect([code, output]).toEqual([2, expect.stringContaining("set PARLEY_KEY=SK_ID:SK_SECRET, or pass a file")]);
});
