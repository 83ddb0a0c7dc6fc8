/** Who may import whom. docs/architecture.md says why. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const SRC = join(ROOT, "src");

/** Each part may import itself and these. Files directly in src/ are `top`: they put the parts together. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  telemetry: [],
  store: ["protocol"],
  access: ["protocol", "store"],
  engine: ["protocol"],
  realtime: ["access", "engine", "protocol", "store", "telemetry"],
  rooms: ["access", "store", "protocol"],
  recordings: ["access", "store", "protocol", "telemetry"],
  http: ["recordings", "rooms", "realtime", "engine", "access", "protocol", "store", "telemetry"],
  config: ["access", "protocol"],
  verify: ["access", "protocol"],
  cli: ["config", "top", "store", "telemetry", "access", "protocol", "verify"],
  top: [
    "recordings",
    "rooms",
    "http",
    "realtime",
    "engine",
    "access",
    "store",
    "protocol",
    "telemetry",
    "config",
    "cli",
  ],
};

const partOf = (file: string): string => {
  const [folder, rest] = relative(SRC, file).split("/");
  return rest === undefined ? "top" : (folder as string);
};

const files = [...new Bun.Glob("**/*.ts").scanSync(SRC)].filter((file) => !file.endsWith(".test.ts"));

test("imports point one way", () => {
  const wrong: string[] = [];
  for (const file of files) {
    const from = partOf(join(SRC, file));
    for (const [, target = ""] of readFileSync(join(SRC, file), "utf8").matchAll(/from "(\.[^"]+\.ts)"/g)) {
      const to = partOf(join(SRC, dirname(file), target));
      if (to !== from && !MAY[from]?.includes(to)) wrong.push(`${file} imports ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("the protocol does no I/O", () => {
  const wrong = files
    .filter((file) => file.startsWith("protocol/"))
    .filter((file) => /from "(node:|bun)|\bBun\.|\bprocess\./.test(readFileSync(join(SRC, file), "utf8")));
  expect(wrong).toEqual([]);
});

test("every direct dependency has its reason in docs/dependencies.md, and an exact version", async () => {
  const manifest = await Bun.file(join(ROOT, "package.json")).json();
  const page = await Bun.file(join(ROOT, "docs/dependencies.md")).text();
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
    expect(page).toContain(`\`${name}\``);
    expect(version as string).toMatch(/^\d+\.\d+\.\d+$/);
  }
});
