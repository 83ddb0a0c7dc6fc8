/** Everything that deploy/ sets is a setting, with a value that Parley accepts. */
import { describe, expect, test } from "bun:test";
import { loadConfig } from "../../src/config/load.ts";
import { NAMES, SETTINGS, type Setting } from "../../src/config/settings.ts";
import { assignments, documents, filesOf, read } from "./support/files.ts";

const byVariable = new Map<string, Setting<unknown>>(NAMES.map((name) => [SETTINGS[name].env, SETTINGS[name]]));

const FILES = filesOf("deploy").filter((path) => !path.endsWith(".md"));

interface ComposeFile {
  readonly services: Record<string, { environment?: Record<string, string> }>;
}

/** As compose substitutes them from a completed .env. */
const GIVEN: Readonly<Record<string, string>> = {
  POSTGRES_PASSWORD: "p1",
  NATS_PASSWORD: "p2",
  NATS_CLUSTER_PASSWORD: "p3",
  PARLEY_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
  PARLEY_ADMIN_TOKEN: "admin-admin-admin",
};
const filled = (value: string): string =>
  value.replace(/\$\{(\w+)(?::[-?]([^}]*))?\}/g, (_, name: string, otherwise: string) => GIVEN[name] ?? otherwise);

function given(): [where: string, name: string, value: string][] {
  const all: [string, string, string][] = [];
  for (const [service, { environment }] of Object.entries(
    documents<ComposeFile>("deploy/compose/compose.yaml")[0]!.services,
  ))
    for (const [name, value] of Object.entries(environment ?? {})) all.push([service, name, filled(value)]);
  for (const path of ["deploy/systemd/parley.env.example", "deploy/debian/parley.env"])
    for (const [name, value] of assignments(read(path))) all.push([path.slice("deploy/".length), name, value]);
  for (const [, assignments = ""] of read("deploy/systemd/parley.service").matchAll(/^Environment=(.*)$/gm))
    for (const word of assignments.split(" ")) all.push(["parley.service", word.split("=")[0]!, word.split("=")[1]!]);
  for (const path of ["settings.yaml", "secret.example.yaml"])
    for (const document of documents<Record<string, Record<string, string>>>(`deploy/kubernetes/${path}`))
      for (const [name, value] of Object.entries({ ...document.data, ...document.stringData }))
        all.push([path, name, value]);
  for (const [, name = "", value = ""] of read("deploy/Dockerfile").matchAll(/\b(PARLEY_[A-Z_]+)=(\S+)/g))
    all.push(["Dockerfile", name, value]);
  return all.filter(([, name]) => name.startsWith("PARLEY_"));
}

test("every PARLEY_ name in deploy/ is a setting", () => {
  const unknown = FILES.flatMap((path) =>
    [...read(path).matchAll(/\bPARLEY_[A-Z0-9_]+/g)]
      .map(([name]) => name)
      .filter((name) => !byVariable.has(name))
      .map((name) => `${name} in ${path}`),
  );
  expect(unknown).toEqual([]);
});

describe("a value in deploy/ is accepted by its setting:", () => {
  for (const [where, name, value] of given())
    test(`${where} ${name}`, () => {
      // Empty means "to be filled in", which Parley reads as "not set".
      if (value === "") expect(byVariable.get(name)?.secret).toBe(true);
      else expect(byVariable.get(name)?.read(value)).toEqual({ value: expect.anything() });
    });
});

test("the nodes of compose and Kubernetes have the settings that several nodes need", () => {
  const needed = [
    "PARLEY_DATABASE_URL",
    "PARLEY_NATS_URL",
    "PARLEY_MASTER_KEY",
    "PARLEY_ADMIN_TOKEN",
    "PARLEY_DEMO",
    "PARLEY_HOST",
  ];
  const { services } = documents<ComposeFile>("deploy/compose/compose.yaml")[0]!;
  for (const node of ["parley-1", "parley-2", "parley-3"]) {
    expect(Object.keys(services[node]?.environment ?? {})).toEqual(expect.arrayContaining(needed));
    expect(services[node]?.environment?.PARLEY_NODE_ID).toBe(node);
  }
  const names = given()
    .filter(([where]) => where === "settings.yaml" || where === "secret.example.yaml")
    .map(([, name]) => name);
  expect(names).toEqual(expect.arrayContaining(needed));
});

test("the nodes of compose would start with their settings", () => {
  const { services } = documents<ComposeFile>("deploy/compose/compose.yaml")[0]!;
  const environment = Object.entries(services["parley-1"]?.environment ?? {});
  const env = Object.fromEntries(environment.map(([name, value]) => [name, filled(value)]));
  expect(loadConfig(new Map(), env).warnings).toEqual([]);
});

test("no file of deploy/ holds a secret", () => {
  const secrets = given().filter(([where, name]) => byVariable.get(name)?.secret && where !== "Dockerfile");
  expect(secrets.length).toBeGreaterThan(5);
  // A URL may contain a password.
  for (const [where, , value] of secrets)
    if (!/^postgres:|^nats:|^s3:/.test(value))
      expect([where, ["", GIVEN.PARLEY_MASTER_KEY, GIVEN.PARLEY_ADMIN_TOKEN].includes(value)]).toEqual([where, true]);
    else expect([where, /:(p1|p2|PASSWORD)@/.test(value)]).toEqual([where, true]);
  for (const [name, value] of assignments(read("deploy/compose/env.example")))
    expect([name, value]).toEqual([
      name,
      ["PARLEY_DOMAIN", "PARLEY_PUBLIC_URL", "PUBLIC_PORT"].includes(name) ? expect.anything() : "",
    ]);
});

test("every file is read by a test", () => {
  const known = [
    /^deploy\/(README\.md|Dockerfile|grafana-dashboard\.json)$/,
    /^deploy\/compose\/(compose\.yaml|env\.example|nats\.conf|nginx\.conf)$/,
    /^deploy\/nginx\/(nginx|placement|parley-http|parley-proxy)\.conf$/,
    /^deploy\/caddy\/(placement\.)?Caddyfile$/,
    /^deploy\/systemd\/parley\.(service|env\.example)$/,
    /^deploy\/kubernetes\/[a-z.]+\.yaml$/,
    // By the suite `release`.
    /^deploy\/debian\/(README\.md|parley\.env|sysusers\.conf|postinst|prerm|postrm)$/,
    /^deploy\/helm\/parley\/(README\.md|\.helmignore|Chart\.yaml|values\.(yaml|schema\.json))$/,
    /^deploy\/helm\/parley\/templates\/(_helpers\.tpl|NOTES\.txt|[a-z]+\.yaml)$/,
  ];
  // Completed copies of the examples belong to the operator.
  const own = ["deploy/compose/.env", "deploy/kubernetes/secret.yaml"];
  expect(filesOf("deploy").filter((path) => !own.includes(path) && !known.some((form) => form.test(path)))).toEqual([]);
});
