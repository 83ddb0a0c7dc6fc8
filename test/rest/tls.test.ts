/** TLS by two settings, and replacing a certificate while the server runs. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { mint } from "../support/admin.ts";
import { expectSentence } from "../support/checks.ts";
import { call } from "../support/http.ts";
import { refusedStart, type Server, startParley } from "../support/parley.ts";
import { isInSample } from "../support/sample.ts";
import { removeFolder, scratch, tempFolder } from "../support/temp.ts";

setDefaultTimeout(60_000);

/** Self-signed, EC, valid for 100 years (openssl req -x509): `one` and `two` differ in their names. */
const fixture = (name: string): string => join(import.meta.dir, "../fixtures/tls", name);

/** A server with a certificate that can be replaced. */
class SecureServer {
  constructor(
    readonly folder: string,
    readonly server: Server,
  ) {}

  static async start(): Promise<SecureServer> {
    const folder = tempFolder();
    install(folder, "one");
    const env = { PARLEY_TLS_CERT: join(folder, "tls.crt"), PARLEY_TLS_KEY: join(folder, "tls.key") };
    return new SecureServer(folder, await startParley({ env }));
  }

  get url(): string {
    return this.server.url;
  }

  connect(): Promise<TLSSocket> {
    const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
    const { hostname, port } = new URL(this.url);
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => resolve(socket));
    socket.on("error", reject);
    return promise;
  }

  /** The common name in the certificate that a new connection gets. */
  async shownName(): Promise<string> {
    const socket = await this.connect();
    const name = String(socket.getPeerCertificate().subject.CN);
    socket.destroy();
    return name;
  }

  /** Sends SIGHUP and waits for the log line about it. */
  reload(): Promise<{ level: string; msg: string }> {
    const seen = this.server.log.length;
    this.server.signal("SIGHUP");
    return this.server.logged((line) => line.msg.includes("certificate"), seen);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
    removeFolder(this.folder);
  }
}

function install(folder: string, certificate: string, key = certificate): void {
  copyFileSync(fixture(`${certificate}.crt`), join(folder, "tls.crt"));
  copyFileSync(fixture(`${key}.key`), join(folder, "tls.key"));
}

test("two settings make it https", async () => {
  await using secure = await SecureServer.start();
  expect(secure.url).toStartWith("https://");
  expect((await call(`${secure.url}/healthz`)).status).toBe(200);
  expect(await secure.shownName()).toBe("one.parley.test");
  await expect(fetch(secure.url.replace("https:", "http:"))).rejects.toThrow();
});

test("SIGHUP reloads the certificate; a request in progress is still answered", async () => {
  await using secure = await SecureServer.start();
  const underWay = await secure.connect();
  const answered = new Promise<string>((resolve, reject) => {
    underWay.once("data", (bytes) => resolve(bytes.toString()));
    underWay.once("close", () => reject(new Error("closed without an answer")));
  });
  const body = '{"peerId":"a"}';
  const { secretKey } = secure.server.keys;
  const head = `POST /v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secretKey}\r\n`;
  underWay.write(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
  // A response to a later request shows that the server read the first half before the signal.
  expect((await call(`${secure.url}/healthz`)).status).toBe(200);
  install(secure.folder, "two");
  expect((await secure.reload()).level).toBe("info");
  expect(await secure.shownName()).toBe("two.parley.test");
  underWay.write(body.slice(5));
  expect(await answered).toStartWith("HTTP/1.1 200");
  underWay.destroy();
  expect((await mint(secure.url, secretKey)).status).toBe(200);
  install(secure.folder, "one");
  expect((await secure.reload()).level).toBe("info");
  expect(await secure.shownName()).toBe("one.parley.test");
});

const SPOILT: readonly [string, (folder: string) => void][] = [
  ["no certificate at all", (folder) => writeFileSync(join(folder, "tls.crt"), "not a certificate")],
  // A renewal that is only partly written.
  ["an empty certificate", (folder) => writeFileSync(join(folder, "tls.crt"), "")],
  ["an empty key", (folder) => writeFileSync(join(folder, "tls.key"), "")],
  ["the key of another certificate", (folder) => install(folder, "one", "two")],
  ["a missing key", (folder) => rmSync(join(folder, "tls.key"))],
];

test.each(SPOILT.filter((_, at) => isInSample(at, 3)))(
  "SIGHUP with %s keeps the old certificate, and serves",
  async (_name, spoil) => {
    await using secure = await SecureServer.start();
    spoil(secure.folder);
    expect((await secure.reload()).level).toBe("error");
    expect(await secure.shownName()).toBe("one.parley.test");
    expect((await call(`${secure.url}/healthz`)).status).toBe(200);
    install(secure.folder, "two");
    expect((await secure.reload()).level).toBe("info");
    expect(await secure.shownName()).toBe("two.parley.test");
  },
);

test("an unusable certificate refuses the start", async () => {
  using folder = scratch();
  const other = folder.path;
  install(other, "one", "two");
  const flags = ["--tls-cert", join(other, "tls.crt"), "--tls-key", join(other, "tls.key")];
  expectSentence(await refusedStart(join(other, "data"), ...flags), "PARLEY_TLS");
  expectSentence(await refusedStart(join(other, "data"), ...flags.slice(0, 2)), "PARLEY_TLS_CERT and PARLEY_TLS_KEY");
});

test("without TLS a SIGHUP has no effect", async () => {
  await using server = await startParley();
  // A response first, so that the signal reaches a running server.
  expect((await call(`${server.url}/healthz`)).status).toBe(200);
  const seen = server.log.length;
  server.signal("SIGHUP");
  await server.logged((line) => line.msg.includes("certificate"), seen);
  expect((await call(`${server.url}/healthz`)).status).toBe(200);
});
