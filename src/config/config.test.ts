import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "./load.ts";
import { asCalled } from "./program.ts";
import { settingsPage, shownSettings, shownValue, withoutLinks } from "./show.ts";

const load = (flags: Record<string, string>, env: Record<string, string> = {}) =>
  loadConfig(new Map(Object.entries(flags)), env);

function withFile<T>(name: string, text: string, use: (path: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "parley-config-"));
  try {
    writeFileSync(join(folder, name), text);
    return use(join(folder, name));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("precedence", () => {
  test("a flag overrides the environment, that the file, and that the default", () => {
    withFile("p.toml", 'port = 1\nhost = "1.1.1.1"\nlog-level = "warn"\n', (config) => {
      const { config: c, sources } = load({ config, port: "3" }, { PARLEY_PORT: "2", PARLEY_HOST: "2.2.2.2" });
      expect([c.port, c.host, c.logLevel, c.drainSeconds]).toEqual([3, "2.2.2.2", "warn", 10]);
      expect([sources.port, sources.host, sources.logLevel, sources.drainSeconds]).toEqual([
        "flag",
        "environment",
        "file",
        "default",
      ]);
    });
  });

  test("a file may be JSON, and an empty variable counts as not set", () => {
    withFile("p.json", '{"port": 4}', (config) => {
      expect(load({ config }, { PARLEY_PORT: "" }).config.port).toBe(4);
    });
  });
});

describe("paths", () => {
  const relative = (path: string): string => path.slice(process.cwd().length + 1);

  test("become absolute once, wherever they come from, the default too", () => {
    expect(load({}).config.data).toBe(join(process.cwd(), "data"));
    expect(load({ data: "a/../b" }).config.data).toBe(join(process.cwd(), "b"));
    expect(load({}, { PARLEY_DATA: "c" }).config.data).toBe(join(process.cwd(), "c"));
    withFile("p.toml", 'data = "./d/"\n', (config) =>
      expect(load({ config }).config.data).toBe(join(process.cwd(), "d")),
    );
    expect(load({ data: "/srv/parley" }).config.data).toBe("/srv/parley");
  });

  test("of certificates become absolute, and stay unset if they are", () => {
    const [cert, key] = [relative(import.meta.path), relative(join(import.meta.dir, "load.ts"))];
    const { tlsCert, tlsKey } = load({ "tls-cert": cert, "tls-key": key }).config;
    expect([tlsCert, tlsKey]).toEqual([import.meta.path, join(import.meta.dir, "load.ts")]);
    expect(load({}).config.tlsCert).toBe("");
  });

  test("are shown as they are in force", () => {
    expect(shownValue("data", load({}))).toBe(join(process.cwd(), "data"));
    expect(shownValue("tlsCert", load({}))).toBe("none");
  });
});

describe("a wrong value stops the start, with the setting's name, its value and what is allowed", () => {
  test.each([
    ["port", "70000", '--port is "70000"; allowed: a whole number from 0 to 65535'],
    ["port", "80a", '--port is "80a"'],
    ["log-level", "loud", "one of debug, info, warn, error, silent"],
    ["trusted-proxies", "10.0.0.0/99", "CIDR"],
    ["admin-listen", "9000", "host:port"],
    ["tls-cert", "/no/such/file", "a file that exists"],
    ["demo", "maybe", "on or off"],
    ["turn-urls", "turn://turn.example.com", "without slashes: turn:turn.example.com"],
    ["turn-urls", "https://turn.example.com", "separated by commas"],
    ["turn-urls", "turn:a.example,", "separated by commas"],
    ["turn-urls", "turn:a.example:70000", "separated by commas"],
    ["turn-urls", "stun:a.example?transport=udp", "separated by commas"],
    ["turn-urls", Array.from({ length: 21 }, () => "stun:a.example").join(), "1 to 20 addresses"],
    ["domain", "Example.com", "lower case"],
  ])("--%s %s", (key, value, message) => {
    expect(() => load({ [key]: value })).toThrow(message);
  });

  test("the values of secrets are not repeated", () => {
    expect(() => load({ "master-key": "hunter2" })).toThrow("--master-key is set to a hidden value");
    expect(() => load({ "master-key": "hunter2" })).not.toThrow("hunter2");
  });

  test("a certificate needs its key", () => {
    expect(() => load({ "tls-cert": import.meta.path })).toThrow("PARLEY_TLS_KEY");
  });

  test("TURN servers and their secret belong together, and STUN servers need none", () => {
    const turn = ["turn:a.example:3478?transport=tcp", "turns:[2001:db8::1]:443", "stun:10.0.0.1"];
    const both = load({ "turn-urls": turn.join(", "), "turn-secret": "0123456789abcdef,fedcba9876543210" }).config;
    expect([both.turnUrls, both.turnSecret]).toEqual([turn, ["0123456789abcdef", "fedcba9876543210"]]);
    expect(() => load({ "turn-urls": "turn:a.example" })).toThrow("also set PARLEY_TURN_SECRET");
    expect(() => load({ "turn-secret": "0123456789abcdef" })).toThrow("PARLEY_TURN_URLS has no TURN servers");
    expect(load({ "turn-urls": "stun:a.example" }).config.turnUrls).toEqual(["stun:a.example"]);
  });

  test.each(["hunter2", "0123456789abcde", "0123456789abcdef,", "with space 0123456789", "a,b,c"])(
    "the secret of TURN servers is not %s, and that is not repeated",
    (secret) => {
      const set = () => load({ "turn-urls": "turn:a.example", "turn-secret": secret });
      expect(set).toThrow("--turn-secret is set to a hidden value; allowed: one secret, or two");
      expect(set).not.toThrow(secret);
    },
  );

  test("a file with an unknown key or broken syntax is refused", () => {
    withFile("p.toml", "prot = 1\n", (config) => expect(() => load({ config })).toThrow('no setting "prot"'));
    withFile("p.toml", "loglevel = 1\n", (config) =>
      expect(() => load({ config })).toThrow('did you mean "log-level"'),
    );
    withFile("p.toml", "port = = 1\n", (config) => expect(() => load({ config })).toThrow("TOML"));
  });

  test("a missing configuration file is named as it was given", () => {
    expect(() => load({ config: "/no/such.toml" })).toThrow("--config /no/such.toml: there is no such file");
    expect(() => load({}, { PARLEY_CONFIG: "/no/such.toml" })).toThrow(
      "PARLEY_CONFIG /no/such.toml: there is no such file",
    );
    expect(() => load({ config: import.meta.dir })).toThrow("it is a folder, not a file");
  });
});

test("commands in messages are written as the user calls the program", () => {
  const text = 'start one with "parley up" (parley up --workers) or see /var/lib/parley and parley is ready';
  expect(asCalled(text, "bin/parley")).toBe(
    'start one with "bin/parley up" (bin/parley up --workers) or see /var/lib/parley and parley is ready',
  );
  expect(asCalled("parley token mint | parley token check -", "../bin/parley")).toBe(
    "../bin/parley token mint | ../bin/parley token check -",
  );
});

test("a warning names an unknown PARLEY_ variable", () => {
  expect(load({}, { PARLEY_PROT: "1" }).warnings).toEqual(["PARLEY_PROT is not a setting and has no effect"]);
});

test("variables that our own pages tell people to export cause no warning", async () => {
  const root = join(import.meta.dir, "../..");
  const pages = ["README.md", "web/start/index.html"];
  for (const folder of ["docs", "examples", "deploy"])
    for (const page of new Bun.Glob("**/*.md").scanSync(join(root, folder))) pages.push(join(folder, page));
  const texts = await Promise.all(pages.map((page) => Bun.file(join(root, page)).text()));
  const exported = texts.flatMap((text) => [...text.matchAll(/\bexport (PARLEY_\w+)=/g)].map(([, name = ""]) => name));
  expect(exported).toContain("PARLEY_PUBLISHABLE_KEY");
  const values = Object.fromEntries(exported.map((name) => [name, exampleOf(name)]));
  expect(load({}, values).warnings).toEqual([]);
});

/** A value that the variable may have. */
function exampleOf(name: string): string {
  if (name === "PARLEY_MASTER_KEY") return Buffer.alloc(32).toString("base64");
  if (name === "PARLEY_DATABASE_URL") return "postgres://realtime:secret@127.0.0.1/realtime";
  if (name === "PARLEY_NATS_URL") return "nats://127.0.0.1:4222";
  return name === "PARLEY_HOST" ? "0.0.0.0" : "parley_admin_0123456789abcdef";
}

test("secrets are hidden when settings are shown", () => {
  const loaded = load({}, { PARLEY_ADMIN_TOKEN: "a-very-secret-one", PARLEY_TRUSTED_PROXIES: "10.0.0.0/8,fd00::/8" });
  expect(shownValue("adminToken", loaded)).toBe("(hidden)");
  expect(shownValue("trustedProxies", loaded)).toBe("10.0.0.0/8,fd00:0:0:0:0:0:0:0/8");
  expect(shownValue("masterKey", loaded)).toContain("first start");
  const turn = load({}, { PARLEY_TURN_URLS: "turn:a.example,stun:a.example", PARLEY_TURN_SECRET: "0123456789abcdef" });
  expect(shownValue("turnSecret", turn)).toBe("(hidden)");
  expect(shownValue("turnUrls", turn)).toBe("turn:a.example,stun:a.example");
});

test("docs/settings.md is up to date (sh bin/dev scripts/settings.ts writes it)", async () => {
  expect(await Bun.file(join(import.meta.dir, "../../docs/settings.md")).text()).toBe(settingsPage());
});

test("a link in the meaning of a setting is shown as the page that it leads to", () => {
  expect(withoutLinks("see [turn.md](turn.md), [the rates](limits.md#rates) and [x](https://x.example)")).toBe(
    "see docs/turn.md, the rates (docs/limits.md#rates) and x (https://x.example)",
  );
  const meanings = shownSettings(loadConfig(new Map(), {})).map(({ meaning }) => meaning);
  expect(meanings.filter((meaning) => meaning.includes("]("))).toEqual([]);
  expect(meanings.join()).toContain("(docs/turn.md)");
});

test("settings that are times take units, and plain numbers as before", () => {
  const read = (env: Record<string, string>) => loadConfig(new Map(), env).config;
  const timed = read({
    PARLEY_DRAIN_SECONDS: "2m",
    PARLEY_ROTATION_GRACE_SECONDS: "7d",
    PARLEY_LINK_SECONDS: "90",
    PARLEY_PRESENCE_TICK_MS: "1s",
  });
  const { drainSeconds, rotationGraceSeconds, linkSeconds, presenceTickMs } = timed;
  expect([drainSeconds, rotationGraceSeconds, linkSeconds, presenceTickMs]).toEqual([120, 604_800, 90, 1000]);
  expect(read({ PARLEY_PRESENCE_TICK_MS: "20" }).presenceTickMs).toBe(20);
  for (const wrong of ["2h", "1w", "500ms"])
    expect(() => read({ PARLEY_DRAIN_SECONDS: wrong })).toThrow("a whole number of seconds from 0 to 3600, or a time");
});
